"""Short stories on request: about a hero, a name, two things or a theme; then changed, continued, asked about.

A story's grammar: somebody wants something, meets trouble, finds help, and it ends; then more may follow. Each stage
has sentences of its own, so that no sentence can come twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

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
_ASKED = (*["animal", "named"] * 8, *["two", "person"] * 5, *["pair", "theme", "words"] * 3, *["any", "place"] * 2,
          *["more"] * 2, "lost", "both", "go_on", "begun", "told", "cast", "happened", "role", "friends",
          "friend")  # fmt: skip
_NEAR = ("near", "near", "not far from", "next to", "in", "at", "under", "behind", "on", "beside", "above")
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
    stages = _STAGES[:2], _STAGES[2:5], _STAGES[5:]
    parts = (" ".join(said[stage] for stage in part if said[stage]) for part in stages)
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


def _plural(kind: str) -> str:
    if kind.endswith(("mouse", "goose")):
        return kind.replace("mouse", "mice").replace("goose", "geese")
    return kind + ("es" if kind.endswith(("x", "ch", "sh", "s")) else "s")


def _question(draw: Draw, hero: tuple[str, str]) -> tuple[str, Plot, Check]:
    """Draw a request for the story, and what the story has to be: whom and what it has to speak of."""
    (kind, name), (friend, way), child = hero, (draw.name(), draw.any(_ASKED)), draw.any(("girl", "boy"))
    other = draw.any([animal for animal in words.ANIMALS if animal != kind])
    find, site = (draw.any((draw.any(_FINDS), draw.any(words.OBJECTS), draw.any(words.WORDS))) for _ in range(2))
    spot, theme = draw.any((draw.any(words.WORDS), draw.any(_SITES))), draw.any(_THEMES)
    to, done = _wish(draw, "theme_wants")
    name = f"{draw.any(_TITLES)} {name}" if draw.chance(0.05) else name
    kind = {"role": draw.any(words.JOBS), "words": draw.any((kind, spot)), "friends": child, "happened": child,
            "person": draw.any((child, *words.JOBS))}.get(way, kind)  # fmt: skip
    near = f"{draw.any(_NEAR)} {draw.any((f'the {spot}', words.article(spot)))}"
    lost = f"to find a lost {find}", "found it"
    seconds: tuple[tuple[str, dict[str, Any]], ...]
    seconds = ((other, {"helper": other}), (spot, {"place": near}), (find, {"wish": lost}))
    second, two = draw.any(seconds)
    ask = draw.ask(
        _WORDING[f"asks_{way}"], x=words.article(kind), k=kind, ks=_plural(kind), n=name, m=friend, f=find, g=site,
        y=words.article({"pair": other, "two": second}.get(way, find)), p=near, t=theme,
    )  # fmt: skip
    third = (site,) if site in ask and way == "words" else ()
    ways: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
        "any": ({}, ()), "named": ({}, (kind, name)), "role": ({}, (kind, name)), "person": ({}, (name,)),
        "two": (two, (kind, second)), "theme": ({"wish": (to.format(t=theme), done)}, (theme,)),
        "pair": ({"helper": f"{other} named {friend}"}, (kind, name, other, friend)),
        "both": ({"helper": f"{kind} named {friend}"}, (kind, name, friend)),
        "friends": ({"helper": f"{child} named {friend}"}, (name, friend)),
        "friend": ({"helper": f"friend named {friend}"}, (kind, name, friend)),
        "cast": ({"helper": f"{kind} named {friend}", "place": f"{draw.any(_NEAR)} {words.article(find)}"},
                 (name, friend, find)),
        "place": ({"place": near}, (kind, spot)), "lost": ({"wish": lost}, (kind, name, find)),
        "happened": ({"wish": lost}, (name, find)),
        "words": ({"wish": lost, "place": f"near {words.article(site)}" if third else ""}, (kind, find, *third)),
    }  # fmt: skip
    given, needed = ways.get(way, ({}, (kind,)))
    return ask, _plot(draw, (kind, name), **given), well_formed(*needed)


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
