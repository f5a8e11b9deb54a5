"""Pairs of words known by heart, such as opposites and plurals, and plain questions for one of them."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange, mentions
from assets.recipe.draw import Draw
from assets.recipe.user_words import enumerated, in_quotes, typed
from assets.recipe.words import read_wording, weighted

_WORDING = read_wording("lists/word_pairs")
Pairs = tuple[tuple[str, str], ...]
_IRREGULAR = dict(one.split("/") for one in _WORDING["irregular"][0].split())
_ASKED = weighted(_WORDING, "asked")
# Of the opposites those that come first are asked most; of the plurals those that are no mere s.
_COMMON = 70
_SORTS = ("animal", "job", "fruit", "flower", "tree", "instrument", "shape", "furniture")
_OTHERS = [noun for sort in _SORTS for noun in words.SORTS[sort] if noun[-1] != "s" or noun.endswith("ss")]
_ENDINGS = tuple(name for name in _WORDING if name.startswith("ending "))


def plural(noun: str) -> str:
    """The noun as there are many of it, by its ending unless it is irregular."""
    if noun.lower() in _IRREGULAR:
        many = _IRREGULAR[noun.lower()]
        return many.title() if noun.istitle() else many.upper() if noun.isupper() else many
    if noun[-1:] == "y" and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _both_ways(pairs: Pairs) -> Pairs:
    """The pairs, and each the other way round, unless its word has its partner already."""
    partners: dict[str, str] = {}
    for one, other in pairs:
        partners.setdefault(one, other)
        partners.setdefault(other, one)
    return tuple(partners.items())


def _read() -> dict[str, Pairs]:
    found: dict[str, Pairs] = {}
    for line in _WORDING["pairs"]:
        name, _, told = line.partition(" = ")
        pairs = tuple((one, other) for one, _, other in (pair.partition("/") for pair in told.split()))
        found[name] = pairs
    return found | {"opposite": _both_ways(found["opposite"])}


PAIRS = _read()
"""The pairs by what their words are to each other."""


def nouns(draw: Draw, count: int) -> list[str]:
    """Different nouns: the most usual, those of one ending or of any, or now and then things of a kind."""
    style = draw.rng.random()
    if style < 0.12:
        return draw.rng.sample(_OTHERS, count)
    pools = ["often"] if style > 0.65 else [draw.any(_ENDINGS)] if style < 0.3 else _ENDINGS
    found: dict[str, None] = {}
    while len(found) < count:
        found[draw.any(draw.any(_WORDING[draw.any(pools)]).split())] = None
    return list(found)


def _pair(draw: Draw, way: str) -> tuple[str, str]:
    """A word and its partner."""
    if way in ("plural", "one two", "singular"):
        noun = nouns(draw, 1)[0]
        return (plural(noun), noun) if way == "singular" else (noun, plural(noun))
    if way == "past" and draw.chance(0.3):
        way = draw.any([name for name in PAIRS if name.startswith("past with")])
    common = way == "opposite" and draw.chance(0.7)
    return draw.any(PAIRS[way][: 2 * _COMMON] if common else PAIRS[way])


def _several(draw: Draw, way: str) -> list[Exchange]:
    """The partners of a few words at once."""
    pairs = dict(_pair(draw, way) for _ in range(draw.any((2, 3, 3, 4, 5))))
    if len(pairs) == 2 and draw.chance(0.7):
        one, other = (in_quotes(draw, word) for word in pairs)
        ask = draw.ask(_WORDING["twice"], r=way, w=one, v=other)
    else:
        ask = draw.ask(_WORDING[f"several {way}"], x=typed(draw, list(pairs)))
    told = enumerated([f"of {word} is {partner}" for word, partner in pairs.items()])
    return [Exchange(ask, f"The {way} {told}.", mentions(*pairs.values()))]


def questions(draw: Draw) -> list[Exchange]:
    """A plain question for a word's partner, perhaps with another after it."""
    way = draw.any(_ASKED)
    if f"several {way}" in _WORDING and draw.chance(0.35):
        return _several(draw, way)
    exchanges: list[Exchange] = []
    while not exchanges or (f"then {way}" in _WORDING and len(exchanges) < 3 and draw.chance(0.15)):
        (word, partner), pool = _pair(draw, way), f"then {way}" if exchanges else way
        shown = draw.any((*[word] * 12, word.title(), word.upper()))
        ask = draw.ask(_WORDING[pool], w=in_quotes(draw, shown) if way != "one two" else shown, o=partner)
        reply = draw.say(_WORDING[f"say {way}"], w=word, o=partner)
        exchanges.append(Exchange(ask, reply, mentions(partner), bool(exchanges)))
    return exchanges
