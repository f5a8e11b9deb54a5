"""Short stories on request: about a hero, a name, two things or a theme; then changed, continued, asked about.

A story's grammar: somebody wants something, meets trouble, finds help, and it ends; then more may follow. Each stage
has sentences of its own, so that no sentence can come twice. What a stage says where nothing is asked of it follows
from the letters of hero, name and helper: a model that always takes the likeliest word still tells many stories.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.word_pairs import plural
from assets.recipe.skills.writing.story_orders import WAYS, ordered, then
from assets.recipe.words import read_wording, upper_first

_WORDING = read_wording("writing/stories")
_HEROES, _PERSONS, _SITES, _FINDS, _THEMES, _ADJECTIVES, _SKILLS, _TITLES, _NEAR = (
    words.entries(_WORDING, name)
    for name in ("heroes", "persons", "sites", "finds", "themes", "adjectives", "skills", "heroes titles", "near")
)
_LAST = re.compile(r"\S+$")
_ASKED, _PEOPLE = words.weighted(_WORDING, "ways"), words.entries(_WORDING, "ways people")
# The stages of a story of so many sentences, and how the number is said.
_COUNTED, _NUMBERS = ({n: words.entries(_WORDING, f"{n} {of}") for n in range(2, 7)} for of in ("stages", "sentences"))
_COMPOSED = words.weighted(_WORDING, "ways composed")
_HOW, _DOING = _WORDING["how"], tuple(line for line in _WORDING["clause"] if line.startswith("who "))
_DEEDS = tuple(tuple(deed.split("/")) for deed in words.entries(_WORDING, "deeds"))


@dataclass(frozen=True)
class Plot:
    """A story's texts, its places for hero {x} and name {n} still open, and what is asked about it later.

    `texts` are the story itself, what makes it "shorter", "longer" or "happy", and replies to questions about it;
    `needed` is what such a reply names.
    """

    texts: dict[str, str]
    needed: dict[str, str]
    kind: str
    name: str

    def told(self, way: str = "story") -> str:
        """The text about this hero."""
        return self.texts[way].format(x=words.article(self.kind), n=self.name)


def _habit(pool: Sequence[str], of: str, letter: str) -> str:
    """The one of the pool that goes with this letter."""
    return pool[zlib.crc32(f"{of} {letter.lower()}".encode()) % len(pool)]


def _plot(draw: Draw, hero: tuple[str, str], helper: str = "", wish: tuple[str, str] | None = None,
          place: str = "", opening: str = "", sentences: int = 0) -> Plot:  # fmt: skip
    """A plot that follows from the hero, but for what is given."""
    letters = [hero[0].split()[-1][0], hero[1][0], "", hero[1][-1]]

    def usual(name: str, at: int | str) -> str:
        return draw.expand(_habit(_WORDING[name], name, letters[int(at)]))

    helper = helper or f"old {_habit(words.ANIMALS, 'helper', letters[1])}"
    letters[2] = helper.removeprefix("old ")[0]
    want, done = wish or usual("wants", 0).split(" => ")
    place = place or usual("places", 0)
    one, the = words.article(helper), f"the {helper.removeprefix('old ')}"
    if " named " in helper:
        the = helper.partition(" named ")[2]
    fields = {
        "x": "{x}", "n": "{n}", "place": place, "place_up": upper_first(place),
        "a_trait": usual("traits", 0), "o": _habit(words.ANIMALS, "other", letters[0]),
        "want": want, "done": done, "morning": usual("mornings", 1),
        "advice": usual("advice", 2), "h": one, "h_up": upper_first(one), "h_the": the,
        "h_the_up": upper_first(the), "title": helper.title(), "who": "" if hero[0] == "person" else ", {x},",
        "happily": usual("happily", 1),
    }  # fmt: skip
    said = {stage: usual(stage, at).format(**fields) for stage, at in words.pairs(_WORDING, "follows")}
    if opening:
        said["open"] = opening if sentences else f"{opening} {{n}} lived {place}."
    stages = (_COUNTED[sentences],) if sentences else (part.split() for part in _WORDING["stages"])
    parts = (" ".join(said[stage] for stage in part if said[stage]) for part in stages)
    texts = {told: _WORDING[f"{told} told"][0].format(**fields) for told in words.entries(_WORDING, "told later")}
    texts["story"] = ("\n\n" if draw.chance(0.6) else " ").join(parts)
    texts["longer"] = " ".join(said[f"more_{at}"] for at in range(1, 5))
    return Plot(texts, {"who": helper, "what": want, "where": place}, *hero)


def well_formed(*subjects: str, least: int = 150, before: str = "") -> Check:
    """Long enough, ends like a sentence, speaks of the subjects, says no sentence twice nor one said before."""

    def check(reply: str) -> bool:
        sentences = _sentences(reply)
        ended = reply.rstrip().endswith((".", "!", "?", '"'))
        fresh = len(set(sentences)) == len(sentences) and not set(sentences) & set(_sentences(before))
        return len(reply) >= least and ended and mentions(*subjects)(reply) and fresh

    return check


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"[.!?\"]\s+|\n+", text) if len(part) > 20]


def _fields(draw: Draw, kind: str, name: str, other: str, find: str) -> dict[str, str]:
    """The fields of requests of any sort: a hero, another name, another animal and a thing."""
    return {
        "x": words.article(kind), "k": kind, "ks": _LAST.sub(lambda noun: plural(noun[0]), kind), "n": name,
        "m": draw.name(), "j": other, "o": words.article(other), "f": find, "y": words.article(find),
    }  # fmt: skip


def _composed(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """A request put together of a frame, a hero, and what the hero does, has or meets: all told in the user's words."""
    (kind, name), way = hero, draw.any(_COMPOSED)
    alone = way in ("about", "second", "event", "notes") and draw.chance(0.15)
    kind = "person" if alone else kind
    other = draw.any([animal for animal in words.ANIMALS if animal not in kind])
    site, theme = draw.any((draw.any(_SITES), draw.any(words.WORDS))), draw.any(_THEMES)
    find = draw.any((draw.any(_FINDS), draw.any(words.OBJECTS), draw.any(words.FOODS), draw.any(words.WORDS)))
    near, lost = f"{draw.any(_NEAR)} the {site}", (f"to find the {find}", f"found the {find}")
    options: dict[str, Any] = {} if way in ("hero", *WAYS) else {"wish": lost}
    if way == "list":
        find, options = draw.any(((find, options), (find, options), (other, {"helper": other}), (site, {})))
    find = f"{draw.any((*_ADJECTIVES, *words.COLOURS))} {find}" if draw.chance(0.2) else find
    base, third, past = draw.any(_DEEDS)
    fields = _fields(draw, kind, name, other, find) | {
        "g": site, "z": words.article(site), "p": near, "t": theme, "w": words.article(draw.any(words.JOBS)),
        "v": draw.any(_SKILLS), "b": base, "d": third, "e": past,
    }  # fmt: skip
    fields["k"] = "hero" if alone else kind
    frame, told = "about", "list" if way == "list" else draw.any(("hero", "hero named", "hero named"))
    told = "alone" if alone else draw.any(("hero", "hero", "hero", told)) if way == "naming" else told
    told, asked = draw.expand(draw.any(_WORDING[told])), ""
    subject, _, clause = told.partition(" => ")
    if way == "list":
        clause = clause.format(**fields)
        options |= {"place": near} if any(site in told for site in ("{g}", "{z}", "{p}")) else {}
    elif way != "hero" and (way not in ("naming", "begun", "before", "notes") or draw.chance(0.35)):
        pools = {"how": _HOW, "day": _HOW, "second": _DOING, "notes": _DOING, "event": _WORDING["event"]}
        line = draw.expand(draw.any(pools.get(way, _WORDING["clause"]))).format(**fields)
        clause, want, done = (part.strip() for part in line.split("=>"))
        asked, _, clause = clause.rpartition(" / ")
        options = {"wish": (want, done)} if want else {"place": near} if near in clause else {}
        frame = way if way == "how" or (way == "where" and clause.startswith(("who ", "that "))) else "about"
        if clause.startswith("who ") and not alone and draw.chance(0.25):
            clause = draw.any(("that", "which")) + clause[3:]
        subject += " {c}"
    asked = asked or clause
    fields["c"] = asked.partition(" ")[2] if frame == "where" or way in ("second", "notes") else asked
    counted = frame == "about" and way not in ("begun", "before") and draw.chance(0.12)
    sentences = draw.whole(2, 6) if counted else 0
    if sentences:
        frame, fields["q"] = "counted", draw.any(_NUMBERS[sentences])
    template = draw.any(draw.side(_WORDING[f"frame {frame}"]))
    if way in WAYS:
        template = ordered(draw, way, template, subject, "{n}" in subject, bool(sentences))
    template = draw.expand(template.replace("{s}", subject))
    if draw.chance(0.2):
        template = then(draw, template, draw.any(draw.side(_WORDING["manner"])))
    named, opening = "{n}" in template, draw.any(_WORDING["opening"])
    if named and draw.chance(0.1):
        fields["n"] = name = name.lower()
    if way == "notes" and "{p}" in template:
        options = {**options, "place": near}
    if way in ("how", "day"):
        opening += f" how {{x}} named {{n}} {clause}."
    elif clause or named:
        joint = ", " if alone or clause.startswith("and ") else " "
        does = f". {upper_first(clause)} when it begins" if way == "event" else joint + clause if clause else ""
        opening = f"{opening} {{n}}{'' if alone else ', {x}'}{does}."
    else:
        opening = ""
    plot = _plot(draw, (kind, name), opening=opening, sentences=sentences, **options)
    needed = ("" if alone else kind, clause, *((name,) if named else ()))
    return draw.ask((template,), **fields), plot, well_formed(*needed, least=60 if sentences else 150)


def _question(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """Draw a request for the story, and what the story has to be: whom and what it has to speak of.

    Whatever the request names, the first sentence says at once: the rest then has it near.
    """
    if draw.chance(0.6):
        return _composed(draw, hero)
    (kind, name), way, theme = hero, draw.any(_ASKED), draw.any(_THEMES)
    other = draw.any([animal for animal in words.ANIMALS if animal != kind])
    find = draw.any((draw.any(_FINDS), draw.any(words.OBJECTS), draw.any(words.WORDS)))
    name = f"{draw.any(_TITLES)} {name}" if draw.chance(0.05) else name
    kind = draw.any(words.JOBS) if way == "role" else "person" if way in _PEOPLE else kind
    fields = _fields(draw, kind, name, other, find) | {"t": theme}
    ask = draw.ask(_WORDING[f"asks_{way}"], **fields)
    told, _, helper = _WORDING.get(f"told {way}", ("",))[0].partition(" => ")
    needed = [fields[at] for at in re.findall(r"{(\w+)}", told)] or [kind] * (way != "any")
    given: dict[str, Any] = {"helper": helper.format(**fields)}
    if way == "theme":
        to, done = draw.any(_WORDING["theme_wants"]).split(" => ")
        given, needed = {"wish": (to.format(**fields), done)}, [theme]
    elif "{f}" in told:
        given["wish"] = f"to find the {find}", f"found the {find}"
    if told:
        given["opening"] = f"{draw.any(_WORDING['opening'])} {told.format(**{**fields, 'x': '{x}', 'n': '{n}'})}."
    return ask, _plot(draw, (kind, name), **given), well_formed(*needed)


def _retold(draw: Draw, plot: Plot) -> tuple[Exchange, Plot]:
    """The whole story again, with another hero or another name."""
    if "{x}" in plot.texts["story"] and draw.chance(0.5):
        changed = replace(plot, kind=draw.any([animal for animal in words.ANIMALS if animal != plot.kind]))
        ask, needed = draw.ask(_WORDING["make_it"], x=words.article(changed.kind)), changed.kind
    else:
        changed = replace(plot, name=next(name for name in draw.names(2) if name != plot.name))
        ask, needed = draw.ask(_WORDING["rename"], m=changed.name, k=f"the {plot.kind}"), changed.name
    return Exchange(ask, changed.told(), well_formed(needed, least=60), True), changed


def _asked_about(draw: Draw, plot: Plot) -> Exchange:
    """A short question about the story, which the story answers."""
    kind = draw.any([kind for kind, told in plot.needed.items() if told in plot.texts["story"]] + ["title"] * 2)
    check = mentions(plot.needed.get(kind, plot.name))
    return Exchange(draw.ask(_WORDING[kind], n=plot.name), plot.told(kind), check, True)


def _follow_up(draw: Draw, plot: Plot) -> tuple[Exchange, Plot]:
    """The next wish about the story."""
    style = draw.rng.random()
    if style < 0.35:
        return _retold(draw, plot)
    if style < 0.6:
        return _asked_about(draw, plot), plot
    way, least = ("shorter", 30) if style < 0.72 else ("longer", 60) if style < 0.86 else ("happy", 40)
    check = well_formed(plot.name, least=least, before=plot.told() if way == "longer" else "")
    return Exchange(draw.ask(_WORDING[way]), plot.told(way), check, True), plot


def _hero(draw: Draw) -> tuple[str, str]:
    """Draw a hero and a name."""
    kind = draw.any(draw.any((_HEROES, _PERSONS, words.JOBS, words.ANIMALS, words.ANIMALS, words.ANIMALS)))
    name = draw.name()
    kind = draw.any(words.WORDS) if draw.chance(0.06) else draw.nonsense() if draw.chance(0.05) else kind
    while draw.chance(0.22):
        kind = f"{draw.any(_ADJECTIVES)} {kind}"
    style = draw.rng.random()
    if style < 0.16:
        name = draw.any(words.WORDS).title() if style < 0.1 else f"{name}{draw.any((' ', '-'))}{draw.name()}"
    elif style < 0.22:
        at = draw.whole(1, len(name) - 1)
        name = name[:at] + draw.any("éèüöäñçåøßłšžíóúáğ") + name[at + draw.whole(0, 1) :]
    return kind, name


def compose(draw: Draw) -> list[Exchange]:
    """A story, perhaps told again with another hero, continued, shortened, or asked about."""
    ask, plot, check = _question(draw, draw.own(lambda: _hero(draw), told=" ".join))
    exchanges = [Exchange(ask, plot.told(), check)]
    if draw.chance(0.5):
        exchange, plot = _follow_up(draw, plot)
        exchanges.append(exchange)
        if draw.chance(0.25):
            exchanges.append(_asked_about(draw, plot))
    return exchanges
