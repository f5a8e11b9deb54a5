"""The part of the user's list that passes a test: by letters, by length, by kind, or by standing in another list."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("lists/word_lists")
_ASKS = ("keep", "keep", "keep", "keep", "keep", "out", "out", "count")
# Kinds by what one of them is called, as "piece of furniture" and "day of the week" are.
_SORTS = {
    name: words.SORTS[name.removeprefix("piece of ").removesuffix(" of the week")]
    for name in (entry.removesuffix("s") for entry in words.entries(_WORDING, "sorts"))
}


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
        return given.kept(ask, items, kept, lambda item: f"{item} {('small', 'capital')[item[0].isupper()]}")
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
        ask = draw.ask(_WORDING[f"those {asks}"], x=x, c=draw.say(_WORDING[f"that {way}"], y=asked, k=asked))
    else:
        ask = draw.asked(_WORDING, f"not_{way}" if asks == "out" else way, x=x, y=asked, k=asked)
    passing = [item for item in items if keep(item.lower())]
    return given.kept(ask, items, passing, lambda item: f"{item} {look(item.lower())}", asks)


def of_a_kind(draw: Draw) -> list[Exchange]:
    """The one that is of a kind, the one that is not, those that are; or all of them kind by kind."""
    sort, other = draw.rng.sample(sorted(_SORTS), 2)
    if set(_SORTS[sort]) & set(_SORTS[other]) or {sort, other} == {"fruit", "food"}:
        return of_a_kind(draw)
    way = draw.any(("odd_one", "odd_out", "of_kind", "of_kinds", "of_kinds", "by_kind"))
    # So many of the one kind and of the other.
    many, few = {
        "odd_one": (draw.whole(2, 3), 1),
        "odd_out": (draw.whole(2, 4), 1),
        "of_kind": (1, draw.whole(2, 3)),
    }.get(way, (draw.whole(1, 3), draw.whole(1, 3)))
    items = draw.rng.sample(_SORTS[sort], many) + draw.rng.sample(_SORTS[other], few)
    passing = items[many:] if way.startswith("odd_") else items[:many]
    draw.rng.shuffle(items)
    fields = {"k": sort, "a": words.article(sort), "p": _plural(sort), "q": _plural(other)}
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items), **fields)
    named = {item: sort if item in _SORTS[sort] else other for item in items}
    if way == "by_kind":
        told, found = ", ".join(f"{item} {kind}" for item, kind in named.items()), dict.fromkeys(named.values())
        groups = [f"{_plural(kind)}: {', '.join(one for one in items if named[one] == kind)}" for kind in found]
        return [given.worked(ask, told, "; ".join(groups))]
    return given.kept(ask, items, passing, lambda item: f"{item} {named[item]}")


def _plural(kind: str) -> str:
    """The kind's name for several: cities, pieces of furniture."""
    noun, of, rest = kind.partition(" of ")
    return (noun[:-1] + "ies" if noun[-1] == "y" and noun != "day" else noun + "s") + of + rest


def shared(draw: Draw) -> list[Exchange]:
    """The words of one list that stand in another too, or those that do not."""
    items = given.any_words(draw, 2, 5)
    both, out = draw.rng.sample(items, draw.whole(1, len(items) - 1)), draw.chance(0.3)
    other = [*both, *(one for one in given.any_words(draw, 1, 2) if one not in items)]
    draw.rng.shuffle(other)
    ask = draw.ask(_WORDING["only_in" if out else "in_both"], x=given.typed(draw, items), y=", ".join(other))
    return given.kept(ask, items, [item for item in items if (item in both) != out], str)
