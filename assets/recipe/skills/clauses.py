"""Stories of sums put together clause by clause: who has what, what comes and goes, and what is asked.

Openings, gains, losses, groups, shares and questions are drawn apart from one another, so that training hardly
ever sees the same wording twice. A story's template has the fields of skills/word_problems.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assets.recipe.draw import Draw, set_aside
from assets.recipe.wording import read_wording

_WORDING = read_wording("clauses")
_VERB = re.compile(r"<([^<>|]*)\|([^<>|]*)\|([^<>|]*)>")
_OWNED = ("things", "things", "things", "kitchen", "fruit", "glass", "money", "money", "points", "animals", "tasks",
          "stuff")  # fmt: skip
_UNOWNED = ("people", "place", "traffic", "swarm")
_SHARED = ("things", "kitchen", "fruit", "money", "stuff")
ONE_STEP = ("+", "-", "×", "/")
TWO_STEPS = ("++", "+-", "-+", "--", "×+", "×-", "+×", "-×", "+/", "-/", "/+", "/-")
_LETTERS = "abc"
_TWO_OWNERS = 0.15
_BESIDE = (" and {m}", ". {m}", ", {m}", ", while {m}", "; {m}", " and a friend", ". A neighbour")


@dataclass(frozen=True)
class _Scene:
    """Who is spoken of, with the pronouns and the verb's form, and what is counted."""

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


def _capital(text: str) -> str:
    return "{H}" + text[3:] if text.startswith("{h}") else text[:1].upper() + text[1:]


def _sentences(text: str) -> str:
    """The text with every sentence begun by a capital."""
    return " ".join(_capital(part) for part in re.split(r"(?<=[.?!]) +", text))


def _scene(draw: Draw, domains: tuple[str, ...], who: str | None = None) -> _Scene:
    named, pronoun, him, form = draw.expand(who or draw.any(_WORDING["who"])).split("/")
    domain = draw.any(domains)
    noun = draw.expand(draw.any(_WORDING[f"{domain}.noun"]))
    return _Scene(named, pronoun, him, 1 if form == "base" else 2, draw.chance(0.45), domain, noun)


def _event(draw: Draw, scene: _Scene, sign: str, number: str, own_before: bool = True) -> tuple[str, bool]:
    """What comes or goes, joined to what was told before, and whether it is the owner's own doing.

    After the doing of another (not own_before) the owner is named again.
    """
    kind = "gain" if sign == "+" else "lose"
    owned = scene.domain in _OWNED
    if owned and draw.chance(0.75):
        links = _WORDING["link"]
        link = draw.any(links if own_before else tuple(entry for entry in links if "WHO" in entry))
        again = scene.who if scene.who == "{n}" and draw.chance(0.35) else scene.pronoun
        clause = draw.any(_WORDING[f"{scene.domain}.{kind}"])
        if sign == "-" and link == " and" and draw.chance(0.5):
            link = " but"
        return f"{scene.fill(link, who=again)} {scene.fill(clause, number)}", True
    link = draw.any(_WORDING["other"]).rstrip()
    return f"{link} {scene.fill(draw.any(_WORDING[f'{scene.domain}.{kind}_other']), number)}", False


def _question(draw: Draw, scene: _Scene, signs: str) -> str:
    """What is asked at the end, of the total where nothing has gone, of the rest where the last step takes away."""
    kind = "left" if signs[-1] == "-" and draw.chance(0.75) else "now"
    if set(signs) <= set("+×") and draw.chance(0.6):
        kind = "total"
    pool = _WORDING[("money_" if scene.domain == "money" else "") + kind]
    if scene.domain not in _OWNED:
        pool = tuple(phrase for phrase in pool if "WHO" not in phrase)
    who = scene.who if scene.who == "{n}" and draw.chance(0.5) else scene.pronoun
    phrase = draw.any(pool)
    if scene.pronoun == "I":
        phrase = phrase.replace("What does WHO", "What do WHO")
    elif scene.form == 1:
        phrase = phrase.replace("What does WHO", "What do WHO").replace("<am|", "<are|")
    # Asked in the present, whatever the tense of the story.
    return _VERB.sub(lambda found: found[scene.form], phrase).replace("NOUN", scene.noun).replace("WHO", who)


def _opening(draw: Draw, scene: _Scene, kind: str) -> str:
    clause = scene.fill(draw.any(_WORDING[f"{scene.domain}.{kind}"]), "{a}")
    return clause if scene.domain in _UNOWNED and kind == "open" else f"{scene.who} {clause}"


def _told(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """An opening, events in the signs' order, the question."""
    groups = signs[0] == "×"
    scene = _scene(draw, _OWNED if groups or draw.chance(0.7) else _UNOWNED)
    story = _opening(draw, scene, "groups" if groups else "open")
    rest = signs[1:] if groups else signs
    own = True
    if not groups and rest[0] == "+" and scene.domain in _OWNED and draw.chance(_TWO_OWNERS):
        return _two_owners(draw, scene, story, rest)
    for sign, letter in zip(rest, "c" if groups else "bc", strict=False):
        clause, own = _event(draw, scene, sign, f"{{{letter}}}", own)
        story += clause
    return f"{story}. {_question(draw, scene, signs)}", scene


def _two_owners(draw: Draw, scene: _Scene, story: str, signs: str) -> tuple[str, _Scene]:
    """What somebody else has beside what was told, and perhaps what comes or goes for both."""
    both = replace(scene, who=draw.any(("they", "they", "both", "the two")), pronoun="they", him="them", form=1)
    other = replace(scene, form=2).fill(draw.any(_WORDING[f"{scene.domain}.open"]), "{b}")
    story += f"{draw.any(_BESIDE)} {other}"
    if len(signs) == 1:
        many = draw.any(("How much", "How much money") if scene.domain == "money" else ("How many", "How many NOUN"))
        asked = f"{draw.any(('do they have', 'is that'))} {draw.any(('together', 'in all', 'altogether'))}?"
        return f"{story}. {scene.fill(many)} {asked}", scene
    clause = draw.any(_WORDING[f"{scene.domain}.{'gain' if signs[1] == '+' else 'lose'}"])
    story += f". {draw.any(('Then ', 'Together ', '', 'Later '))}{both.who} {both.fill(clause, '{c}')}"
    return f"{story}. {_question(draw, replace(both, who='they'), signs)}", scene


def _asked_first(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """The question first: how many there are if this and that happens."""
    scene = _scene(draw, _OWNED)
    scene = _Scene(scene.who, scene.pronoun, scene.him, scene.form, False, scene.domain, scene.noun)
    does = "do" if scene.form == 1 else "does"
    end = draw.any((" have left", " still have", " have") if signs[-1] == "-" else (" have", " have now", " have then"))
    many = draw.any(("How much money", "How many euros")) if scene.domain == "money" else f"How many {scene.noun}"
    have = "have" if scene.form == 1 else "has"
    clauses = [f"{have} {{a}}" + (" euros" if scene.domain == "money" else "")]
    for sign, letter in zip(signs, "bc", strict=False):
        pool = _WORDING[f"{scene.domain}.{'gain' if sign == '+' else 'lose'}"]
        clauses.append(scene.fill(draw.any(pool), f"{{{letter}}}"))
    told = ", ".join(clauses[:-1]) + f" and {clauses[-1]}"
    return f"{many} {does} {scene.who}{end} {draw.any(('if', 'when', 'if'))} {scene.pronoun} {told}?", scene


def _short(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """In telegraphic style."""
    scene = _scene(draw, ("things", "things", "fruit", "glass"))
    gains = ("{x} more bought", "{x} more", "{x} added", "plus {x}", "{x} more found", "got {x} more", "bought {x}")
    losses = ("{x} sold", "{x} lost", "{x} gone", "minus {x}", "{x} given away", "{x} used", "lost {x}")
    told = [f"{{a}} {scene.noun}"]
    for sign, letter in zip(signs, "bc", strict=False):
        told.append(draw.any(gains if sign == "+" else losses).replace("{x}", f"{{{letter}}}"))
    ends: tuple[str, ...] = ("left?", "How many left?", "how many are left?", "What is left?", "how many now?")
    if signs[-1] == "+":
        ends = ("how many now?", "How many?", "how many is that?", "total?" if "-" not in signs else "now?")
    return ", ".join(told) + draw.any((". ", ", ", ": ", " - ")) + draw.any(ends), scene


def _divided(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """A number of things that is shared at the end, perhaps after a gain or a loss."""
    scene = _scene(draw, _SHARED)
    story = _opening(draw, scene, "open")
    own = True
    for sign in signs[:-1]:
        clause, own = _event(draw, scene, sign, "{b}")
        story += clause
    money = scene.domain == "money"
    kind = "share" if money or draw.chance(0.65) else "pack"
    clause = draw.any(_WORDING[kind])
    them = "the rest" if signs[0] == "-" else draw.any(("the money", "it") if money else ("them", "all of them"))
    clause = clause.replace("THEM", them).replace("[How many|How much]", "How much" if money else "How many [NOUN |]")
    again = draw.any((f". {scene.pronoun}", f". Then {scene.pronoun}", *((" and", " and then") if own else ())))
    return f"{story}{again} {scene.fill(clause, '{' + _LETTERS[len(signs)] + '}')}", scene


def _shared_first(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """A share of something, and what comes to it or goes."""
    scene = _scene(draw, _SHARED, "{n}/{h}/{him}/third")
    scene = _Scene(scene.who, "{n}", scene.him, scene.form, False, scene.domain, scene.noun)
    story = scene.fill(draw.any(_WORDING["sharing"]))
    clause = scene.fill(draw.any(_WORDING[f"{scene.domain}.{'gain' if signs[1] == '+' else 'lose'}"]), "{c}")
    story += f"{draw.any(('. Then {n}', '. Later {n}', '. {n}', '. After that {n}', '. The next day {n}'))} {clause}"
    ends = ("have", "have now") if signs[1] == "+" else ("have left", "still have", "have now")
    many = "How much" if scene.domain == "money" else f"How many{draw.any(('', ' ' + scene.noun))}"
    return f"{story}. {many} does {{n}} {draw.any(ends)}?", scene


def _daily(draw: Draw, signs: str) -> tuple[str, _Scene]:
    """The same gain and loss, or two gains, day after day."""
    scene = _scene(draw, ("things", "kitchen", "fruit", "money", "points"))
    period = draw.any(("day", "week"))
    openings = {
        "things": "<get|gets|got>", "kitchen": "<bake|bakes|baked>", "fruit": "<pick|picks|picked>",
        "money": "<earn|earns|earned>", "points": "<win|wins|won>",
    }  # fmt: skip
    scene = _Scene(scene.who, scene.pronoun, scene.him, scene.form, False, scene.domain, scene.noun)
    story = f"{draw.any(('every', 'each'))} {period} {scene.who} {openings[scene.domain]} {{a}} NOUN"
    if signs[0] == "+":
        times = ("in the morning", "in the evening") if period == "day" else ("on Monday", "on Friday")
        story += f" {times[0]} and {{b}}{draw.any((' more', ''))} {times[1]}"
    else:
        story += " and " + draw.any(_WORDING[f"{scene.domain}.lose"]).replace("{x}", "{b}")
    many = "How much" if scene.domain == "money" else "How many[ NOUN|]"
    asked = draw.any((f"{many} is that in {{c}} {period}s?", f"{many} is that after {{c}} {period}s?"))
    return scene.fill(f"{story}. {asked}"), scene


def _answer(scene: _Scene, signs: str) -> str:
    if signs[-1] == "/":
        return f"is {scene.noun} each"
    return f"{'leaves' if signs[-1] == '-' else 'makes'} {scene.noun}"


def composed(draw: Draw, signs: str) -> tuple[str, str]:
    """A story of these signs, and what its result is, as in skills/word_problems.py.

    Never the very words of a phrasing that the split sets aside.
    """
    while True:
        if signs[-1] == "/":
            way = _divided
        elif signs[0] == "/":
            way = _shared_first
        elif signs[-1] == "×" and len(signs) > 1:
            way = _daily
        elif "×" in signs or draw.chance(0.7):
            way = _told
        else:
            way = draw.any((_asked_first, _short))
        told, scene = way(draw, signs)
        story = " ".join(_sentences(draw.expand(told)).split())
        if draw.chance(0.1):
            story = f"{draw.expand(draw.any(_WORDING['before']))} {story}"
        if not set_aside(story):
            return story, _answer(scene, signs)
