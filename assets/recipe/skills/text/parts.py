"""Parts of what the user typed: names, sentences and the like taken out of a text; its signs and digits changed.

The reply says first what it gives, which settles what has to be looked for.
"""

from __future__ import annotations

import re
from functools import partial

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording

_ECHO, _WORDING = read_wording("text/echo"), read_wording("text/copying")
# What a text may hold: each has names, sentences that hold it, and questions.
KINDS = {name.removeprefix("kind "): words.entries(_WORDING, name) for name in _WORDING if "kind " in name}
_SIGNS, _NAMED, _INTO, _GONE = (words.pairs(_WORDING, name) for name in ("signs", "one sign", "into", "signs gone"))
# Words that stand between others.
SMALL = words.entries(_WORDING, "small")


def line(draw: Draw) -> str:
    """A line as people paste it: a sentence, an address, an order, some code, a date; or words of any sort."""
    style = draw.rng.random()
    if style < 0.2:
        some = [given.word(draw) for _ in range(draw.whole(2, 9))]
        return " ".join(some if style < 0.1 else draw.rng.sample(words.every_word(), draw.whole(3, 12)))
    return _filled(draw, _WORDING["sentence"] if style < 0.45 else _ECHO["line"])


def sentence(draw: Draw) -> str:
    """A sentence of this side of the split."""
    return draw.own(lambda: _filled(draw, _WORDING["sentence"]))


def _filled(draw: Draw, pool: tuple[str, ...], **own: str) -> str:
    """A line of the pool with everything in it drawn, but for what is given."""
    (n, m), (w, u), (j, i) = draw.names(2), draw.rng.sample(words.every_word(), 2), draw.rng.sample(words.JOBS, 2)
    capitals = draw.nonsense(2, 6).upper()
    say = partial(
        draw.say, pool, n=n, m=m, l=n.lower(), w=w, u=u, v=given.word(draw), x=draw.jumble(), k=draw.whole(2, 9999),
        s=draw.whole(2, 59), d=draw.whole(1, 9), e=draw.whole(10, 59), y=draw.whole(1800, 2030), h=draw.whole(1, 12),
        t=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS), c=draw.any(words.CITIES), f=draw.any(words.FOODS),
        a=draw.any(words.KINDS["days"]), b=draw.any(words.KINDS["months"]), z=draw.any(words.KINDS["seasons"]),
        j=j, i=i, o=draw.any(words.WORDS), q=draw.any(words.WORDS), N=draw.nonsense(), U=draw.nonsense().title(),
        C=capitals, A=capitals[:2], B=capitals[:3], Z=capitals[-1],
        I=".".join(str(draw.whole(0, 255)) for _ in "four"), S=draw.whole(1, 29), D=f"{draw.whole(1, 12):02}",
        M=draw.whole(10, 28), H=draw.whole(0, 23), T=f"{draw.whole(0, 59):02}", E=draw.whole(100, 999),
        F=draw.whole(1000, 9999), G=draw.whole(10000, 99999),
    )  # fmt: skip
    return say(**own)


def asked(draw: Draw, way: str, lead: str, done: str, **fields: object) -> list[Exchange]:
    """A question, and the part asked for behind what it is."""
    return [given.led(draw.asked(_WORDING, way, **fields), lead, done)]


def held(draw: Draw, kind: str) -> str:
    """Something of this kind, as texts have it."""
    return _filled(draw, form) if (form := _WORDING.get(f"form {kind}")) else draw.any(words.SORTS[kind])


def in_sentence(draw: Draw, kind: str, part: str) -> str:
    """A sentence with this in it, which is of this kind."""
    own = _WORDING.get(f"in {kind}") or _WORDING["in sort"]
    return _filled(draw, own if draw.chance(0.75) else _WORDING["around"], p=part)


def code(draw: Draw) -> str:
    """A code as orders, flights and rooms have it."""
    return held(draw, "code")


def part(draw: Draw) -> list[Exchange]:
    """One part of a text: a name, an address, a sum and the like; a sentence; what stands in quotes or brackets."""
    kind = draw.any((*KINDS, *["name", "email", "phone", "date", "sum"] * 2))
    if draw.chance(0.4):
        return draw.any((_enclosed, _enclosed, _of_several, _labelled, _labelled))(draw)
    part = held(draw, kind)
    x = in_sentence(draw, kind, part)
    if draw.chance(0.25):
        x = draw.any((f"{draw.say(_WORDING['neutral'])} {x}", f"{x.rstrip('.!')}. {draw.say(_WORDING['neutral'])}"))
    way = kind if kind in _WORDING and draw.chance(0.35) else "extract"
    k = draw.any(KINDS[kind])
    return asked(draw, way, f"The {k if way == 'extract' else KINDS[kind][0]}", part, x=x, k=k)


def _labelled(draw: Draw) -> list[Exchange]:
    """One of the values of a form or a row, each behind its label."""
    labels = draw.rng.sample(words.entries(_WORDING, "labels"), draw.whole(2, 4))
    kinds = [own if (own := label.lower()) in KINDS else draw.any(("name", "code", "", "number")) for label in labels]
    values = [held(draw, kind) if kind else given.word(draw) for kind in kinds]
    sign, between = draw.any((": ", ": ", "=", " = ", " - ", " ")), draw.any((", ", ", ", "; ", "\n", " | ", " ", ". "))
    x = between.join(label + sign + value for label, value in zip(labels, values, strict=True))
    at = draw.whole(0, len(labels) - 1)
    k = draw.any((labels[at], labels[at].lower()))
    return asked(draw, "extract", f"The {k}", values[at], x=x, k=k)


def _of_several(draw: Draw) -> list[Exchange]:
    """One of a text's sentences, or of its lines."""
    told = [sentence(draw) if draw.chance(0.7) else draw.say(_WORDING["neutral"]) for _ in range(draw.whole(2, 4))]
    told = [one if one[-1] in ".!?" else f"{one}." for one in told]
    at, which = draw.any(((0, "first"), (0, "first"), (-1, "last"), (1, "second")))
    if draw.chance(0.4):
        told = told if draw.chance(0.4) else [line(draw) for _ in told]
        return asked(draw, "nth_line", f"The {which} line", told[at], x="\n".join(told), p=which)
    if draw.chance(0.3) and told.count(told[at]) == 1:
        left = " ".join(one for one in told if one != told[at])
        return asked(draw, "no_end", f"Without the {which} sentence", left, x=" ".join(told), p=f"{which} sentence")
    return asked(draw, f"{which}_sentence", f"The {which} sentence", told[at], x=" ".join(told))


def _enclosed(draw: Draw) -> list[Exchange]:
    """The part in quotes or brackets, or the text without it; or what stands between two other signs."""
    part, name = draw.any((given.phrase, given.some_text, given.word))(draw), draw.any(("quotes", "brackets"))
    part += f" {code(draw)}" if draw.chance(0.2) else ""
    signs, way = draw.any(("({})", "({})", "[{}]") if name == "brackets" else ('"{}"', "'{}'")), f"in_{name}"
    if draw.chance(0.2):
        (name, sign), way = draw.any(words.pairs(_WORDING, "signs at both sides")), "in_signs"
        signs = f"{sign}{{}}{sign}"
    one, other = given.some_text(draw), given.some_text(draw)
    before, after = draw.any((("", ""), (f"{one} ", f" {other}"), (f"{one} ", "")))
    x = before + signs.format(part) + after
    if draw.chance(0.6):
        x = _filled(draw, _WORDING["around quotes" if way == "in_quotes" else "around brackets"], p=signs.format(part))
    left = " ".join(x.replace(signs.format(part), "").split())
    if name == "brackets" and left and draw.chance(0.4):
        return asked(draw, "no_brackets", f"Without {signs.format(part)}", left, x=x)
    return asked(draw, way, f"{'Between' if way == 'in_signs' else 'In'} {name}", part, x=x, y=name)


def cut(draw: Draw) -> list[Exchange]:
    """The part before or after a sign or a word; a text's first or last words; a file name's two parts."""
    way = draw.any(words.weighted(_WORDING, "ways to cut"))
    if way in ("extension", "stem", "file_of"):
        x = held(draw, "path" if way == "file_of" else "file")
        stem, _, end = x.rpartition(".")
        lead, done = {"extension": ("The ending", end), "stem": (f"Without {end}", stem),
                      "file_of": ("After the last slash", x.rpartition("/")[2])}[way]  # fmt: skip
        return asked(draw, way, lead, done, x=given.in_quotes(draw, x))
    if way.endswith("sign"):
        name, sign = draw.any(_SIGNS)
        left, right = (draw.any((given.phrase, given.some_text, given.word))(draw) for _ in range(2))
        right = ", ".join(given.any_words(draw, 2, 4)) if sign[0] != "," and draw.chance(0.25) else right
        if sign == "@":
            left, _, right = held(draw, "email").partition(sign)
        if sign[0] in ":=" and draw.chance(0.6):
            left = draw.any(words.entries(_WORDING, "labels"))
            right = draw.any((right, right.title(), sentence(draw).rstrip("."), held(draw, draw.any(tuple(KINDS)))))
        x = f"{left}{sign}{right}"
        if x.count(sign.strip()) > 1:
            return cut(draw)
        done = left if way == "before_sign" else right
        lead = f"{'Before' if way == 'before_sign' else 'After'} the {name}"
        way = f"{way} of address" if sign == "@" and draw.chance(0.4) else way
        return asked(draw, way, lead, done, x=draw.any((x, x, f'"{x}"')), y=name)
    some = sentence(draw).rstrip(".!?").split() if draw.chance(0.6) else given.any_words(draw, 3, 8)
    if not 2 < len(some) == len(set(some)) or any(not one[-1].isalnum() for one in some):
        return cut(draw)
    k, at = draw.whole(2, min(4, len(some) - 1)), draw.whole(1, min(len(some) - 2, 11))
    x = " ".join(some)
    picked = {"after_word": some[at + 1 :], "before_word": some[:at], "first_word": some[:1], "last_word": some[-1:],
              "next_word": some[at + 1 : at + 2], "previous_word": some[at - 1 : at],
              "outer_words": some[:: len(some) - 1], "first_words": some[:k], "last_words": some[-k:],
              "nth_word": some[at : at + 1]}[way]  # fmt: skip
    ask = draw.asked(_WORDING, way, x=draw.any((x, x, f'"{x}"', f"{x}.")), y=given.in_quotes(draw, some[at]),
                   p=words.ORDINALS[at + 1], k=draw.any((k, words.spelled(k))))  # fmt: skip
    if way == "nth_word":
        return [given.worked(ask, f"Word {at + 1}: {given.numbered(some[: at + 1])}", some[at])]
    if way in ("first_words", "last_words"):
        # The last ones from the end on, as one has to count them.
        counted = given.numbered(picked if way == "first_words" else picked[::-1])
        return [given.worked(ask, f"The {way[:-6]} {k}: {counted}", " ".join(picked))]
    lead = dict(words.pairs(_WORDING, "leads")).get(way, f"The {way.replace('_', ' ')}")
    return [given.led(ask, lead.format(some[at]), " ".join(picked))]


def _with_signs(draw: Draw, signs: str) -> str:
    """Items with one of the signs between them, or what has signs of its own: a date, an address, a code."""
    if draw.chance(0.5):
        sign = draw.any(signs)
        items = given.small_items(draw)
        if sign == "," and len(items) > 2 and draw.chance(0.3):
            return f"{', '.join(items[:-1])}{draw.any((',', ''))} {draw.any(('and', 'or'))} {items[-1]}"
        return (f"{sign} " if sign in "!?" or (sign in ",;:" and draw.chance(0.6)) else sign).join(items)
    kind = draw.any(words.weighted(_WORDING, "kinds with signs"))
    return in_sentence(draw, kind, held(draw, kind)) if draw.chance(0.25) else held(draw, kind)


def every(draw: Draw) -> list[Exchange]:
    """Every digit of one kind, or sign, for another; a sign is told by its name or as it is."""
    if draw.chance(0.3):
        y, z = draw.rng.sample("0123456789", 2)
        numbers = [str(draw.whole(1, draw.any((99, 99, 999, 99999)))) for _ in range(draw.whole(1, 6))]
        x = draw.any((" ", " ", ", ")).join(f"{one}{y}" if draw.chance(0.4) else one for one in numbers) + y
        if draw.chance(0.25):
            z = draw.any(words.entries(_WORDING, "instead of digits"))
            x = draw.any((f"{draw.any(words.WORDS)} {numbers[0]}", numbers[0], in_sentence(draw, "code", numbers[0])))
            lead = ", ".join(f"{one} -> {z * len(one)}" for one in re.findall(r"\d+", x))
            return asked(draw, "swap_all", lead, re.sub(r"\d", z, x), x=x, y="digit", z=z)
        return asked(draw, "swap_all", f"{y} -> {z}", x.replace(y, z), x=x, y=y, z=z)
    name, sign = draw.any(_NAMED)
    other, new = draw.any((*_INTO, *_NAMED))
    x = _with_signs(draw, sign)
    if worded := new.strip().isalpha():
        x = draw.any((x, x.replace(sign, f" {sign} ")))
    if sign not in x or sign == new or (new in x and new != " "):
        return every(draw)
    done, lead = " ".join(x.replace(sign, new).split()), f"{sign} -> {new.strip() or other}"
    if not worded and draw.chance(0.4):
        y, z = (f"{one}{'es' if one.endswith('sh') else 's'}" for one in (name, other))
        return asked(draw, "swap_signs", lead, done, x=x, y=y, z=z)
    y, z = draw.any((name, sign, f'"{sign}"')), other if worded else draw.any((other, words.article(other)))
    z = draw.any((new.strip(), f'"{new.strip()}"')) if new != " " and (y != name or draw.chance(0.3)) else z
    return asked(draw, "swap_all", lead, done, x=x, y=y, z=z)


def unsigned(draw: Draw) -> list[Exchange]:
    """A text without its signs: those after words, between the items of a list, or within numbers and words."""
    name, gone = draw.any(_GONE)
    style, end = draw.rng.random(), draw.any(("", "", ".", ".", ".", "!", "?"))
    if style < 0.6 and gone[0] not in '"(':
        text = _with_signs(draw, gone)
    else:
        text = sentence(draw).rstrip(".!?") + end
        text += f" {sentence(draw)}" if end and draw.chance(0.4) else ""
        some, put = text.split(), {'"': '"{}"', "(": "({})", "#": "#{}", "*": "*{}*"}.get(gone[0], "{}")
        for at in draw.rng.sample(range(len(some)), min(len(some), draw.any((1, 1, 2, 3)))):
            some[at] = put.format(some[at]) + (draw.any(gone) if put == "{}" else "")
        text = " ".join(some)
    done = " ".join(text.translate({ord(one): None for one in gone}).split())
    if done == text or not done:
        return unsigned(draw)
    y = name.removesuffix("s") if len(gone) == 1 and text.count(gone) == 1 and draw.chance(0.7) else name
    return asked(draw, "strip_signs", f"Without {y}", done, x=text, y=y)


def digits(draw: Draw) -> list[Exchange]:
    """A text without its numbers or digits; or its numbers alone, or the digits of one that has them among letters."""
    style, joint = draw.rng.random(), draw.any(("", " "))
    if style < 0.65:
        some = sentence(draw).rstrip(".!?").split() if draw.chance(0.4) else given.any_words(draw, 1, 4)
        numbers = []
        for at in sorted(draw.rng.sample(range(len(some)), min(len(some), draw.whole(1, 3)))):
            numbers.append(str(draw.whole(1, draw.any((9, 99, 9999)))))
            some[at] += f"{joint}{numbers[-1]}"
        x = (" " if "," in "".join(some) else draw.any((" ", " ", ", "))).join(some)
        if style < 0.25 and joint and re.findall(r"\d+", x) == numbers:
            return asked(draw, "only_numbers", "The numbers", ", ".join(numbers), x=x)
        done = " ".join(re.sub(r"\d", "", x).replace(" ,", ",").split())
        return asked(draw, draw.any(("no_numbers", "no_digits")), "Without digits", done, x=x) if done else digits(draw)
    own = draw.any(([*draw.nonsense(2, 6)], [*draw.any(words.WORDS)], [draw.any(words.WORDS), draw.nonsense(2, 6)]))
    own += [str(draw.whole(0, draw.any((9, 9, 99)))) for _ in own[: draw.whole(1, 4)]]
    text = "".join(draw.rng.sample(own, len(own)))
    way = draw.any(("no_digits", "only_digits"))
    done = "".join(one for one in text if one.isdigit() == (way == "only_digits"))
    # First all of them one by one, so that no word is torn.
    return [exact(draw.asked(_WORDING, way, x=text), f"{given.spaced(text)}, {given.spaced(done)}: {done}")]


def unspaced(draw: Draw) -> list[Exchange]:
    """A text with a sign in the place of each space, or nothing: as one name, letter by letter."""
    some = given.small_items(draw) if draw.chance(0.6) else sentence(draw).rstrip(".!?").split()[:5]
    if draw.chance(0.45):
        some = f"{' '.join(some[:-1])} {draw.any(SMALL)} {some[-1]}".split()
    name, sign = draw.any(words.pairs(_WORDING, "signs for spaces"))
    way = draw.any(("no_spaces", "spaces", "spaces", "spaces", "between" if sign else "no_spaces"))
    done = ("" if way == "no_spaces" else sign).join(" ".join(some).split())
    return [given.as_one(draw.asked(_WORDING, way, x=" ".join(some), z=name), done)]
