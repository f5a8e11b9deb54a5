"""Short stories on request: about a hero, a name, two things or a theme; then changed, continued, asked about.

A story's grammar: somebody wants something, meets trouble, finds help, and it ends; then more may follow. Each stage
has sentences of its own, so that no sentence can come twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange, mentions
from assets.recipe.draw import Draw, set_aside
from assets.recipe.words import read_wording

_WORDING = read_wording("stories")
_HEROES, _SITES, _FINDS, _THEMES, _ADJECTIVES = (
    tuple(_WORDING[name][0].split(" / ")) for name in ("heroes", "sites", "finds", "themes", "adjectives")
)
_TITLES = ("Sir", "Captain", "Mr.", "Mrs.", "Princess", "King", "Little", "Old", "Doctor", "Uncle", "Lady", "Brave")
_STAGES = ("open", "wishes", "troubles", "feelings", "helpers", "turns", "ends", "last")
_GIVEN = ("words", "cast", "happened", "role", "friends", "friend")
_MORE = ("more_1", "more_2", "more_3", "more_4")


@dataclass(frozen=True)
class Plot:
    """A story's texts, its places for hero {x} and name {n} still open, and what is asked about it later.

    `texts` are the story itself, and what makes it "shorter", "longer" or "happy"; `want` is "to see the sea".
    """

    texts: dict[str, str]
    helper: str
    want: str
    place: str
    kind: str
    name: str

    def told(self, way: str = "story") -> str:
        """The text about this hero."""
        return self.texts[way].format(x=words.article(self.kind), n=self.name)


def _wish(draw: Draw, pool: str) -> tuple[str, str]:
    """Draw a wish, and the words for it once it is fulfilled."""
    want, _, done = draw.any(_WORDING[pool]).partition(" => ")
    return want, done


def _plot(draw: Draw, hero: tuple[str, str], helper: str = "", wish: tuple[str, str] | None = None,
          place: str = "") -> Plot:  # fmt: skip
    """A plot of chance, but for what is given."""
    helper = helper or f"old {draw.any(words.ANIMALS)}"
    want, done = _wish(draw, "wants")
    want, done = wish or (draw.expand(want), done)
    place = place or draw.expand(draw.any(_WORDING["places"]))
    one, the = words.article(helper), f"the {helper.removeprefix('old ')}"
    if " named " in helper:
        the = helper.partition(" named ")[2]
    fields = {
        "x": "{x}", "n": "{n}", "place": place, "place_up": _upper(place),
        "a_trait": draw.any(_WORDING["traits"]), "o": draw.any(words.ANIMALS),
        "want": want, "done": done, "morning": draw.expand(draw.any(_WORDING["mornings"])),
        "advice": draw.any(_WORDING["advice"]), "h": one, "h_up": _upper(one), "h_the": the, "h_the_up": _upper(the),
    }  # fmt: skip
    said = {stage: draw.expand(draw.any(_WORDING[stage])).format(**fields) for stage in (*_STAGES, *_MORE)}
    parts = (
        " ".join(said[stage] for stage in part if said[stage]) for part in (_STAGES[:2], _STAGES[2:5], _STAGES[5:])
    )
    happily, joint = draw.any(_WORDING["happily"]), "\n\n" if draw.chance(0.6) else " "
    texts = {
        "story": joint.join(parts), "longer": " ".join(said[stage] for stage in _MORE),
        "shorter": f"{{n}}, {{x}}, wanted {want}. It was hard, but with the help of {one}, {{n}} {done}.",
        "happy": f"In the end {{n}} {done}. {happily}",
    }  # fmt: skip
    return Plot(texts, helper, want, place, *hero)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


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


def _two(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """A hero and a second thing: a helper, a place, or something to find."""
    (kind, name), style = hero, draw.rng.random()
    if style < 0.3:
        other = draw.any([animal for animal in words.ANIMALS if animal != kind])
        friend = next(one for one in draw.names(2) if one != name)
        fields = {"x": words.article(kind), "n": name, "y": words.article(other), "m": friend}
        ask, plot = draw.ask(_WORDING["asks_pair"], **fields), _plot(draw, hero, f"{other} named {friend}")
        return ask, plot, well_formed(kind, name, other, friend)
    if style < 0.5:
        second = draw.any([animal for animal in words.ANIMALS if animal != kind])
        plot = _plot(draw, hero, helper=second)
    elif style < 0.75:
        second = draw.any(_SITES)
        plot = _plot(draw, hero, place=draw.any(("near", "not far from", "next to")) + f" {words.article(second)}")
    else:
        second = draw.any(_FINDS)
        plot = _plot(draw, hero, wish=(f"to find a lost {second}", "found it"))
    ask = draw.ask(_WORDING["asks_two"], x=words.article(kind), y=words.article(second))
    return ask, plot, well_formed(kind, second)


def _theme(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """A theme: what the hero wants has to do with it."""
    theme = draw.any(_THEMES)
    to, done = _wish(draw, "theme_wants")
    plot = _plot(draw, hero, wish=(to.format(t=theme), done))
    return draw.ask(_WORDING["asks_theme"], t=theme), plot, well_formed(theme)


def _more(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """A hero somewhere, two of a kind, something lost, a beginning to go on from, somebody to tell it to."""
    (kind, name), friend = hero, draw.name()
    way = draw.any(
        ("place", "place", "lost", "both", "go_on", "begun", "told", "more", "more", *_GIVEN, "words", "words")
    )
    if draw.chance(0.12):
        name = f"{draw.any(_TITLES)} {name}"
    fields = {"x": words.article(kind), "k": kind, "n": name, "m": friend, "ks": _plural(kind)}
    if way in _GIVEN:
        return _given(draw, way, kind, name, friend)
    if way == "place":
        thing = draw.any(words.WORDS) if draw.chance(0.5) else draw.any(_SITES)
        where = draw.any((f"the {thing}", f"the old {thing}", words.article(thing), words.article(thing)))
        place = f"{draw.any(('in', 'under', 'behind', 'near', 'on', 'beside', 'above'))} {where}"
        ask = draw.ask(_WORDING["asks_place"], **fields, p=place)
        return ask, _plot(draw, (kind, draw.name()), place=place), well_formed(kind, thing)
    if way == "lost":
        find = draw.any(_FINDS)
        plot = _plot(draw, (kind, name), wish=(f"to find the lost {find}", "found it"))
        return draw.ask(_WORDING["asks_lost"], **fields, f=find), plot, well_formed(kind, name, find)
    if way == "both":
        plot = _plot(draw, (kind, name), f"{kind} named {friend}")
        return draw.ask(_WORDING["asks_both"], **fields), plot, well_formed(kind, name, friend)
    return draw.ask(_WORDING[f"asks_{way}"], **fields), _plot(draw, (kind, name)), well_formed(kind)


def _given(draw: Draw, way: str, kind: str, name: str, friend: str) -> tuple[str, Plot, Check]:
    """Two or three things that have to come in, two persons at a place, what was lost, or somebody's work."""
    find, site = (draw.any((draw.any(_FINDS), draw.any(words.OBJECTS), draw.any(words.WORDS))) for _ in range(2))
    kind = {"role": draw.any(words.JOBS), "words": draw.any((kind, draw.any(_SITES)))}.get(way, kind)
    x, y, near = words.article(kind), words.article(find), draw.any(("near", "in", "not far from", "at"))
    ask = draw.ask(_WORDING[f"asks_{way}"], x=x, y=y, k=kind, f=find, g=site, n=name, m=friend)
    lost = (f"to find a lost {find}", "found it")
    if way == "cast":
        return (
            ask,
            _plot(draw, (kind, name), f"{kind} named {friend}", place=f"{near} {y}"),
            well_formed(name, friend, find),
        )
    if way == "friends":
        plot = _plot(draw, (draw.any(("girl", "boy")), name), f"{draw.any(('girl', 'boy'))} named {friend}")
        return ask, plot, well_formed(name, friend)
    if way == "friend":
        return ask, _plot(draw, (kind, name), f"friend named {friend}"), well_formed(kind, name, friend)
    if way == "happened":
        return ask, _plot(draw, (draw.any(("girl", "boy")), name), wish=lost), well_formed(name, find)
    if way == "role":
        return ask, _plot(draw, (kind, name)), well_formed(kind, name)
    third = [site] if site in ask else []
    place = f"{near} {words.article(site)}" if third else ""
    return ask, _plot(draw, (kind, name), wish=lost, place=place), well_formed(kind, find, *third)


def _plural(kind: str) -> str:
    if kind.endswith(("mouse", "goose")):
        return kind.replace("mouse", "mice").replace("goose", "geese")
    return kind + ("es" if kind.endswith(("x", "ch", "sh", "s")) else "s")


def _question(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """Draw a request for the story, and what the story has to be."""
    style, (kind, name) = draw.rng.random(), hero
    if draw.chance(0.35):
        return _more(draw, hero)
    if style < 0.34:
        return _two(draw, hero) if style < 0.25 else _theme(draw, hero)
    plot = _plot(draw, hero)
    if style < 0.39:
        return draw.ask(_WORDING["asks_any"]), plot, well_formed()
    if style < 0.66:
        return draw.ask(_WORDING["asks_animal"], x=words.article(kind)), plot, well_formed(kind)
    if style < 0.84:
        return draw.ask(_WORDING["asks_named"], x=words.article(kind), k=kind, n=name), plot, well_formed(kind, name)
    plot = replace(plot, kind=draw.any(("girl", "boy", *words.JOBS)))
    return draw.ask(_WORDING["asks_person"], n=name), plot, well_formed(name)


def _retold(draw: Draw, plot: Plot) -> tuple[Exchange, Plot]:
    """The whole story again, with another hero or another name."""
    if draw.chance(0.5):
        changed = replace(plot, kind=draw.any([animal for animal in words.ANIMALS if animal != plot.kind]))
        ask, needed = draw.ask(_WORDING["make_it"], x=words.article(changed.kind)), changed.kind
    else:
        changed = replace(plot, name=next(name for name in draw.names(2) if name != plot.name))
        ask, needed = draw.ask(_WORDING["rename"], m=changed.name, k=f"the {plot.kind}"), changed.name
    return Exchange(ask, changed.told(), well_formed(needed), True), changed


def _asked_about(draw: Draw, plot: Plot) -> Exchange:
    """A short question about the story, which the story answers."""
    name, answers = plot.name, {
        "who": (_upper(words.article(plot.helper)) + ".", plot.helper),
        "what": (f"{plot.name} wanted {plot.want}.", plot.want),
        "where": (f"{plot.name} lived {plot.place}.", plot.place),
        "title": (f"**{plot.name} and the {plot.helper.title()}**", plot.name),
    }  # fmt: skip
    kind = draw.any(("who", "what", "where", "title", "title"))
    reply, needed = answers[kind]
    return Exchange(draw.ask(_WORDING[kind], n=name), reply, mentions(needed), True)


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
    """Draw a hero and a name; the two together being of this side of the split."""
    while True:
        kind = draw.any(_HEROES) if draw.chance(0.3) else draw.any(words.ANIMALS)
        name = draw.name()
        if draw.chance(0.15):
            kind = f"{draw.any(_ADJECTIVES)} {kind}"
        if set_aside(f"{kind} {name}") == draw.held_out:
            return kind, name


def compose(draw: Draw) -> list[Exchange]:
    """A story, perhaps told again with another hero, continued, shortened, or asked about."""
    ask, plot, check = _question(draw, _hero(draw))
    exchanges = [Exchange(ask, plot.told(), check)]
    if draw.chance(0.5):
        exchange, plot = _follow_up(draw, plot)
        exchanges.append(exchange)
        if draw.chance(0.25):
            exchanges.append(_asked_about(draw, plot))
    return exchanges
