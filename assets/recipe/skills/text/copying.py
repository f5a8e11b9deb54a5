"""Copying: whatever the user typed comes back, whole or in part, now or when it is asked for.

A model this small learns names and words by heart unless most of what it copies was never said before.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assets.recipe import user_words, words
from assets.recipe.conversation import Exchange, exact, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.text import edits, parts
from assets.recipe.skills.text.parts import code, held, line, sentence
from assets.recipe.skills.writing.talk import beyond
from assets.recipe.user_words import any_words, handed_back, in_quotes, numbered, phrase, some_text, some_word, word
from assets.recipe.words import ALPHABET, read_wording

_ECHO, _WORDING, _ASKED_OF = read_wording("text/echo"), read_wording("text/copying"), read_wording("text/asked_of")
_OWNED, _GREETINGS = (words.entries(_WORDING, name) for name in ("owned", "greetings"))
_CRIES = words.entries(_ECHO, "cries")
_ENDS, _FIRST = words.entries(_ECHO, "ends"), words.entries(_ECHO, "first")
_COUNTS = (2, 2, 2, 2, 3, 3, 3, 4, 4, 3, 4, 4, 5, 5, 5, 6, 6, 7, 8, 10)
_HOWS = [("in_lines", ("", "\n")), ("one_line", ("", ", "))] + [("joined", one) for one in words.pairs(_ECHO, "joints")]
# What parts a text into what is said of one and of another.
_CLAUSES = re.compile(r"[.,;|!] | (?:and|but|because|so) ")
_SIGNS = (*[" "] * 40, *(sign for _, sign in words.pairs(_WORDING, "signs")))


def _some_text(draw: Draw) -> str:
    """A sentence, rather one that asks or exclaims; several; words, a line, what people first try; any end.

    Now and then it is what is beyond the model, which can still say it again.
    """
    style = draw.rng.random()
    if draw.chance(0.04) and "\n" not in (question := beyond(draw).strip()):
        return question
    if style < 0.36:
        some = [sentence(draw) for _ in range(draw.any((2, 2, 3, 5)))]
        return max(some, key=lambda one: one[-1] in "?!") if style < 0.3 else " ".join(some)
    if style < 0.6:
        pieces = any_words(draw, 1, 3 if style < 0.48 else 9)
        if draw.chance(0.2):
            pieces.insert(draw.whole(0, len(pieces)), str(draw.whole(1, 9999)))
        text = draw.any((" ", " ", ", ")).join(pieces)
    elif style < 0.8:
        text = draw.any((_refrain, _mixed, _mixed, _digits))(draw)
    else:
        text = draw.own(lambda: line(draw)) if style < 0.92 else draw.any((*_ECHO["everyday"], *_FIRST * 9))
    return text + draw.any(_ENDS) if draw.chance(0.12) and text[-1].isalnum() else text


def _refrain(draw: Draw) -> str:
    """A few words or numbers that come again and again, side by side."""
    count, between = draw.any((1, 1, 2, 3)), draw.any((" ", " ", " ", ", "))
    some = [draw.any((word(draw), draw.any(words.WORDS), str(draw.whole(1, 99)))) for _ in range(count)]
    return between.join([*some[:1] * draw.whole(1, 3), *draw.rng.choices(some, k=draw.whole(1, 5))])


def _mixed(draw: Draw) -> str:
    """Words, numbers and codes, a few or many, with spaces or any signs between them."""
    make: tuple[Callable[[Draw], str], ...] = (word, word, word, some_word, Draw.jumble, code, _digits)
    some = [draw.any(make)(draw) for _ in range(draw.whole(2, draw.any((4, 5, 6, 12, 40))))]
    between = draw.any(((" ",), (" ",), (", ",), ("\n",), _SIGNS, _SIGNS[30:]))
    return some[0] + "".join(draw.any(between) + one for one in some[1:])


def _echo(draw: Draw) -> list[Exchange]:
    """Text to be said once more, and again; or that alone is to be answered. Quotes around all of it are not said."""
    way = draw.any((*["echo"] * 6, *["alone"] * 3, "kept"))
    text = shown = (_some_text if way == "echo" else _short_text)(draw)
    if way == "kept":
        text = shown = draw.any((words.odd_case(draw.rng, text), text.title(), text.swapcase()))
    if quoted := '"' not in text and draw.chance(0.35):
        shown = draw.any(('"{}"', '"{}"', '"{}"' if "'" in text else "'{}'", "“{}”")).format(text)
    count = len(re.findall(r"[a-z]+", text)) if re.fullmatch("[a-z, ]+", text) else 0
    if way == "echo":
        # Only what has no full stop of its own, or stands in quotes, fits inside a sentence.
        ways = ["echo_words", "behind"] if quoted else ["behind" if text[-1] in ".!?…" else "echo_words"]
        way = draw.any([way, *ways, *["question"] * 2 * text.endswith("?")])
        way = "counted" if 1 < count < 10 and draw.chance(0.25) else way
    ask = draw.asked(_ECHO, way, x=shown, k=draw.any((words.spelled(count), count)))
    exchanges = [handed_back(draw, ask, text)]
    while draw.chance(0.35) and len(exchanges) < 3 and len(text) < 120:
        way = draw.any(("again", "again", "now_say", "now_twice", "twice"))
        if way.startswith("now"):
            text = _some_text(draw)
        between = ", " if text[-1].isalnum() else " "
        said = f"{text}{between}{text}" if way.endswith("twice") else text
        exchanges.append(handed_back(draw, draw.ask(_ECHO[way], x=text), said, True))
        if way.endswith("twice"):
            break
    return exchanges


def _digits(draw: Draw) -> str:
    """Some digits, or numbers of several, side by side or apart; or numbers in words."""
    top, between = draw.any((9, 9, 99, 9999)), draw.any(("", " ", " ", "-", ", "))
    some = [str(draw.whole(0, top)) for _ in range(draw.whole(2, 9))]
    if draw.chance(0.25):
        first, between = draw.whole(0, 8), draw.any((" ", " ", ", "))
        some = draw.any((list(words.NUMBERS[first : first + draw.whole(2, 5)]), draw.rng.sample(words.NUMBERS[:20], 3)))
    return between.join(some[:1] * draw.whole(2, 5) if draw.chance(0.2) else some)


def _short_text(draw: Draw) -> str:
    """A word, a few, a number or a code."""
    return draw.any((word(draw), phrase(draw), draw.any(_ECHO["everyday"]), draw.any(_FIRST + tuple(ALPHABET)),
                     sentence(draw).rstrip("."), _refrain(draw), _mixed(draw), some_text(draw), draw.jumble(),
                     str(draw.whole(2, 9999)), _digits(draw), draw.own(lambda: code(draw))))  # fmt: skip


def _cry(draw: Draw) -> str:
    """Some short words as people call, sing or chant them: tick tock, hip hip hurray, go team."""
    short = (draw.any(words.WORDS), draw.nonsense(2, 4), draw.any(_CRIES), draw.any(_CRIES))
    return " ".join(draw.any(short) for _ in range(draw.any((2, 2, 3))))


def _times(draw: Draw) -> list[Exchange]:
    """A text several times over: numbered, so that none is lost, then as it is asked for."""
    text = draw.any(_REPEATED)(draw)
    count = draw.any(_COUNTS if len(text) < 14 else _COUNTS[:9])
    number = draw.any((words.spelled(count), count))
    often = draw.any(words.entries(_ECHO, f"often {count}" if count < 4 else "often")).format(k=number, n=count)
    way, (name, joint) = draw.any(_HOWS)
    how = draw.say(_ECHO[way], s=name, k=number)
    if not (alike := text[-1].isalnum()) or draw.chance(0.4):
        how, joint = "", ", " if alike else " "
    # How it is to look stands beside how often, or behind everything.
    ask = draw.asked(_ECHO, "times", x=in_quotes(draw, text), k=number, n=count, o=often + how * draw.chance(0.5))
    ask = ask if how in ask else ask.rstrip(".?!") + how
    said = joint.join([text] * count)
    if count == 2 and "\n" not in said:
        return [handed_back(draw, ask, said)]
    begun = "So\n" if "\n" in said else "So "
    return [exact(ask, f"{numbered([text] * count)}. {begun}{said}")]


_REPEATED: tuple[Callable[[Draw], str], ...] = (*[_short_text, some_word, phrase, _cry] * 2, word)


def _told(draw: Draw) -> list[Exchange]:
    """A name or a thing told and asked for at once, or a greeting for somebody."""
    (n, m), (thing, other) = draw.names(2), draw.rng.sample(_OWNED, 2)
    n = draw.any((n, n, f"{n} {m}", f"{draw.any(('Mr', 'Mrs', 'Ms', 'Dr', 'Mr.', 'Dr.'))} {n}"))
    way = draw.any(words.weighted(_ECHO, "ways of telling"))
    if way.startswith("greet"):
        said = draw.any(_GREETINGS) if way == "greet" else "hello"
        ask = draw.ask(_ECHO[way], g=said, n=n)
        return [Exchange(ask, f"{said.capitalize()}, {n}!", mentions(said, n), copied=(n,))]
    if way == "names":
        return [
            Exchange(
                draw.ask(_ECHO[way], n=n, c=draw.any(words.CITIES)), f"Your name is {n}.", mentions(n), copied=(n,)
            )
        ]
    value, second = (word(draw), word(draw)) if draw.chance(0.4) else (code(draw), n) if draw.chance(0.3) else (n, m)
    if way in ("told_it", "told_num", "told_answer", "mine", "both"):
        kind, number = draw.any(words.entries(_ECHO, "kinds of mine")), str(draw.whole(1, 999))
        value = held(draw, kind) if way == "mine" else draw.any((code, code, word, _digits))(draw)
        t = draw.any(parts.KINDS[kind] if way == "mine" else words.entries(_ECHO, "numbered"))
        ask = draw.ask(_ECHO[way], x=in_quotes(draw, value), y=in_quotes(draw, second), k=number, t=t)
        others = {"told_num": number, "told_answer": second, "both": f"{value}, {second}"}
        return [handed_back(draw, ask, others.get(way, value))]
    which, answer = (thing, value) if way == "told_then" or draw.chance(0.5) else (other, second)
    asks, told = [draw.ask(_ECHO[way], t=thing, u=other, x=in_quotes(draw, value), y=second, w=which)], ""
    if way == "told_before":
        both = draw.any((". ", ", ", " and ")).join((f"my {thing} is {value}", f"my {other} is {second}"))
        told = draw.any((both, f"my {which} is {answer}"))
        asks = [draw.ask(_ECHO[way], x=told), draw.ask(_ECHO["told_later"], y=which)]
    said = draw.say(_ECHO["noted"], x=told.replace("my ", "your "))
    noted = [Exchange(ask, said) for ask in asks[:-1]]
    return [*noted, Exchange(asks[-1], f"Your {which} is {answer}.", mentions(answer), bool(noted), (answer,))]


def echo(draw: Draw) -> list[Exchange]:
    """The user's text once more: words, made-up words, numbers, short sentences, quoted text."""
    return draw.any((*[_echo] * 10, *[_told] * 2, *[_times] * 4))(draw)


def _asked_of(draw: Draw) -> list[Exchange]:
    """A question about a sentence, answered in the sentence's own words."""
    values: dict[str, object] = {one: held(draw, kind) for one, kind in words.pairs(_ASKED_OF, "held")}
    values |= {name: draw.any(words.entries(_ASKED_OF, name)) for name in words.entries(_ASKED_OF, "pools")}
    for told, plain in words.pairs(_ASKED_OF, "verbs"):
        values[told], values[plain] = draw.any(words.pairs(_ASKED_OF, told))
    values |= zip("nmotw", (*draw.names(3), draw.any(words.OBJECTS), draw.nonsense().title()), strict=True)
    values |= zip("kl", draw.rng.sample(range(2, draw.any((20, 99, 9999))), 2), strict=True)
    if len(set(values.values())) < len(values):
        return _asked_of(draw)
    sentence, _, questions = draw.expand(draw.any(_ASKED_OF["told"])).partition(" => ")
    question, _, field = draw.any(questions.split(" / ")).partition(" = ")
    answer = str(values[field]) if field in values else field.format(**values)
    sentence, asked = sentence.format(**values), question.format(**values)
    shown = asked + draw.any(("?", ""))
    ask = draw.ask(_ASKED_OF["ask"], s=sentence, r=sentence.rstrip("."), q=shown, Q=words.upper_first(shown))
    return [user_words.worked(ask, f"Asked: {asked}. Text: {_where(sentence, asked, answer)}", answer)]


def _where(text: str, question: str, answer: str) -> str:
    """The part of the text that has the answer, and most of the question's words; the whole text where no part has."""
    clauses = [one.strip(' .!?"') for one in _CLAUSES.split(text)]
    held = [one for one in clauses if re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", one) and " " in one]
    asked = set(re.findall(r"\w+", question.lower()))
    return max(held or [text.strip(" .!?")], key=lambda one: len(asked & set(re.findall(r"\w+", one.lower()))))


def compose(draw: Draw) -> list[Exchange]:
    """One exercise."""
    ways = (_echo, _echo, _told, *[parts.part, parts.cut] * 5, *[edits.edited] * 15, *[_asked_of] * 7)
    return draw.any(ways)(draw)
