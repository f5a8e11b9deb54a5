"""The user's list by its places: one item, the first or last few, all but some; each counted up to where it stands."""

from __future__ import annotations

from assets.recipe import user_words as given
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.words import ORDINALS, nth, pairs, read_wording, spelled, weighted

_WORDING = read_wording("lists/word_lists")
# Places told from the end.
_FROM_END = {place: int(at) for place, at in pairs(_WORDING, "places from the end")}
_WAYS = weighted(_WORDING, "ways by place")


def item_there(draw: Draw, items: list[str]) -> tuple[str, str, str]:
    """A place of the list, the reply that finds it by counting from its own end of the list, and the item there."""
    style, most = draw.rng.random(), len(items)
    if style < 0.45:
        place = draw.any(("first", "last", "last"))
        item = items[0 if place == "first" else -1]
        return place, f"The {place} one is {item}.", item
    if style < 0.65:
        place = draw.any([name for name, at in _FROM_END.items() if at <= most] or ["last"])
        at = _FROM_END.get(place, 1)
        return place, f"From the end: {given.numbered(items[::-1][:at])}. So {items[-at]}", items[-at]
    at = draw.whole(min(2, most), most)
    place = nth(at) if draw.chance(0.15) else ORDINALS[at]
    return place, f"{given.numbered(items[:at])}. So {items[at - 1]}", items[at - 1]


def one_item(draw: Draw, items: list[str], follow_up: bool = False) -> Exchange:
    """The item at a place of the list, or at a number, from 0 where that is an index."""
    if not follow_up and draw.chance(0.14):
        first, way = draw.any(((0, "at_index"), (1, "nth_number")))
        at = draw.whole(0, len(items) - 1)
        ask = draw.asked(_WORDING, way, x=given.typed(draw, items), p=at + first, n=at + first)
        return given.worked(ask, given.numbered(items[: at + 1], first), items[at])
    place, reply, _ = item_there(draw, items)
    if follow_up:
        return exact(draw.ask(_WORDING["then_nth"], p=place), reply, True)
    return exact(draw.asked(_WORDING, draw.any(("nth", "nth", "at_place")), x=given.typed(draw, items), p=place), reply)


def two_places(draw: Draw, items: list[str]) -> list[Exchange]:
    """Two items of the list by their places, or its first and its last."""
    ends, most = draw.chance(0.3), len(items)
    one, other = (1, most) if ends else sorted(draw.rng.sample(range(1, most + 1), 2))
    p, q = ("first", "last") if ends else (ORDINALS[at] if draw.chance(0.8) else nth(at) for at in (one, other))
    ask = draw.ask(_WORDING["two_places"], x=given.typed(draw, items), p=p, q=q, m=one, n=other)
    shown = f"{given.numbered(items[:other])}. {one} {items[one - 1]}, {other} {items[other - 1]}"
    shown = f"First {items[0]}, last {items[-1]}" if ends else shown
    return [given.worked(ask, shown, f"{items[one - 1]}, {items[other - 1]}")]


def by_place(draw: Draw, items: list[str]) -> list[Exchange]:
    """The list without some of its places, or only those; or what stands beside a word."""
    way, most = draw.any(_WAYS), len(items)
    at = draw.whole(1, most - 1)
    to = draw.whole(at + 1, most)
    # Not one: the last one alone is told by one_item.
    k = min(draw.whole(2, max(2, most - 1)), draw.any((2, 2, 3, most)))
    if way == "middle" and most % 2 == 0:
        return by_place(draw, items)
    x, back = given.typed(draw, items), items[::-1]
    here = items[at] if way == "before" else items[at - 1]
    fields = {"k": draw.any((k, spelled(k))), "m": to, "p": ORDINALS[at], "q": ORDINALS[at + 1], "y": here,
              "z": items[-1], "n": given.in_quotes(draw, new := given.word(draw))}  # fmt: skip
    if way == "between":
        if most < 3:
            return by_place(draw, items)
        fields |= {"y": items[at - 1 if at + 1 < most else at - 2], "z": items[at + 1 if at + 1 < most else at]}
    fields |= {"k": at, "q": ORDINALS[to]} if way == "slice" else {}
    ask = draw.asked(_WORDING, way, x=x, **fields)
    if way in ("no_first", "no_last", "after", "between", "last_to_front", "first_to_end"):
        answers = {"no_first": items[1:], "no_last": items[:-1], "last_to_front": [items[-1], *items[:-1]],
                   "first_to_end": [*items[1:], items[0]], "after": items[at : at + 1],
                   "between": items[at if at + 1 < most else at - 1 :][:1]}  # fmt: skip
        return [given.handed_back(draw, ask, ", ".join(answers[way]))]
    front, some = items[: at - 1], items[at - 1 : to]
    swapped = [*front, items[at], items[at - 1], *items[at + 1 :]]
    shown, answer = {
        "first_k": (given.numbered(items[:k]), items[:k]),
        "last_k": (f"From the end: {given.numbered(back[:k])}", items[-k:]),
        "drop_first_k": (f"Out: {given.numbered(items[:k])}", items[k:]),
        "drop_last_k": (f"Out, from the end: {given.numbered(back[:k])}", items[:-k]),
        "drop_nth": (f"{given.numbered(items[:at])}. Out: {items[at - 1]}", [*front, *items[at:]]),
        "swap_two": (f"{given.numbered(items[: at + 1])}. Swapped: {items[at]}, {items[at - 1]}", swapped),
        "insert_at": (f"{given.numbered([*front, new])}. Then {items[at - 1]}", [*front, new, *items[at - 1 :]]),
        "replace_nth": (f"{given.numbered(items[:at])}. Not {items[at - 1]}: {new}", [*front, new, *items[at:]]),
        "middle": (f"{given.numbered(items)}. In the middle: {most // 2 + 1}", [items[most // 2]]),
        "every_other": (_by_turns(items, "yes"), items[::2]), "every_second": (_by_turns(items, "no"), items[1::2]),
        "slice": (f"{given.numbered(items[:to])}. From {at}: {given.numbered(some, at)}", some),
        "place_of": (given.numbered(items[:at]), [str(at)]),
        "before": (", ".join(items[: at + 1]), [items[at - 1]]),
    }[way]  # fmt: skip
    return [given.worked(ask, shown, ", ".join(answer))]


def _by_turns(items: list[str], first: str) -> str:
    """The items with yes and no in turns."""
    return ", ".join(f"{item} {first if at % 2 == 0 else 'no' if first == 'yes' else 'yes'}"
                     for at, item in enumerate(items))  # fmt: skip
