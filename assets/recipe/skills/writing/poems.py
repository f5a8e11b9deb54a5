"""Rhymed couplets, one from each stage in turn, so that no line can come twice and more can always be added."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording, upper_first

_WORDING = read_wording("writing/poems")
# Subjects as they are asked for: "the sea", "winter", "a lamp"; and creatures.
_THINGS = [words.entries(_WORDING, name) for name in ("things", "things_bare", "things_a")]
_ADJECTIVES = words.entries(_WORDING, "adjectives")
_CREATURES = (*words.ANIMALS, *words.entries(_WORDING, "creatures"))


@dataclass(frozen=True)
class Subject:
    """The subject of a poem, with and without its article, and the kind of couplets that suit it."""

    noun: str
    asked: str
    definite: str
    kind: str

    @property
    def plain(self) -> bool:
        """True if the noun alone tells which subject it is."""
        return self.asked in (self.noun, f"the {self.noun}", words.article(self.noun))

    def fill(self, template: str) -> str:
        """The template about this subject."""
        the = self.definite
        a = the if the[0].isupper() else self.asked
        return template.format(x=self.noun, the=the, The=upper_first(the), a=a, A=upper_first(a))


def _subject(draw: Draw, kind: str) -> Subject:
    style = 1.0 if kind == "creature" else draw.rng.random()
    if style >= 0.6:
        noun = draw.any(_CREATURES if kind == "creature" else draw.any((_THINGS[2], words.OBJECTS, words.WORDS)))
        while draw.chance(0.2):
            noun = f"{draw.any(_ADJECTIVES)} {noun}"
        if kind == "creature" and draw.chance(0.4):
            name, called = draw.name(), draw.expand(draw.any(_WORDING["called"]))
            return Subject(noun, called.format(noun, name, words.article(noun)), f"{name} the {noun}", kind)
        if draw.chance(0.15):
            own = f"{draw.any(('my', 'our', 'her', 'his', 'your'))} {noun}"
            return Subject(noun, own, own, kind)
        return Subject(noun, words.article(noun), f"the {noun}", kind)
    asked = draw.any(_THINGS[0 if style < 0.3 else 1])
    if asked.startswith("the ") and draw.chance(0.3):
        asked = f"the {draw.any(_ADJECTIVES)} {asked.removeprefix('the ')}"
    return Subject(asked.removeprefix("the "), asked, asked, kind)


def rhymes(lines: int | None = None, about: str = "", before: str = "") -> Check:
    """So many lines (or two at least), none of them twice nor among those before, about this subject."""

    def check(reply: str) -> bool:
        found = [line.strip() for line in reply.splitlines() if line.strip() and not line.startswith("**")]
        counted = len(found) >= 2 if lines is None else len(found) == lines
        fresh = len(set(found)) == len(found) and not set(found) & set(before.splitlines())
        return counted and fresh and about.lower() in reply.lower() and reply.rstrip().endswith((".", "!", "?"))

    return check


def _asked(draw: Draw, way: str, subject: Subject, lines: str = "") -> str:
    """A question of this pool, which tells a name or an owner if the subject has one."""
    while True:
        ask = draw.asked(_WORDING, way, a=subject.asked, x=subject.noun, lines=lines)
        if subject.plain or subject.asked in ask:
            return ask


def _question(draw: Draw, subject: Subject, couplets: int) -> tuple[str, Check]:
    """The poem asked for: any, of so many lines, or just about its subject."""
    style = draw.rng.random()
    if style < 0.06 and couplets > 1:
        return draw.asked(_WORDING, "asks_any"), rhymes()
    if style < 0.35 or couplets == 1:
        lines = draw.any(words.entries(_WORDING, f"{couplets} couplets"))
        short = {1: "couplet", 2: "quatrain"}.get(couplets, "asks_lines")
        ask = _asked(draw, short if draw.chance(0.4) else "asks_lines", subject, lines)
        return ask, rhymes(2 * couplets, subject.noun)
    way = "bare" if subject.plain and draw.chance(0.2) else "asks"
    return _asked(draw, way, subject), rhymes(None, subject.noun)


def _changed(draw: Draw, subject: Subject, templates: list[str], body: list[str], shown: int) -> list[Exchange]:
    """The follow-ups, if any: a title, two lines only, another subject, or stage after stage more."""
    turn = draw.rng.random()
    if turn < 0.12:
        title = f"**{subject.definite.title()}**"
        return [Exchange(draw.ask(_WORDING["title"]), title, lambda reply: reply == title, True)]
    if turn < 0.22:
        return [Exchange(draw.ask(_WORDING["shorter"]), body[0], rhymes(2), True)]
    if turn < 0.4:
        other = _subject(draw, subject.kind)
        reply = "\n".join(other.fill(template) for template in templates[:shown])
        ask = draw.ask(_WORDING["other"], a=other.asked, the=subject.definite)
        return [Exchange(ask, reply, rhymes(2 * shown, other.noun), True)]
    if turn < 0.5 and shown < 4 and not draw.held_out:
        wanted = draw.whole(shown + 1, min(4, len(body)))
        ask = draw.ask(_WORDING["in_lines"], lines=draw.any(words.entries(_WORDING, f"{wanted} couplets")))
        return [Exchange(ask, "\n".join(body[:wanted]), rhymes(2 * wanted), True)]
    exchanges: list[Exchange] = []
    poem, more = "\n".join(body[:shown]), 0.35
    while shown < len(body) and draw.chance(more):
        exchanges.append(Exchange(draw.ask(_WORDING["longer"]), body[shown], rhymes(2, before=poem), True))
        poem, shown, more = f"{poem}\n{body[shown]}", shown + 1, 0.4
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """A poem, perhaps with a title, made shorter or longer, or written again about something else."""
    subject = _subject(draw, draw.any(("creature", "thing")))
    couplets = draw.any((1, 1, 2, 2, 3, 4))
    stages = words.entries(_WORDING, f"{couplets} stages")
    templates = [draw.expand(draw.any(_WORDING[f"{subject.kind}_{stage}"])) for stage in stages]
    ask, check = _question(draw, subject, couplets)
    body = [subject.fill(template) for template in templates]
    poem = "\n".join(body[:couplets])
    return [Exchange(ask, poem, check), *_changed(draw, subject, templates, body, couplets)]
