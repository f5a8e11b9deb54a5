"""The signs and digits of a text: one kind of them for another, left out, kept alone, put where the spaces are."""

from __future__ import annotations

import re

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.text.parts import asked, held, in_sentence, sentence
from assets.recipe.user_words import any_words, as_one, small_items
from assets.recipe.words import read_wording

_WORDING = read_wording("text/copying")
# Words that stand between others.
SMALL = words.entries(_WORDING, "small")
_SIGNS, _GONE = words.pairs(_WORDING, "one sign"), words.pairs(_WORDING, "signs gone")


def _with_signs(draw: Draw, signs: str) -> str:
    """Items with one of the signs between them, or what has signs of its own: a date, an address, a code."""
    if draw.chance(0.5):
        sign = draw.any(signs)
        return (f"{sign} " if sign in "!?" or (sign in ",;:" and draw.chance(0.6)) else sign).join(small_items(draw))
    kind = draw.any(words.weighted(_WORDING, "kinds with signs"))
    return in_sentence(draw, kind, held(draw, kind)) if draw.chance(0.25) else held(draw, kind)


def every(draw: Draw) -> list[Exchange]:
    """Every digit of one kind, or sign, for another; a sign is told by its name or as it is."""
    if draw.chance(0.4):
        y, z = draw.rng.sample("0123456789", 2)
        numbers = [str(draw.whole(1, draw.any((99, 99, 999, 99999)))) for _ in range(draw.whole(1, 6))]
        x = draw.any((" ", " ", ", ")).join(f"{one}{y}" if draw.chance(0.4) else one for one in numbers)
        if draw.chance(0.25):
            z = draw.any(words.entries(_WORDING, "instead of digits"))
            x = draw.any((f"{draw.any(words.WORDS)} {numbers[0]}", numbers[0], in_sentence(draw, "code", numbers[0])))
            lead = ", ".join(f"{one} -> {z * len(one)}" for one in re.findall(r"\d+", x))
            return asked(draw, "swap_all", lead, re.sub(r"\d", z, x), x=x, y="digit", z=z)
        if y not in x:
            return every(draw)
        return asked(draw, "swap_all", f"{y} -> {z}", x.replace(y, z), x=x, y=y, z=z)
    name, sign = draw.any(_SIGNS)
    other, new = ("space", " ") if draw.chance(0.15) else draw.any(_SIGNS)
    x = _with_signs(draw, sign)
    if sign not in x or sign == new or (new in x and new != " "):
        return every(draw)
    done, lead = " ".join(x.replace(sign, new).split()), f"{sign} -> {new.strip() or other}"
    if draw.chance(0.4):
        y, z = (f"{one}{'es' if one.endswith('sh') else 's'}" for one in (name, other))
        return asked(draw, "swap_signs", lead, done, x=x, y=y, z=z)
    y, z = draw.any((name, sign, f'"{sign}"')), draw.any((other, words.article(other)))
    z = draw.any((new, f'"{new}"')) if new != " " and (y != name or draw.chance(0.3)) else z
    return asked(draw, "swap_all", lead, done, x=x, y=y, z=z)


def unsigned(draw: Draw) -> list[Exchange]:
    """A text without its signs: those after words, between the items of a list, or within numbers and words."""
    name, gone = draw.any(_GONE)
    style, end = draw.rng.random(), draw.any(("", "", ".", ".", ".", "!", "?"))
    sign = draw.any(gone)
    if name == "brackets":
        some = any_words(draw, 2, 7)
        text = " ".join(f"({one})" if at == 1 or draw.chance(0.2) else one for at, one in enumerate(some))
    elif style < 0.6 and '"' not in gone:
        text = _with_signs(draw, gone)
    else:
        text = sentence(draw).rstrip(".!?") + end
        text += f" {sentence(draw)}" if end and draw.chance(0.4) else ""
        some = text.split()
        for at in draw.rng.sample(range(len(some)), min(len(some), draw.any((1, 1, 2, 3)))):
            some[at] = f'"{some[at]}"' if sign == '"' else f"#{some[at]}" if sign == "#" else some[at] + draw.any(gone)
        text = " ".join(some)
    done = " ".join(text.translate({ord(one): None for one in gone}).split())
    if done == text or not done:
        return unsigned(draw)
    y = name.removesuffix("s") if len(gone) == 1 and text.count(gone) == 1 and draw.chance(0.7) else name
    return asked(draw, "strip_signs", f"Without {y}", done, x=text, y=y)


def digits(draw: Draw) -> list[Exchange]:
    """A text without its numbers or digits; or the digits alone of one that mixes them with letters."""
    if draw.chance(0.5):
        some = sentence(draw).rstrip(".!?").split() if draw.chance(0.5) else any_words(draw, 1, 4)
        joint = draw.any(("", " "))
        for at in draw.rng.sample(range(len(some)), min(len(some), draw.whole(1, 3))):
            some[at] += f"{joint}{draw.whole(1, draw.any((9, 99, 9999)))}"
        done = " ".join(re.sub(r"\d", "", " ".join(some)).split())
        way = draw.any(("no_numbers", "no_digits"))
        return asked(draw, way, "Without digits", done, x=" ".join(some)) if done else digits(draw)
    # With more than one number in it, nothing parts them, lest it were asked how they stand.
    between = draw.any(("", "", "-", " "))
    own = [draw.any((draw.nonsense(2, 6), draw.any(words.WORDS))) for _ in range(draw.whole(1, 3))]
    own = [*draw.nonsense(2, 6)] if draw.chance(0.3) else own
    own += [] if between else [str(draw.whole(0, 9 if len(own) > 3 else 999)) for _ in own[: draw.whole(1, 4)]]
    text = between.join((*draw.rng.sample(own, len(own)), str(draw.whole(0, 9999))))
    return asked(draw, "only_digits", "The digits", "".join(one for one in text if one.isdigit()), x=text)


def unspaced(draw: Draw) -> list[Exchange]:
    """A text with a sign in the place of each space, or nothing: as one name, letter by letter."""
    some = small_items(draw) if draw.chance(0.6) else sentence(draw).rstrip(".!?").split()[:5]
    if draw.chance(0.45):
        some = f"{' '.join(some[:-1])} {draw.any(SMALL)} {some[-1]}".split()
    name, sign = draw.any(words.pairs(_WORDING, "signs for spaces"))
    way = draw.any(("no_spaces", "spaces", "spaces", "spaces", "between" if sign else "no_spaces"))
    done = ("" if way == "no_spaces" else sign).join(" ".join(some).split())
    return [as_one(draw.asked(_WORDING, way, x=" ".join(some), z=name), done)]
