"""Parts of what the user typed: names, numbers, sentences and the like taken out of a text.

The reply says first what it gives, which settles what has to be looked for.
"""

from __future__ import annotations

from functools import partial

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.user_words import any_words, in_quotes, led, numbered, phrase, some_text, some_word, word, worked
from assets.recipe.words import read_wording

_ECHO, _WORDING = read_wording("text/echo"), read_wording("text/copying")
# What a text may hold: each has names, sentences that hold it, and questions.
KINDS = {name.removeprefix("kind "): words.entries(_WORDING, name) for name in _WORDING if "kind " in name}
_SIGNS = words.pairs(_WORDING, "signs")


def line(draw: Draw) -> str:
    """A line as people paste it: a sentence, an address, an order, some code, a date; or words of any sort."""
    style = draw.rng.random()
    if style < 0.2:
        some = [word(draw) for _ in range(draw.whole(2, 9))]
        return " ".join(some if style < 0.1 else draw.rng.sample(words.every_word(), draw.whole(3, 12)))
    return _filled(draw, _WORDING["sentence"] if style < 0.45 else _ECHO["line"])


def sentence(draw: Draw) -> str:
    """A sentence of this side of the split."""
    return draw.own(lambda: _filled(draw, _WORDING["sentence"]))


def _filled(draw: Draw, pool: tuple[str, ...], **own: str) -> str:
    """A line of the pool with everything in it drawn, but for what is given."""
    (n, m), (w, other), (job, second) = (
        draw.names(2), draw.rng.sample(words.every_word(), 2), draw.rng.sample(words.JOBS, 2)
    )  # fmt: skip
    say = partial(
        draw.say, pool, n=n, m=m, l=n.lower(), w=w, u=other, v=word(draw), x=draw.jumble(), k=draw.whole(2, 9999),
        s=draw.whole(2, 59), d=draw.whole(1, 9), e=draw.whole(10, 59), y=draw.whole(1800, 2030), h=draw.whole(1, 12),
        t=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS), c=draw.any(words.CITIES), f=draw.any(words.FOODS),
        a=draw.any(words.KINDS["days"]), b=draw.any(words.KINDS["months"]), z=draw.any(words.KINDS["seasons"]),
        j=job, i=second, o=draw.any(words.WORDS), q=draw.any(words.WORDS),
    )  # fmt: skip
    return say(**own)


def asked(draw: Draw, way: str, lead: str, done: str, **fields: object) -> list[Exchange]:
    """A question, and the part asked for behind what it is."""
    return [led(draw.asked(_WORDING, way, **fields), lead, done)]


def held(draw: Draw, kind: str) -> str:
    """Something of this kind, as texts have it."""
    if f"form {kind}" not in _WORDING:
        return draw.any(words.SORTS[kind])
    capitals, numbers = draw.nonsense(2, 6).upper(), [draw.whole(0, 255) for _ in range(4)]
    return draw.say(
        _WORDING[f"form {kind}"], n=(own := draw.name()), l=own.lower(), m=draw.name(), u=draw.nonsense(),
        U=draw.nonsense().title(), w=draw.any(words.every_word()), v=some_word(draw), q=draw.any(words.every_word()),
        x=draw.jumble(), C=capitals, A=capitals[:2], B=capitals[:3], Z=capitals[-1], i=".".join(map(str, numbers)),
        p=draw.whole(1, 100), d=draw.whole(1, 29), D=f"{draw.whole(1, 12):02}", o=f"{draw.whole(10, 28)}",
        b=draw.any(words.KINDS["months"]), y=draw.whole(1950, 2030), h=draw.whole(1, 12), H=draw.whole(0, 23),
        t=f"{draw.whole(0, 59):02}", k=draw.whole(2, 9999), s=draw.whole(2, 99), e=draw.whole(100, 999),
        f=draw.whole(1000, 9999), g=draw.whole(10000, 99999),
    )  # fmt: skip


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
    values = [held(draw, kind) if kind else word(draw) for kind in kinds]
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
    return asked(draw, f"{which}_sentence", f"The {which} sentence", told[at], x=" ".join(told))


def _enclosed(draw: Draw) -> list[Exchange]:
    """The part in quotes or brackets, or the text without it; or what stands between two other signs."""
    part, name = draw.any((phrase, some_text, word))(draw), draw.any(("quotes", "brackets"))
    part += f" {code(draw)}" if draw.chance(0.2) else ""
    signs, way = draw.any(("({})", "({})", "[{}]") if name == "brackets" else ('"{}"', "'{}'")), f"in_{name}"
    if draw.chance(0.2):
        (name, sign), way = draw.any(words.pairs(_WORDING, "signs at both sides")), "in_signs"
        signs = f"{sign}{{}}{sign}"
    before, after = draw.any((("", ""), (f"{some_text(draw)} ", f" {some_text(draw)}"), (f"{some_text(draw)} ", "")))
    x = before + signs.format(part) + after
    if draw.chance(0.6):
        x = _filled(draw, _WORDING["around quotes" if way == "in_quotes" else "around brackets"], p=signs.format(part))
    left = " ".join(x.replace(signs.format(part), "").split())
    if name == "brackets" and left and draw.chance(0.4):
        return asked(draw, "no_brackets", f"Without {signs.format(part)}", left, x=x)
    return asked(draw, way, f"{'Between' if way == 'in_signs' else 'In'} {name}", part, x=x, y=name)


def cut(draw: Draw) -> list[Exchange]:
    """The part before or after a sign or a word; a text's first or last words; a file name's two parts."""
    way = draw.any(words.weighted(_WORDING, "ways to cut"))  # fmt: skip
    if way in ("extension", "stem", "file_of"):
        stem = some_word(draw) + draw.any(("", "", f"_{draw.whole(1, 99)}", f".{some_word(draw)}", f"-{word(draw)}"))
        end = draw.any((*words.entries(_WORDING, "file endings"), draw.nonsense(2, 4)))
        folder = draw.say(_WORDING["folder"], w=some_word(draw), v=draw.nonsense(), n=draw.name())
        lead, x, done = {
            "extension": ("The ending", f"{stem}.{end}", end), "stem": (f"Without {end}", f"{stem}.{end}", stem),
            "file_of": ("After the last slash", f"{folder}{stem}.{end}", f"{stem}.{end}"),
        }[way]  # fmt: skip
        return asked(draw, way, lead, done, x=in_quotes(draw, x))
    if way.endswith("sign"):
        name, sign = draw.any(_SIGNS)
        left, right = (draw.any((phrase, some_text, word))(draw) for _ in range(2))
        right = ", ".join(any_words(draw, 2, 4)) if sign[0] != "," and draw.chance(0.25) else right
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
        return asked(draw, way, lead, done, x=draw.any((x, x, f'"{x}"')), y=name)
    some = sentence(draw).rstrip(".!?").split() if draw.chance(0.6) else any_words(draw, 3, 8)
    if not 2 < len(some) == len(set(some)) or any(not one[-1].isalnum() for one in some):
        return cut(draw)
    k, at = draw.whole(2, min(4, len(some) - 1)), draw.whole(1, len(some) - 2)
    x = " ".join(some)
    picked = {"after_word": some[at + 1 :], "before_word": some[:at], "first_word": some[:1], "last_word": some[-1:],
              "outer_words": [some[0], some[-1]],
              "next_word": some[at + 1 : at + 2], "previous_word": some[at - 1 : at],
              "first_words": some[:k], "last_words": some[-k:], "nth_word": some[at : at + 1]}[way]  # fmt: skip
    ask = draw.asked(_WORDING, way, x=draw.any((x, x, f'"{x}"', f"{x}.")), y=in_quotes(draw, some[at]),
                   p=words.ORDINALS[min(at + 1, 12)], k=draw.any((k, words.spelled(k))))  # fmt: skip
    if way == "nth_word":
        return [worked(ask, f"Word {at + 1}: {numbered(some[: at + 1])}", some[at])] if at < 12 else cut(draw)
    if way in ("first_words", "last_words"):
        # The last ones from the end on, as one has to count them.
        counted = numbered(picked if way == "first_words" else picked[::-1])
        return [worked(ask, f"The {way[:-6]} {k}: {counted}", " ".join(picked))]
    leads = {"after_word": f"After {some[at]}", "before_word": f"Before {some[at]}",
             "next_word": f"Right after {some[at]}", "previous_word": f"Right before {some[at]}"}  # fmt: skip
    return [led(ask, leads.get(way, f"The {way.replace('_', ' ')}"), " ".join(picked))]
