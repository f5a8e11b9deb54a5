"""Short stories on request: about a hero, a name, two things or a theme; then changed, continued, asked about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.checks import contains
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw, set_aside
from assets.recipe.skills.plots import Plot, Wish, draw_plot
from assets.recipe.wording import read_wording

_WORDING = read_wording("stories")
_HEROES, _SITES, _FINDS, _THEMES = (
    tuple(_WORDING[name][0].split(" / ")) for name in ("heroes", "sites", "finds", "themes")
)
_THEME_WISHES = (
    ("to know everything about {t}", "knew all about it"),
    ("to find out more about {t}", "found it out"),
    ("to write a book about {t}", "wrote it"),
    ("to sing a song about {t}", "sang it"),
)


@dataclass(frozen=True)
class Told:
    """A story as it was told: its plot, and its hero's kind and name."""

    plot: Plot
    kind: str
    name: str


def well_formed(*subjects: str, least: int = 150, before: str = "") -> Check:
    """Long enough, ends like a sentence, speaks of the subjects, says no sentence twice nor one said before."""

    def check(reply: str) -> bool:
        sentences = _sentences(reply)
        ended = reply.rstrip().endswith((".", "!", "?", '"'))
        about = all(subject.lower() in reply.lower() for subject in subjects)
        fresh = len(set(sentences)) == len(sentences) and not set(sentences) & set(_sentences(before))
        return len(reply) >= least and ended and about and fresh

    return check


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"[.!?\"]\s+|\n+", text) if len(part) > 20]


def _two(draw: Draw, kind: str, name: str) -> tuple[str, Told, Check]:
    """A hero and a second thing: a helper, a place, or something to find."""
    style = draw.rng.random()
    if style < 0.35:
        second = draw.any([animal for animal in words.ANIMALS if animal != kind])
        plot = draw_plot(draw, helper=second)
    elif style < 0.7:
        second = draw.any(_SITES)
        plot = draw_plot(draw, place=draw.any(("near", "not far from", "next to")) + f" {words.article(second)}")
    else:
        second = draw.any(_FINDS)
        plot = draw_plot(draw, wish=Wish(f"to find a lost {second}", "found it"))
    ask = draw.ask(_WORDING["asks_two"], x=words.article(kind), y=words.article(second))
    return ask, Told(plot, kind, name), well_formed(kind, second)


def _theme(draw: Draw, kind: str, name: str) -> tuple[str, Told, Check]:
    """A theme: what the hero wants has to do with it."""
    theme = draw.any(_THEMES)
    to, done = draw.any(_THEME_WISHES)
    plot = draw_plot(draw, wish=Wish(to.format(t=theme), done))
    return draw.ask(_WORDING["asks_theme"], t=theme), Told(plot, kind, name), well_formed(theme)


def _question(draw: Draw, kind: str, name: str) -> tuple[str, Told, Check]:
    """What is asked for, the story, and what it has to be."""
    style = draw.rng.random()
    if style < 0.2:
        return _two(draw, kind, name)
    if style < 0.3:
        return _theme(draw, kind, name)
    told = Told(draw_plot(draw), kind, name)
    if style < 0.36:
        return draw.ask(_WORDING["asks_any"]), told, well_formed()
    if style < 0.66:
        return draw.ask(_WORDING["asks_animal"], x=words.article(kind)), told, well_formed(kind)
    if style < 0.84:
        ask = draw.ask(_WORDING["asks_named"], x=words.article(kind), k=kind, n=name)
        return ask, told, well_formed(kind, name)
    told = Told(told.plot, draw.any(("girl", "boy", *words.JOBS)), name)
    return draw.ask(_WORDING["asks_person"], n=name), told, well_formed(name)


def _retold(draw: Draw, told: Told) -> tuple[Exchange, Told]:
    """The whole story again, with another hero or another name."""
    if draw.chance(0.5):
        kind = draw.any([animal for animal in words.ANIMALS if animal != told.kind])
        reply = told.plot.told(kind, told.name)
        ask = draw.ask(_WORDING["make_it"], x=words.article(kind))
        return Exchange(ask, reply, well_formed(kind), True), Told(told.plot, kind, told.name)
    name = next(name for name in draw.names(2) if name != told.name)
    reply = told.plot.told(told.kind, name)
    ask = draw.ask(_WORDING["rename"], m=name, k=f"the {told.kind}")
    return Exchange(ask, reply, well_formed(name), True), Told(told.plot, told.kind, name)


def _asked_about(draw: Draw, told: Told) -> Exchange:
    """A short question about the story, which the story answers."""
    plot, name = told.plot, told.name
    helper = words.article(plot.helper)
    answers = {
        "who": (helper[0].upper() + helper[1:] + ".", plot.helper),
        "what": (f"{name} wanted {plot.wish.to}.", plot.wish.to),
        "where": (f"{name} lived {plot.place}.", plot.place),
        "title": (f"**{name} and the {plot.helper.title()}**", name),
    }
    kind = draw.any(("who", "what", "where", "title", "title"))
    reply, needed = answers[kind]
    return Exchange(draw.ask(_WORDING[kind], n=name), reply, contains(needed), True)


def _follow_up(draw: Draw, told: Told) -> tuple[Exchange, Told]:
    """The next wish about the story."""
    style = draw.rng.random()
    plot, kind, name = told.plot, told.kind, told.name
    if style < 0.35:
        return _retold(draw, told)
    if style < 0.6:
        return _asked_about(draw, told), told
    if style < 0.72:
        check = well_formed(name, least=30)
        return Exchange(draw.ask(_WORDING["shorter"]), plot.shortened(kind, name), check, True), told
    if style < 0.86:
        check = well_formed(name, least=60, before=plot.told(kind, name))
        return Exchange(draw.ask(_WORDING["longer"]), plot.continued(kind, name), check, True), told
    check = well_formed(name, least=40)
    return Exchange(draw.ask(_WORDING["happy"]), plot.ended_happily(kind, name), check, True), told


def _hero(draw: Draw) -> tuple[str, str]:
    """What the hero is, and a name; the two together being of this side of the split."""
    while True:
        kind = draw.any(_HEROES) if draw.chance(0.3) else draw.any(words.ANIMALS)
        name = draw.name()
        if set_aside(f"{kind} {name}") == draw.held_out:
            return kind, name


def compose(draw: Draw) -> list[Exchange]:
    """A story, perhaps told again with another hero, continued, shortened, or asked about."""
    ask, told, check = _question(draw, *_hero(draw))
    exchanges = [Exchange(ask, told.plot.told(told.kind, told.name), check)]
    if draw.chance(0.5):
        exchange, told = _follow_up(draw, told)
        exchanges.append(exchange)
        if draw.chance(0.25):
            exchanges.append(_asked_about(draw, told))
    return exchanges
