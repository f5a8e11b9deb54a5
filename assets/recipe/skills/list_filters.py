"""The part of the user's list that passes a test: by letters, by length, by kind, or by standing in another list."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.words import KINDS, read_wording, spelled

_WORDING = read_wording("word_lists")
_SORTS = {"animal": words.ANIMALS, "city": words.CITIES, "job": words.JOBS, "colour": words.COLOURS,
          "fruit": KINDS["fruits"], "vegetable": KINDS["vegetables"], "tool": KINDS["tools"],
          "country": KINDS["countries"], "instrument": KINDS["instruments"], "flower": KINDS["flowers"],
          "piece of furniture": KINDS["furniture"], "tree": KINDS["trees"], "month": KINDS["months"],
          "day of the week": KINDS["days"], "sport": KINDS["sports"], "food": words.FOODS}  # fmt: skip


def by_letters(draw: Draw) -> list[Exchange]:
    """The words that pass, or do not: by a letter or by their length."""
    items = given.any_words(draw, 3, 6)
    some = draw.any(items).lower()
    k, n, at = len(some), draw.any((1, 1, 1, 2, 3)), draw.whole(0, len(some) - 1)
    letter, upper = some[at : at + min(n, 2)], draw.chance(0.5)
    if draw.chance(0.1):
        items = [draw.any((item.lower(), item.title())) for item in items]
        kept = [item for item in items if item[0].isupper() == upper]
        c, d = ("capital", "small")[:: 1 if upper else -1]
        ask = draw.ask(_WORDING["capitals"], x=given.typed(draw, items), c=c, d=d)
        return given.kept(ask, items, kept, lambda item: f"{item} {item[0]}")
    lengths = {"exactly": ("=", k, k, k), "longer": (">", k - 1, k, 99), "shorter": ("<", k + 1, 0, k),
               "at_least_k": (">=", k, k, 99), "at_most_k": ("<=", k, 0, k)}  # fmt: skip
    way = draw.any((*lengths, "exactly", *["starting", "ending", "containing"] * 3))
    out, asked = draw.chance(0.25) and way not in lengths, str(k)
    if way in lengths:
        sign, bound, low, high = lengths[way]
        look: Callable[[str], object] = lambda item: f"{given.spaced(item)} {len(item)} {sign} {bound}"  # noqa: E731
        keep: Callable[[str], bool] = lambda item: low <= len(item) <= high  # noqa: E731
        asked = draw.any((str(bound), spelled(bound)))
    elif way == "containing":
        look, keep, asked = given.spaced, lambda item: letter in item, given.in_quotes(draw, letter)
    else:
        part = slice(n) if way == "starting" else slice(-n, None)
        look, keep, asked = lambda item: item[part], lambda item: item[part] == some[part], some[part]
        asked = given.in_quotes(draw, asked)
    # Others that pass, which chance would hardly draw.
    alike = [one for one in words.every_word() if keep(one)]
    more = draw.rng.sample(alike, min(len(alike), draw.whole(0, 2)))
    items = list({item.lower(): item for item in [*items, *more]}.values())
    draw.rng.shuffle(items)
    ask = draw.asked(_WORDING, f"not_{way}" if out else way, x=given.typed(draw, items), y=asked, k=asked)
    kept = [item for item in items if keep(item.lower()) != out]
    return given.kept(ask, items, kept, lambda item: f"{item} {look(item.lower())}")


def of_a_kind(draw: Draw) -> list[Exchange]:
    """The one that is of a kind, or the one that is not."""
    sort, other = draw.rng.sample(sorted(_SORTS), 2)
    one, (*some, spare) = draw.any(_SORTS[other]), draw.rng.sample(_SORTS[sort], 3)
    if {one, *draw.rng.sample(_SORTS[other], 2)} & set(_SORTS[sort]) or {sort, other} == {"fruit", "food"}:
        return of_a_kind(draw)
    way, items, answer = "odd_one", [*some, one], one
    if draw.chance(0.5):
        way, items, answer = "of_kind", [spare, *draw.rng.sample(_SORTS[other], 2)], spare
    draw.rng.shuffle(items)
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items), k=sort, a=words.article(sort))
    return given.kept(ask, items, [answer], lambda item: f"{item} {sort if item in _SORTS[sort] else other}")


def shared(draw: Draw) -> list[Exchange]:
    """The words of one list that stand in another too, or those that do not."""
    items = given.any_words(draw, 2, 5)
    both, out = draw.rng.sample(items, draw.whole(1, len(items) - 1)), draw.chance(0.3)
    other = [*both, *(one for one in given.any_words(draw, 1, 2) if one not in items)]
    draw.rng.shuffle(other)
    ask = draw.ask(_WORDING["only_in" if out else "in_both"], x=given.typed(draw, items), y=", ".join(other))
    return given.kept(ask, items, [item for item in items if (item in both) != out], str)
