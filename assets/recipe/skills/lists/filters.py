"""The part of the user's list that passes a test: by letters, by length, or by standing in another list."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("lists/word_lists")
_ASKS = ("keep", "keep", "keep", "keep", "keep", "out", "out", "count")


def by_letters(draw: Draw) -> list[Exchange]:
    """The words that pass, or do not: by a letter or by their length."""
    items = given.any_words(draw, 3, 6)
    some = draw.any(items).lower()
    k, n, at = len(some), draw.any((1, 1, 1, 2, 3)), draw.whole(0, len(some) - 1)
    letter, upper = some[at : at + min(n, 2)], draw.chance(0.5)
    if draw.chance(0.1):
        items = [draw.any((item.lower(), item.title())) for item in items]
        kept = [item for item in items if item[0].isupper() == upper]
        c, out = ("small", "capital")[upper], draw.chance(0.25)
        ask = draw.ask(_WORDING["capitals out" if out else "capitals"], x=given.typed(draw, items), c=c)
        case = lambda item: f"{item} {('small', 'capital')[item[0].isupper()]}"  # noqa: E731
        return given.kept(ask, items, kept, case, "out" if out else "keep")
    lengths = {"exactly": ("=", k, k, k), "longer": (">", k - 1, k, 99), "shorter": ("<", k + 1, 0, k),
               "at_least_k": (">=", k, k, 99), "at_most_k": ("<=", k, 0, k)}  # fmt: skip
    way, asks = draw.any((*lengths, "exactly", *["starting", "ending", "containing"] * 3)), draw.any(_ASKS)
    asked = str(k)
    if way in lengths:
        sign, bound, low, high = lengths[way]
        look: Callable[[str], object] = lambda item: f"{given.spaced(item)} {len(item)} {sign} {bound}"  # noqa: E731
        keep: Callable[[str], bool] = lambda item: low <= len(item) <= high  # noqa: E731
        asked = draw.any((str(bound), spelled(bound)))
    elif way == "containing":
        look, keep, asked = given.spaced, lambda item: letter in item, given.in_quotes(draw, letter)
    elif way == "starting":
        look, keep = lambda item: given.spaced(item[:n]), lambda item: item[:n] == some[:n]
        asked = given.in_quotes(draw, some[:n])
    else:
        look, keep = lambda item: f"{given.spaced(item)} {given.spaced(item[-n:])}", lambda item: item[-n:] == some[-n:]
        asked = given.in_quotes(draw, some[-n:])
    # Others that pass, which chance would hardly draw.
    alike = [one for one in words.every_word() if keep(one)]
    more = draw.rng.sample(alike, min(len(alike), draw.whole(0, 2)))
    items = list({item.lower(): item for item in [*items, *more]}.values())
    draw.rng.shuffle(items)
    x = given.typed(draw, items)
    if asks == "count" or (asks == "out" and way in lengths) or draw.chance(0.35):
        ask = by_condition(draw, "those", asks, way, x=x, y=asked, k=asked)
    else:
        ask = draw.asked(_WORDING, f"not_{way}" if asks == "out" else way, x=x, y=asked, k=asked)
    passing = [item for item in items if keep(item.lower())]
    return given.kept(ask, items, passing, lambda item: f"{item} {look(item.lower())}", asks)


def by_condition(draw: Draw, what: str, asks: str, way: str, /, x: str, **fields: object) -> str:
    """A question for what meets a condition, which is told as "end in e", "that end in e" or "ending in e"."""
    met = draw.say(_WORDING[f"that {way}"], **fields)
    behind = draw.say(_WORDING[f"with {way}"], **fields) if draw.chance(0.5) else f"that {met}"
    return draw.ask(_WORDING[f"{what} {asks}"], x=x, c=met, w=behind)


def shared(draw: Draw) -> list[Exchange]:
    """The words of one list that stand in another too, or those that do not."""
    items = given.any_words(draw, 2, 5)
    both, out = draw.rng.sample(items, draw.whole(1, len(items) - 1)), draw.chance(0.3)
    other = [*both, *(one for one in given.any_words(draw, 1, 2) if one not in items)]
    draw.rng.shuffle(other)
    ask = draw.ask(_WORDING["only_in" if out else "in_both"], x=given.typed(draw, items), y=", ".join(other))
    return given.kept(ask, items, [item for item in items if (item in both) != out], str)
