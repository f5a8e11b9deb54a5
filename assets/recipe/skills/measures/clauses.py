"""Stories of sums put together clause by clause: who has what, what comes and goes, and what is asked.

Openings, gains, losses, groups, shares and questions are drawn apart from one another, so that training hardly
ever sees the same wording twice. A story's template has the fields of skills/measures/word_problems.py.

Signs are told in their order: + and - come and go, × opens with groups (and ×× goes on with others), g and u are whole
groups that come and go, / shares at the end, and h, t and q are a half, a third and a quarter that go. With i and o so
many come or go again and again, with iw and ow on days by their names. At < somebody else has more or fewer, say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assets.recipe.draw import Draw, set_aside
from assets.recipe.words import entries, lower_first, pairs, read_wording, upper_first, weighted

_WORDING = read_wording("measures/clauses")
_VERB = re.compile(r"<([^<>|]*)\|([^<>|]*)\|([^<>|]*)>")
_OWNED, _UNOWNED, _SHARED, _GROUPED, ONE_STEP, TWO_STEPS = (
    weighted(_WORDING, name) for name in ("owned", "unowned", "shared", "grouped", "one step", "two steps")
)
# The plans of signs that are no chain of theirs.
PLANS = dict(pairs(_WORDING, "plans"))
_PARTS = {sign: entries(_WORDING, f"part {sign}") for sign in "htq"}
# What tells a gain from a loss only now and then: people say "won 8" as often as "won 8 more".
_MORE = re.compile(r" more\b|\banother (?=\{x\})")
_BEFORE_NAMED = re.compile(r"\b(?:she|he|they|it)\b|\{h\}|^(?:So|And|Then)\b|, then")
_COUNTED = re.compile(
    r"\[[^\[\]|]*(?:of them|NOUN|euros|points)\|\]|(?<=\{x\})(?: of them| NOUN| euros| points| litres)"
)
_CAPITAL = ("I ", "{", "Mr", "Uncle", "Aunt", "Grand", "Dad", "Mum")
_JOTTED_SHARE, _AGAIN_SHARE = 0.3, 0.15
_PAUSES = (". ", ". ", ". ", ", ", ", ", "; ", " / ")


@dataclass(frozen=True)
class _Scene:
    """The persons spoken of, with the pronouns and the verb's form, and the things counted."""

    who: str
    pronoun: str
    him: str
    form: int
    past: bool
    domain: str
    noun: str

    def fill(self, clause: str, x: str = "", who: str = "") -> str:
        """The clause with its verbs in form and its places taken."""
        text = _VERB.sub(lambda found: found[3] if self.past else found[self.form], clause)
        text = text.replace("NOUN", self.noun).replace("OBJ", self.him).replace("WHO", who or self.pronoun)
        return text.replace("{x}", x)


def _sentences(text: str) -> str:
    """The text with every sentence begun by a capital."""
    parts = re.split(r"(?<=[.?!]) +", text)
    return " ".join("{H}" + part[3:] if part.startswith("{h}") else upper_first(part) for part in parts)


def _scene(draw: Draw, domains: tuple[str, ...]) -> _Scene:
    named, pronoun, him, form = draw.expand(draw.any(_WORDING["who"])).split("/")
    domain = draw.any(domains)
    noun = draw.expand(draw.any(_WORDING[f"{domain}.noun"]))
    return _Scene(named, pronoun, him, 1 if form == "base" else 2, draw.chance(0.45), domain, noun)


def _event(draw: Draw, scene: _Scene, sign: str, number: str, own_before: bool = True) -> tuple[str, bool]:
    """Draw what comes or goes, joined to what was told before; True if it is the owner's own doing.

    After the doing of another (not own_before) the owner is named again.
    """
    kind = "gain" if sign in "+i" else "lose"
    owned = scene.domain in _OWNED

    def clause(name: str) -> str:
        phrase = draw.any(_WORDING[f"{scene.domain}.{name}"])
        if sign in _PARTS:
            phrase = _COUNTED.sub("", phrase)
        elif kind == "gain" and draw.chance(0.5):
            phrase = _MORE.sub("", phrase)
        return scene.fill(phrase, number)

    if owned and draw.chance(0.75):
        links = _WORDING["link"]
        link = draw.any(links if own_before else tuple(entry for entry in links if "WHO" in entry))
        again = scene.who if scene.who == "{n}" and draw.chance(0.35) else scene.pronoun
        if sign == "-" and link == " and" and draw.chance(0.5):
            link = " but"
        return f"{scene.fill(link, who=again)} {clause(kind)}", True
    link = draw.any(_WORDING["other"]).rstrip()
    return f"{link} {clause(f'{kind}_other')}", False


def _question(draw: Draw, scene: _Scene, signs: str) -> str:
    """Draw the question at the end, of the total where nothing has gone, of the rest where the last step takes away."""
    kind = "left" if signs[0 if signs[-1] == "w" else -1] in "-htqou" and draw.chance(0.75) else "now"
    if set(signs) <= set("+×g") and draw.chance(0.6):
        kind = "total"
    pool = _WORDING.get(f"{scene.domain}_{kind}", _WORDING[kind])
    if scene.domain not in _OWNED:
        pool = tuple(phrase for phrase in pool if "WHO" not in phrase)
    who = scene.who if scene.who == "{n}" and draw.chance(0.5) else scene.pronoun
    phrase = draw.any(pool)
    if scene.form == 1:
        be = "<am|" if scene.pronoun == "I" else "<are|"
        phrase = phrase.replace("What does WHO", "What do WHO").replace("<am|", be)
    # Asked in the present, whatever the tense of the story.
    return _VERB.sub(lambda found: found[scene.form], phrase).replace("NOUN", scene.noun).replace("WHO", who)


def _opening(draw: Draw, scene: _Scene, kind: str) -> str:
    clause = scene.fill(draw.any(_WORDING[f"{scene.domain}.{kind}"]), "{a}")
    return clause if scene.domain in _UNOWNED and kind == "open" else f"{scene.who} {clause}"


def _told(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """An opening, events in the signs' order, the question."""
    groups = signs[0] == "×"
    domains = _GROUPED if set(signs) & set("gu") else _OWNED if groups or draw.chance(0.7) else _UNOWNED
    scene = _scene(draw, _SHARED if signs[-1] == "/" else domains)
    story = _opening(draw, scene, "groups" if groups else "open")
    rest = signs[1:] if groups else signs
    own = True
    clause, letters = "", iter("cd" if groups else "bcd")
    for before, sign in zip(("", *rest), rest, strict=False):
        if sign == before and draw.chance(_AGAIN_SHARE):
            again = _WORDING["again to" if "to {m}" in clause else "again"]
            clause = draw.any(again).replace("{x}", f"{{{next(letters)}}}")
        elif sign == "/":
            return story + _shared(draw, scene, signs, f"{{{next(letters)}}}", own), scene
        elif sign in "×gu":
            more = draw.any(_WORDING[f"{scene.domain}.{'groups' if sign == '×' else sign}"])
            own = not more.startswith("{")
            link = scene.fill(draw.any(_WORDING["link" if own else "other"]).rstrip(), who=scene.pronoun)
            one, other = f"{{{next(letters)}}}", f"{{{next(letters)}}}"
            clause = f"{link} {scene.fill(more.replace('{b}', other).replace('{a}', one))}"
        else:
            clause, own = _event(draw, scene, sign, _part(draw, scene, sign) or f"{{{next(letters)}}}", own)
        story += clause
        if sign in "io":
            often = draw.any(_WORDING["days" if signs[-1] == "w" else "stops" if scene.domain == "people" else "often"])
            return f"{story} {often}. {_question(draw, scene, signs)}", scene
    return f"{story}. {_question(draw, scene, signs)}", scene


def _jotted(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """The numbers with their labels, as an office or a shopper jots them down, and what is asked in a word or two."""
    scenes = _WORDING["jot things"] if signs[0] == "×" else (*_WORDING["jot things"], *_WORDING["jot"] * 2)
    noun, opening, gain, lose, asked = draw.any(scenes).split(" => ")
    scene = replace(_scene(draw, ("things",)), noun=draw.expand(noun))
    pause, moments = draw.any(_PAUSES), draw.any((*entries(_WORDING, "moments"), *[""] * 8)).split("+")

    def jot(label: str, number: str, moment: str = "") -> str:
        said = draw.expand(label)
        forms = (f"{said}: {number}", f"{said} {number}", f"{number} {lower_first(said)}")
        return f"{moment}{forms[2]}" if moment else draw.any(forms)

    if signs[0] == "×":
        told, letters = [draw.any(_WORDING["jot groups"]).replace("NOUN", scene.noun)], iter("cd")
    else:
        told, letters = [jot(opening, f"{{a}} {scene.noun}")], iter("bcd")
    for at, sign in enumerate(signs[signs[0] == "×" :]):
        moment = moments[at] + draw.any((" ", ": ")) if at < len(moments) > 1 else ""
        told.append(jot(gain if sign == "+" else lose, f"{{{next(letters)}}}", moment))
    return f"{pause.join(told)}. {draw.expand(asked).replace('NOUN', scene.noun)}?", scene


def _part(draw: Draw, scene: _Scene, sign: str) -> str:
    """The share that goes, in words, or nothing for a sign with a number."""
    if sign not in _PARTS:
        return ""
    of = _WORDING["part of money" if scene.domain == "money" else "part of things"]
    return draw.any(_PARTS[sign]) + scene.fill(draw.any(of))


def _shared(draw: Draw, scene: _Scene, signs: str, number: str, own_before: bool) -> str:
    """That what there is, perhaps after a gain or a loss, is shared, and the question for a share."""
    money = scene.domain == "money"
    clause = draw.any(_WORDING["share" if money or draw.chance(0.65) else "pack"])
    them = "the rest" if signs[0] == "-" else draw.any(("the money", "it") if money else ("them", "all of them"))
    clause = clause.replace("THEM", them).replace("[How many|How much]", "How much" if money else "How many [NOUN |]")
    again = (f". {scene.pronoun}", f". Then {scene.pronoun}", *((" and", " and then") if own_before else ()))
    return f"{draw.any(again)} {scene.fill(clause, number)}"


def turned(draw: Draw, story: str) -> str:
    """The story with its question first, or in one sentence with "if", where it can be said so."""
    body, _, question = story.rpartition(". ")
    if not body or not question.endswith("?") or _BEFORE_NAMED.search(question):
        return story
    lowered = question if question.startswith("{") else lower_first(question)
    if ". " not in body and draw.chance(0.6):
        start = "{h}" + body[3:] if body.startswith("{H}") else body
        start = start if start.startswith(_CAPITAL) else lower_first(start)
        return draw.any((f"If {start}, {lowered}", f"If {start}, {lowered}", f"{question[:-1]} if {start}?"))
    return draw.any((f"{question} {body}.", f"{question[:-1]}: {body}"))


def _compared(draw: Draw) -> tuple[str, str, _Scene]:
    """Two owners, one with more or less than the other, and the plan of the question."""
    scene = _scene(draw, tuple(one for one in _OWNED if one not in ("tasks", "stuff")))
    told, plan, *asked = draw.any(_WORDING["compare"]).split(" => ")
    about = scene.who if scene.who == "{n}" or scene.pronoun == "I" else scene.pronoun
    other = draw.any(("{m}", "{m}", "a friend", "the neighbour"))
    money = scene.domain == "money"
    told = draw.expand(told).replace("has", "had") if scene.past else draw.expand(told)
    many = ("How much",) if money else ("How many", f"How many {scene.noun}")
    if asked:
        question = asked[0].replace("ow many", many[0][1:])
    elif draw.chance(0.5):
        question, plan = draw.any(_WORDING["compare both"]), f"{plan}, a+x"
    else:
        question = draw.any(_WORDING["compare other"])
    question = question.replace("WE", "we" if scene.pronoun in ("I", "we") else "they")
    question = draw.expand(question).replace("MANY", draw.any(many))
    story = f"{_opening(draw, scene, 'open')}{told}. {scene.fill(question, who=about)}"
    return scene.fill(story.replace("OTHER", other).replace("OWNER", {"I": "me"}.get(about, about))), plan, scene


def composed(draw: Draw, signs: str) -> tuple[str, str, str]:
    """A story of these signs, its plan where they do not tell it, and what its result is, as word_problems.py has it.

    Never the very words of a phrasing that the split sets aside.
    """
    while True:
        if signs == "<":
            told, plan, scene = _compared(draw)
        else:
            jots = set(signs) <= set("+-×") and signs != "××" and draw.chance(_JOTTED_SHARE)
            (told, scene), plan = (_jotted if jots else _told)(draw, signs), ""
        story = " ".join(_sentences(draw.expand(told)).split())
        if draw.chance(0.25):
            story = turned(draw, story)
        if not set_aside(story):
            verb = "is" if signs[-1] in "/<" else "leaves" if signs[-1] in "-htqou" or signs == "ow" else "makes"
            return story, plan, f"{verb} {scene.noun}{' each' * (signs[-1] == '/')}"
