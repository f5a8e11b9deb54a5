"""The user's list by kinds of everyday things: those of a kind, the others, the odd one; each beside its kind."""

from __future__ import annotations

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.word_pairs import plural
from assets.recipe.words import read_wording, weighted

_WORDING = read_wording("lists/kinds")
# The things of a kind, in the order in which a thing's own kind is looked for.
_THINGS = {
    kind: tuple(dict.fromkeys(one for pool in pools.split() for one in words.POOLS[pool]))
    for kind, pools in words.pairs(_WORDING, "kinds")
}
_ASKED, _BESIDE = weighted(_WORDING, "asked"), weighted(_WORDING, "beside")
_NEVER = {kind: others.split() for kind, others in words.pairs(_WORDING, "never")}
_CAN = {name.removeprefix("can "): words.pairs(_WORDING, name) for name in _WORDING if name.startswith("can ")}
# Things of two kinds at once, which never stand beside what is asked about; and those of no plain plural.
_DOUBTFUL, _UNCOUNTED = frozenset(words.POOLS["doubtful"]), frozenset(words.POOLS["uncounted"])
_COUNTED = frozenset(words.entries(_WORDING, "counted"))
_WAYS = weighted(_WORDING, "ways")
# What is wanted of those that are of the kind, if not to keep them.
_WANTED = {"kinds_out": "out", "kinds_count": "count"}


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


def compose(draw: Draw) -> list[Exchange]:
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
    one, several = draw.say(_WORDING[f"one {sort}"]), draw.say(_WORDING[f"many {sort}"])
    fields = {"k": one, "a": words.article(one), "p": several, "q": draw.say(_WORDING[f"many {other}"])}
    if way == "can":
        fields["do"], fields["done"] = draw.any(_CAN[sort])
    shown = _several if draw.chance(0.15) and {sort, *kinds} <= _COUNTED else str
    named = {
        shown(thing): other if way == "by_kind" and thing in others else _own(thing, sort) for thing in (*own, *others)
    }
    items, passing = draw.rng.sample(list(named), len(named)), [shown(thing) for thing in own]
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items), **fields)
    look = lambda item: f"{item} {named[item]}"  # noqa: E731
    if way == "by_kind":
        found = dict.fromkeys(named[item] for item in items)
        groups = (f"{_heading(kind)}: {', '.join(one for one in items if named[one] == kind)}" for kind in found)
        return [given.worked(ask, ", ".join(map(look, items)), "; ".join(groups))]
    if way in ("odd_one", "odd_out"):
        passing = [item for item in items if item not in passing]
    return given.kept(ask, items, passing, look, _WANTED.get(way, "keep"))


def _heading(kind: str) -> str:
    """The most usual name for several of the kind."""
    return _WORDING[f"many {kind}"][0].strip("[").partition("|")[0]
