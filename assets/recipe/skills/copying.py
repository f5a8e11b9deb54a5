"""Copying: whatever the user typed comes back, whole or in part, now or when it is asked for.

A model this small learns names and words by heart unless most of what it copies was never said before.
"""

from __future__ import annotations

import re
from functools import partial

from assets.recipe import words
from assets.recipe.conversation import Exchange, mentions
from assets.recipe.draw import Draw
from assets.recipe.user_words import any_words, handed_back, in_quotes, phrase, some_text, some_word, word
from assets.recipe.words import read_wording

_ECHO, _WORDING, _ASKED_OF = read_wording("echo"), read_wording("copying"), read_wording("asked_of")
_SMALL = tuple(_WORDING["small"][0].split())
_OWNED, _GREETINGS = (tuple(_WORDING[name][0].split(" / ")) for name in ("owned", "greetings"))
_CODES = ("ip", "time", "date", "path", "day", "name", "sum", "code", "code")
_PARTS = ("email", "last_sentence", "first_sentence", "number_in")
_GAPS = (*[" "] * 9, ", ", "; ", ". ", " - ", ": ", " & ")


def _line(draw: Draw) -> str:
    """A line as people paste it: a sentence, an address, an order, some code, a date; or words of any sort."""
    style = draw.rng.random()
    if style < 0.2:
        some = [word(draw) for _ in range(draw.whole(2, 9))]
        return " ".join(some if style < 0.1 else draw.rng.sample(words.every_word(), draw.whole(3, 12)))
    (n, m), (w, other), (job, second) = (
        draw.names(2), draw.rng.sample(words.every_word(), 2), draw.rng.sample(words.JOBS, 2)
    )  # fmt: skip
    return draw.say(
        _ECHO["line"], n=n, m=m, l=n.lower(), w=w, u=other, v=word(draw), x=draw.jumble(), k=draw.whole(2, 9999),
        s=draw.whole(2, 59), d=draw.whole(1, 9), e=draw.whole(10, 59), y=draw.whole(1800, 2030), h=draw.whole(1, 12),
        t=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS), c=draw.any(words.CITIES), f=draw.any(words.FOODS),
        a=draw.any(words.KINDS["days"]), b=draw.any(words.KINDS["months"]), z=draw.any(words.KINDS["seasons"]),
        j=job, i=second, o=draw.any(words.WORDS), q=draw.any(words.WORDS),
    )  # fmt: skip


def _some_text(draw: Draw) -> str:
    """A few words, a line, or what people first try; sometimes with a number, sometimes in quotes."""
    style = draw.rng.random()
    if style < 0.45:
        pieces = any_words(draw, 1, 3 if style < 0.25 else 9)
        if draw.chance(0.2):
            pieces.insert(draw.whole(0, len(pieces)), str(draw.whole(1, 9999)))
        text = draw.any((" ", " ", ", ")).join(pieces)
    else:
        text = draw.own(lambda: _line(draw)) if style < 0.92 else draw.any(_ECHO["everyday"])
    return f'"{text}"' if draw.chance(0.25) and '"' not in text else text


def _echo(draw: Draw) -> list[Exchange]:
    """Text to be said once more, and again."""
    text = _some_text(draw)
    # Only what has no full stop of its own fits inside a sentence.
    way = "echo_words" if text[-1] not in ".!?" and draw.chance(0.3) else "echo"
    exchanges = [handed_back(draw, draw.asked(_ECHO, way, x=text), text)]
    while draw.chance(0.35) and len(exchanges) < 3:
        way = draw.any(("again", "again", "now_say", "again" if "," in text else "twice"))
        fields = {"x": (text := _some_text(draw))} if way == "now_say" else {}
        again = f"{text} {text}" if way == "twice" else text
        exchanges.append(handed_back(draw, draw.ask(_ECHO[way], **fields), again, True))
        if way == "twice":
            break
    return exchanges


def _digits(draw: Draw) -> str:
    """Some digits, or numbers of several, side by side or apart."""
    top, between = draw.any((9, 9, 99, 9999)), draw.any(("", " ", " ", "-", ", "))
    return between.join(str(draw.whole(0, top)) for _ in range(draw.whole(2, 9)))


def _alone(draw: Draw) -> list[Exchange]:
    """A text that alone is to be answered, once or several times, or in capitals."""
    text = draw.any((word(draw), phrase(draw), some_text(draw), str(draw.whole(2, 9999)), draw.jumble(), _digits(draw),
                     draw.own(lambda: _code(draw))))  # fmt: skip
    way = draw.any(("alone", "alone", "alone", "times", "times", "shouted"))
    if way != "times":
        done = text.upper() if way == "shouted" else text
        return [handed_back(draw, draw.ask(_ECHO[way], x=in_quotes(draw, text)), done)]
    count = draw.any((2, 2, 3, 3, 4, 5, 6))
    often = {2: "twice", 3: "three times"}.get(count, f"{count} times")
    ask = draw.asked(_ECHO, way, x=in_quotes(draw, text), k=draw.any((words.spelled(count), count)), o=often)
    return [handed_back(draw, ask, ", ".join([text] * count))]


def _told(draw: Draw) -> list[Exchange]:
    """A name or a thing told and asked for at once, or a greeting for somebody."""
    (n, m), (thing, other) = draw.names(2), draw.rng.sample(_OWNED, 2)
    way = draw.any(("told_then", "told_two", "names", "greet", "greet"))
    if way == "greet":
        said = draw.any(_GREETINGS)
        reply = f"{said.capitalize()}, {n}!"
        return [Exchange(draw.ask(_ECHO[way], g=said, n=n), reply, mentions(said, n), copied=(n,))]
    if way == "names":
        return [Exchange(draw.ask(_ECHO[way], n=n), f"Your name is {n}.", mentions(n), copied=(n,))]
    value, second = (word(draw), word(draw)) if draw.chance(0.4) else (_code(draw), n) if draw.chance(0.3) else (n, m)
    which, answer = (thing, value) if way == "told_then" or draw.chance(0.5) else (other, second)
    ask = draw.ask(_ECHO[way], t=thing, u=other, x=in_quotes(draw, value), y=second, w=which)
    return [Exchange(ask, f"Your {which} is {answer}.", mentions(answer), copied=(answer,))]


def echo(draw: Draw) -> list[Exchange]:
    """The user's text once more: words, made-up words, numbers, short sentences, quoted text."""
    return draw.any((*[_echo] * 5, *[_alone] * 4, *[_told] * 3))(draw)


def _asked(draw: Draw, way: str, done: str, **fields: object) -> list[Exchange]:
    return [handed_back(draw, draw.ask(_WORDING[way], **fields), done)]


def _long(draw: Draw) -> list[Exchange]:
    """Many words of all sorts, some of them several times."""
    most = draw.any((26, 12, 8))
    make = [draw.jumble if most == 8 else partial(word, draw)] * 4 + [partial(draw.any, _SMALL)]
    items = [draw.any(make)() for _ in range(draw.whole(2, most))]
    between = draw.any((_GAPS, (" ",), (", ",), ("\n",)) if most > 8 else ((" ",), ("",), (": ",)))
    text = items[0] + "".join(draw.any(between) + item for item in items[1:]) + draw.any(("", "", "", "!", "?"))
    exchanges = _asked(draw, "repeat", text, x=text)
    if len(text) < 120 and draw.chance(0.3):
        exchanges.append(handed_back(draw, draw.ask(_WORDING["again"]), text, True))
    return exchanges


def _code(draw: Draw) -> str:
    """A code as orders, flights and rooms have it."""
    capitals = draw.nonsense(2, 6).upper()
    return draw.any((
        f"{capitals[:2]}{draw.whole(1, 9999)}", f"{capitals}-{draw.whole(1, 999)}", f"{capitals}_{draw.whole(1, 99)}",
        f"{capitals[:3]}-{draw.whole(1, 99)}-{capitals[-1]}", f"{draw.whole(10, 999)}-{capitals}",
        f"{draw.nonsense(3, 7)}{draw.any('!#*_.')}{draw.whole(1, 99)}", f"#{draw.whole(100, 99999)}",
    ))  # fmt: skip


def _part(draw: Draw) -> list[Exchange]:
    """One part of a text: what stands in quotes or brackets, an address, a sentence, a number."""
    way = draw.any((*["in_quotes", "in_brackets", *_CODES] * 2, *_PARTS))
    some, part = [some_text(draw) for _ in range(3)], draw.any((phrase(draw), some_text(draw), word(draw)))
    if way == "email":
        end = draw.any(("com", "org", "example", "net"))
        part = f"{draw.name().lower()}@{draw.any(words.every_word())}.{end}"
        x = draw.any((f"Write to {part} {some[0]}.", f"{some[0]} {part} {some[1]}", f"Mail {part}, {some[0]}"))
    elif way in _CODES:
        n, (month, day) = draw.rng.randrange, (draw.any(words.KINDS[kind]) for kind in ("months", "days"))
        part = draw.any({
            "ip": (f"{n(256)}.{n(256)}.{n(256)}.{n(256)}",), "time": (f"{n(24)}:{n(60):02}", f"{n(1, 12)} o'clock"),
            "date": (f"{n(1, 31)} {month}", f"{month} {n(1, 31)}", f"{n(1990, 2030)}-{n(1, 13):02}-{n(1, 29):02}"),
            "path": (f"/{some_word(draw)}/{some_word(draw)}.{draw.any(('py', 'log', 'txt', 'gz', 'sh'))}",),
            "day": (day,), "name": (draw.name(),), "code": (_code(draw), draw.jumble()),
            "sum": (f"${n(2, 900)}", f"{n(2, 900)} euros", f"{n(2, 99)}.50 dollars"),
        }[way])  # fmt: skip
        x = draw.say(_WORDING["around"], p=part, w=some[0], v=some[1])
    elif way == "number_in":
        part = str(draw.whole(2, 9999))
        x = f"{some[0]} {part} {some[1]}"
    elif way in ("last_sentence", "first_sentence"):
        told = [one[0].upper() + one[1:] for one in some[: draw.whole(2, 3)]]
        x, part = ". ".join(told) + ".", told[-1 if way == "last_sentence" else 0]
    else:
        signs = "({})" if way == "in_brackets" else draw.any(('"{}"', "'{}'"))
        before, after = draw.any((("", ""), (some[0] + " ", " " + some[1]), (some[0] + " ", "")))
        x = before + signs.format(part) + after
    return _asked(draw, way, part, x=x)


def _swapped(draw: Draw) -> list[Exchange]:
    """One word of a text for another, or left out; or a gap filled."""
    items = [*any_words(draw, 2, 6), *([draw.any(_SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    gone, new, between = draw.any(items), word(draw), draw.any((" ", " ", ", "))
    if draw.chance(0.3):
        items = draw.own(lambda: _line(draw)).split()
        gone = draw.any([bare for item in items if (bare := item.strip(",.!?:;\"'"))])
    way = draw.any(("swap", "swap", "swap", "omit", "gap"))
    text, whole = between.join(items), re.compile(rf"(?<!\w){re.escape(gone)}(?!\w)")
    if way == "omit":
        done = between.join(item for item in items if item.strip(",.!?:;\"'") != gone)
        return _asked(draw, way, done, x=text, y=in_quotes(draw, gone)) if done else _swapped(draw)
    if way == "gap":
        blank = draw.any(("____", "___", "...", "(gap)"))
        x, done = (whole.sub(one, text, count=1) for one in (blank, new))
        return _asked(draw, way, done, x=x, z=in_quotes(draw, new))
    return _asked(draw, way, whole.sub(new, text), x=text, y=in_quotes(draw, gone), z=in_quotes(draw, new))


def _asked_of(draw: Draw) -> list[Exchange]:
    """A question about a sentence, answered in the sentence's own words."""
    (n, m, o), (p, t) = draw.names(3), (draw.any(words.ANIMALS), draw.any(words.OBJECTS))
    (f, g), (b, h) = draw.rng.sample(words.FOODS, 2), draw.rng.sample(words.COLOURS, 2)
    (d, e), (k, i) = draw.rng.sample(words.KINDS["days"], 2), draw.rng.sample(range(2, draw.any((20, 99, 9999))), 2)
    values: dict[str, object] = {
        "n": n, "m": m, "o": o, "p": p, "t": t, "f": f, "g": g, "b": b, "h": h, "d": d, "e": e, "k": k, "l": i,
        "c": draw.any((draw.any(words.CITIES), draw.nonsense().title())), "j": draw.any(words.JOBS),
        "w": draw.nonsense().title(), "x": draw.own(lambda: _code(draw)),
        **{name: draw.any(_ASKED_OF[name][0].split()) for name in "yuz"},
    }  # fmt: skip
    sentence, _, questions = draw.expand(draw.any(_ASKED_OF["told"])).partition(" => ")
    question, _, field = draw.any(questions.split(" / ")).partition(" = ")
    answer = str(values[field]) if field in values else field.format(**values)
    ask = draw.ask(_ASKED_OF["ask"], s=sentence.format(**values), q=question.format(**values) + draw.any(("?", "")))
    return [handed_back(draw, ask, answer)]


def _remembered(draw: Draw) -> list[Exchange]:
    """Facts told first and asked for later."""
    facts = {key: word(draw) for key in draw.rng.sample(_WORDING["facts"], draw.whole(1, 3))}
    told = draw.any((". ", ", ", " and ")).join(f"my {key} is {value}" for key, value in facts.items())
    noted = draw.ask(_WORDING["told"], x=told), draw.say(_WORDING["noted"], x=told.replace("my ", "your "))
    return [Exchange(*noted)] + [
        Exchange(draw.ask(_WORDING["fact"], y=key), f"Your {key} is {value}.", mentions(value), True)
        for key, value in draw.rng.sample(list(facts.items()), draw.whole(1, len(facts)))
    ]


def compose(draw: Draw) -> list[Exchange]:
    """One exercise."""
    return draw.any((*[_long] * 6, *[_part, _swapped, _asked_of] * 3, *[_remembered] * 2))(draw)
