"""The user's text in another case: capitals, small letters, as a title; as one name; a sign between a word's letters.

A reply first says which case it is, and is written letter by letter from there (`ChatTokenizer.written`): in another
case a word's pieces are others, but its letters are the same.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, exact, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.user_words import LETTERED, as_one, in_quotes, led, some_text, some_word, spaced
from assets.recipe.words import read_wording

_WORDING = read_wording("text/letters")
# Upper case is learnt word by word, since its pieces are others: few words, and short ones.
EVERYDAY = words.WORDS[:420]
_SMALL, _TITLE, _, _SWAPPED, _CAPITAL = LETTERED
CASES: dict[str, tuple[str, Callable[[str], str]]] = {
    "upper": ("In capitals: ", str.upper), "lower": (_SMALL, str.lower), "title": (_TITLE, string.capwords),
    "swapped": (_SWAPPED, str.swapcase), "capital": (_CAPITAL, words.upper_first),
    "one_capital": (_CAPITAL, str.capitalize), "sentence": (_CAPITAL, lambda plain: f"{words.upper_first(plain)}."),
}  # fmt: skip
_OWNED = words.entries(_WORDING, "owned")
_BETWEEN = words.pairs(_WORDING, "signs between")


def cased(ask: str, way: str, given: str, follow_up: bool = False) -> Exchange:
    """An exchange that puts what is given into the case."""
    opening, change = CASES[way]
    done = change(given)
    return Exchange(ask, opening + done, exactly_in(done), follow_up)


def _text(draw: Draw) -> str:
    """Words as people want them in another case: any, usual ones, or what is put on signs and covers."""
    style = draw.rng.random()
    if style < 0.35:
        return some_text(draw)
    if style < 0.65:
        pool = EVERYDAY if style < 0.5 else words.every_word()
        return " ".join(draw.any(pool) for _ in range(draw.whole(2, 8)))
    if style < 0.7:
        return " ".join((*(draw.nonsense(3, 14) for _ in range(draw.whole(1, 3))), str(draw.whole(2, 99))))
    return draw.own(lambda: draw.say(_WORDING["sayings"], o=draw.any(EVERYDAY), w=some_word(draw)))


def asked(draw: Draw, way: str, text: str, **fields: object) -> str:
    """A question of this way about the text; or the text is the user's name, told beside what is to be done to it."""
    if f"how {way}" in _WORDING and draw.chance(0.2):
        return draw.ask(_WORDING["told"], x=text, t=draw.any(_OWNED), h=draw.say(_WORDING[f"how {way}"]))
    return draw.asked(_WORDING, way, x=in_quotes(draw, text), **fields)


def changed_case(draw: Draw) -> list[Exchange]:
    """Text into another case, and perhaps into a third."""
    way = draw.any(words.weighted(_WORDING, "ways of cases"))
    if way == "sentence":
        things = {"p": draw.any(words.ANIMALS), "o": draw.any(words.WORDS)}
        plain = draw.own(lambda: draw.say(_WORDING["plain_sentence"], **things))
        return [cased(draw.asked(_WORDING, way, x=plain), way, plain)]
    text = some_word(draw) if way in ("capital", "one_capital") and draw.chance(0.6) else _text(draw)
    text = f"{draw.name()} {draw.name()}" if way == "title" and draw.chance(0.12) else text
    text = draw.any((draw.name(), f"{draw.name()} {draw.name()}")) if draw.chance(0.1) else text
    given = draw.any({
        "upper": (text, text, text, text.title(), text.capitalize()), "capital": (text,),
        "lower": (*[text.upper()] * 4, text.title(), text.title().swapcase()),
        "title": (*[text.lower()] * 6, text.upper(), text.capitalize()),
        "one_capital": (text, text.title(), *[text.upper()] * 2),
        "swapped": (text.upper(), text.title(), words.odd_case(draw.rng, text)),
    }[way])  # fmt: skip
    x = given + draw.any(("!", "?", ".", "...")) if way != "swapped" and draw.chance(0.06) else given
    exchanges = [cased(asked(draw, way, x), way, x)]
    if draw.chance(0.2) and way != "swapped":
        then = draw.any(tuple(case for case in ("upper", "lower", "title") if case != way))
        exchanges.append(cased(draw.asked(_WORDING, f"then_{then}"), then, CASES[way][1](x), True))
    return exchanges


def one_word(draw: Draw) -> list[Exchange]:
    """One word of a text in capitals: the first, the last, or the one that is named."""
    some = draw.rng.sample(words.every_word(), draw.whole(2, 7))
    if draw.chance(0.5):
        some = _text(draw).lower().split()
    at, way = draw.any(((0, "upper_first"), (-1, "upper_last"), (draw.whole(0, len(some) - 1), "upper_word")))
    gone = some[at]
    if some.count(gone) > 1 or len(some) < 2 or not gone.isalpha():
        return one_word(draw)
    done = " ".join(one.upper() if one == gone else one for one in some)
    ask = draw.ask(_WORDING[way], x=in_quotes(draw, " ".join(some)), y=in_quotes(draw, gone))
    return [led(ask, f"{gone} -> {gone.upper()}", done)]


def joined(draw: Draw) -> list[Exchange]:
    """Several words as one name, as programs have them; or signs between a word's letters."""
    items = [some_word(draw) for _ in range(draw.any((2, 3, 3, 4)))]
    if draw.chance(0.12):
        name, sign = draw.any((("dashes", "-"), ("dashes", "-"), ("spaces", " "), ("commas", ", "), ("dots", ".")))
        return [as_one(draw.ask(_WORDING["letters glued"], x=sign.join(items[0]), s=name), items[0])]
    done = {
        "snake": "_".join(items), "kebab": "-".join(items), "glue": "".join(items),
        "camel": items[0] + "".join(map(str.title, items[1:])), "pascal": "".join(map(str.title, items)),
    }  # fmt: skip
    way = draw.any((*done, "snake", "camel", "glue", "apart", "spaced", "spaced", "spaced"))
    if way == "spaced":
        return _signs_between(draw)
    if way == "apart":
        x = done[draw.any(("snake", "kebab", "camel", "pascal"))]
        return [cased(draw.asked(_WORDING, way, x=x), "lower", " ".join(items))]
    given = draw.any((" ", " ", ", ", " and ", " + ") if way == "glue" else (" ",)).join(items)
    given = given.title() if way != "glue" and draw.chance(0.3) else given
    given = done[draw.any(("camel", "pascal"))] if way in ("snake", "kebab") and draw.chance(0.35) else given
    return [as_one(draw.asked(_WORDING, way, x=given), done[way])]


def _signs_between(draw: Draw) -> list[Exchange]:
    """A word spelled, then its letters with the sign between them."""
    own = draw.any((some_word(draw), some_word(draw), draw.name(), draw.nonsense()))
    between, sign = draw.any(_BETWEEN)
    own = own.upper() if draw.chance(0.25) else own
    ask = asked(draw, "spaced", own, s=between)
    if sign == "-":
        return [exact(ask, spaced(own))]
    return [led(ask, spaced(own), sign.join(own))]
