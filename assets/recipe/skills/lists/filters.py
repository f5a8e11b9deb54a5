"""The part of the user's list that passes a test: by letters, by length, by kind, or by standing in another list."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.word_pairs import plural
from assets.recipe.words import read_wording, spelled, weighted

_WORDING = read_wording("lists/word_lists")
_KINDS = read_wording("lists/kinds")
# The things of a kind, in the order in which a thing's own kind is looked for.
_THINGS = {
    kind: tuple(dict.fromkeys(one for pool in pools.split() for one in words.POOLS[pool]))
    for kind, pools in words.pairs(_KINDS, "kinds")
}
_ASKED, _BESIDE = weighted(_KINDS, "asked"), weighted(_KINDS, "beside")
_NEVER = {kind: others.split() for kind, others in words.pairs(_KINDS, "never")}
_CAN = {name.removeprefix("can "): words.pairs(_KINDS, name) for name in _KINDS if name.startswith("can ")}
# Things of two kinds at once, which never stand beside what is asked about; and those of no plain plural.
_DOUBTFUL, _UNCOUNTED = frozenset(words.POOLS["doubtful"]), frozenset(words.POOLS["uncounted"])
_COUNTED = frozenset(words.entries(_KINDS, "counted"))
_WAYS = weighted(_KINDS, "ways")
# What is wanted of those that are of the kind, if not to keep them.
_WANTED = {"kinds_out": "out", "kinds_count": "count"}
# What is sought, if not those of the kind.
_SOUGHT = {"odd_one": "not of the kind {kind}", "odd_out": "", "kinds_out": "the kind {kind}"}
_ASKS = ("keep", "keep", "keep", "keep", "keep", "out", "out", "count")


def by_letters(draw: Draw) -> list[Exchange]:
    """The words that pass, or do not: by a letter or by their length."""
    items = draw.names(draw.whole(3, 6)) if draw.chance(0.15) else given.any_words(draw, 3, 6)
    some = draw.any(items).lower()
    k, n, at = len(some), draw.any((1, 1, 1, 2, 3)), draw.whole(0, len(some) - 1)
    letter = some[at : at + min(n, 2)]
    lengths = {"exactly": ("=", k, k, k), "longer": (">", k - 1, k, 99), "shorter": ("<", k + 1, 0, k),
               "at_least_k": (">=", k, k, 99), "at_most_k": ("<=", k, 0, k)}  # fmt: skip
    way, asks = draw.any((*lengths, "exactly", *["starting", "ending", "containing"] * 3)), draw.any(_ASKS)
    asked, sought = str(k), ""
    if way in lengths:
        sign, bound, low, high = lengths[way]
        look: Callable[[str], object] = lambda item: f"{given.spaced(item)} {len(item)} {sign} {bound}"  # noqa: E731
        keep: Callable[[str], bool] = lambda item: low <= len(item) <= high  # noqa: E731
        asked = draw.any((str(bound), spelled(bound)))
    elif way == "containing":
        look, keep, asked = given.spaced, lambda item: letter in item, letter
        sought = f"with {asked}"
    elif way == "starting":
        look, keep = lambda item: given.spaced(item[:n]), lambda item: item[:n] == some[:n]
        asked = some[:n]
        sought = f"beginning with {asked}"
    else:
        look, keep = lambda item: f"{given.spaced(item)} {given.spaced(item[-n:])}", lambda item: item[-n:] == some[-n:]
        asked = some[-n:]
        sought = f"ending in {asked}"
    # Others that pass, which chance would hardly draw.
    alike = [one for one in words.every_word() if keep(one)]
    more = draw.rng.sample(alike, min(len(alike), draw.whole(0, 2)))
    more = [one.title() for one in more] if items[0].istitle() else more
    items = list({item.lower(): item for item in [*items, *more]}.values())
    draw.rng.shuffle(items)
    x, asked = given.typed(draw, items), given.in_quotes(draw, asked) if sought else asked
    if asks == "count" or (asks == "out" and way in lengths) or draw.chance(0.35):
        ask = by_condition(draw, "those", asks, way, x=x, y=asked, k=asked)
    else:
        ask = draw.asked(_WORDING, f"not_{way}" if asks == "out" else way, x=x, y=asked, k=asked)
    passing = [item for item in items if keep(item.lower())]
    sought = f"those {sought}" if sought and asks == "out" else sought
    return given.kept(ask, items, passing, lambda item: f"{item} {look(item.lower())}", asks, sought)


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


def _own(thing: str, asked: str) -> str:
    """The kind that a thing is said to be of: the one asked about if it is of that."""
    return next(kind for kind in (asked, *_THINGS) if thing in _THINGS[kind])


def _others(draw: Draw, sort: str, count: int, kinds: list[str]) -> list[str]:
    """So many things of any of these kinds that are clearly not of the kind asked about."""
    pool = [one for kind in kinds for one in _THINGS[kind] if one not in _DOUBTFUL and one not in _THINGS[sort]]
    return draw.rng.sample(sorted({*pool}), count)


def _several(thing: str) -> str:
    """The thing's name for several, where it has one."""
    return thing if thing.endswith("s") or not thing.islower() or thing in _UNCOUNTED else plural(thing)


def by_kind(draw: Draw) -> list[Exchange]:
    """One question about a list by the kind of its things."""
    way = draw.any(_WAYS)
    sort = draw.any(tuple(_CAN)) if way == "can" else draw.any(_ASKED)
    kinds = [kind for kind in _BESIDE if kind != sort and kind not in _NEVER.get(sort, ())]
    kinds = draw.rng.sample(kinds, 1 if way == "by_kind" or draw.chance(0.3) else 3)
    # So many of the kind and so many that are not.
    many, few = draw.any((1, 2, 2, 2, 3, 3, 4)), draw.any((1, 2, 2, 3, 3))
    if way in ("odd_one", "odd_out"):
        many, few = draw.whole(2, 4), 1
    elif way == "of_kind":
        many, few = 1, draw.whole(2, 4)
    own, others = draw.rng.sample(_THINGS[sort], min(many, len(_THINGS[sort]))), _others(draw, sort, few, kinds)
    other = next(kind for kind in kinds if others[0] in _THINGS[kind])
    one, several = draw.say(_KINDS[f"one {sort}"]), draw.say(_KINDS[f"many {sort}"])
    fields = {"k": one, "a": words.article(one), "p": several, "q": draw.say(_KINDS[f"many {other}"])}
    if way == "can":
        fields["do"], fields["done"] = draw.any(_CAN[sort])
    shown = _several if draw.chance(0.15) and {sort, *kinds} <= _COUNTED else str
    named = {
        shown(thing): other if way == "by_kind" and thing in others else _own(thing, sort) for thing in (*own, *others)
    }
    items, passing = draw.rng.sample(list(named), len(named)), [shown(thing) for thing in own]
    ask = draw.asked(_KINDS, way, x=given.typed(draw, items), **fields)
    look = lambda item: f"{item} {named[item]}"  # noqa: E731
    if way == "by_kind":
        found = dict.fromkeys(named[item] for item in items)
        groups = (f"{_heading(kind)}: {', '.join(one for one in items if named[one] == kind)}" for kind in found)
        return [given.worked(ask, ", ".join(map(look, items)), "; ".join(groups))]
    if way in ("odd_one", "odd_out"):
        passing = [item for item in items if item not in passing]
    sought = _SOUGHT.get(way, "of the kind {kind}").format(kind=sort)
    return given.kept(ask, items, passing, look, _WANTED.get(way, "keep"), sought)


def _heading(kind: str) -> str:
    """The most usual name for several of the kind."""
    return _KINDS[f"many {kind}"][0].strip("[").partition("|")[0]
