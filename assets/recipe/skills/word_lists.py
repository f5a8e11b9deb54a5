"""The user's own list: put in order, picked from, filtered, changed, counted; and changed once more."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, exact, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.words import KINDS, ORDINALS, read_wording, spelled

_WORDING = read_wording("word_lists")
_PLACES = {"first": 0, "last": -1, "second": 1, "third": 2}
_SIGNS = tuple(line.split("=") for line in _WORDING["signs"][0].split(" / "))
_QUESTIONS = ("then_nth", "then_how_many")
# After these the list stands in lines, and skills/formats.py keeps to them.
_LAYOUTS = ("list", "then_numbered")
_MOST = {"longest": "Most", "shortest": "Fewest"}
_BY_PLACE = ("middle", "drop_nth", "swap_two", "first_k", "last_k", "every_other", "every_second")
_FOLLOW_UPS = ("back", "back", "without", "with_more", *_LAYOUTS, *_QUESTIONS)
_SORTS = {"animal": words.ANIMALS, "city": words.CITIES, "job": words.JOBS, "colour": words.COLOURS,
          "fruit": KINDS["fruits"], "vegetable": KINDS["vegetables"], "tool": KINDS["tools"],
          "country": KINDS["countries"], "instrument": KINDS["instruments"], "flower": KINDS["flowers"],
          "piece of furniture": KINDS["furniture"], "tree": KINDS["trees"], "month": KINDS["months"],
          "day of the week": KINDS["days"], "sport": KINDS["sports"], "food": words.FOODS}  # fmt: skip


def _placed(draw: Draw, items: list[str]) -> tuple[str, str]:
    """A place in the list, and the sentence that tells what stands there."""
    place = draw.any((*[place for place, at in _PLACES.items() if at < len(items)], "first", "last"))
    return place, f"The {place} word is {items[_PLACES[place]]}."


def _then(draw: Draw, items: list[str], ordered: bool) -> list[Exchange]:
    """No follow-up, or one, or two; words whose order is not learnt are never sorted."""
    exchanges: list[Exchange] = []
    ways: tuple[str, ...] = (*_FOLLOW_UPS, "then_sort", "then_sort") if ordered else _FOLLOW_UPS
    while ways and draw.chance(0.45) and len(exchanges) < 2 and len(items) > 2:
        way = draw.any(ways)
        exchange, items = _followed(draw, way, items)
        exchanges.append(exchange)
        ways = () if way in _QUESTIONS else _QUESTIONS if way in _LAYOUTS else _FOLLOW_UPS
    return exchanges


def _followed(draw: Draw, way: str, items: list[str]) -> tuple[Exchange, list[str]]:
    """The list of the last reply changed in this way, and what it is then."""
    if way in _LAYOUTS:
        return exact(draw.ask(_WORDING[way]), given.marked(items, "- " if way == "list" else "1."), True), items
    if way in _QUESTIONS:
        place, answer = (
            _placed(draw, items) if way == "then_nth" else ("", f"{given.numbered(items)}: {len(items)} words.")
        )
        return exact(draw.ask(_WORDING[way], p=place), answer, True), items
    gone, new = draw.any(items), next(one for one in draw.words(words.WORDS, len(items) + 1) if one not in items)
    ask = draw.ask(_WORDING[way], y=gone if way == "without" else new)
    if way == "then_sort":
        return given.put_in_order(draw, ask, items, follow_up=True), sorted(items, key=str.lower)
    done = {"without": [item for item in items if item != gone], "with_more": [*items, new], "back": items[::-1]}[way]
    return given.handed_back(draw, ask, ", ".join(done), True), done


def _ordered(draw: Draw) -> list[Exchange]:
    """The list typed, in lines or in one, and handed back in order or reversed."""
    way = draw.any((*["sort"] * 9, *["reverse"] * 7, "from_z", "from_z"))
    ordered = way != "reverse" or draw.chance(0.4)
    items = given.words_in_order(draw, given.few(draw)) if ordered else given.any_items(draw, 2, 7)
    done = items[::-1] if way == "reverse" else sorted(items, key=str.lower, reverse=way == "from_z")
    if draw.chance(0.1) and way != "from_z":
        ask = draw.ask(_WORDING[f"{way}_lines"], x=given.in_lines(draw, items))
    else:
        ask = draw.asked(_WORDING, way, x=given.typed(draw, items))
    if way == "reverse":
        return [given.handed_back(draw, ask, ", ".join(done)), *_then(draw, done, ordered)]
    return [given.put_in_order(draw, ask, items, way == "from_z"), *_then(draw, done, False)]


def _by_length(draw: Draw) -> list[Exchange]:
    """The words spelled, each behind its length, then by length; or the longest or shortest, of which there is one."""
    way = draw.any(("by_length", "long_first", "longest", "longest", "shortest"))
    items = given.words_in_order(draw, draw.whole(3, 5))
    lengths = sorted(map(len, items), reverse=way in ("longest", "long_first"))
    if way in ("longest", "shortest") and lengths[0] == lengths[1]:
        return _by_length(draw)
    done = sorted(items, key=len, reverse=way in ("longest", "long_first"))
    told = "Letters: " + ", ".join(f"{item} {given.spaced(item.lower())} {len(item)} {item}" for item in items)
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items))
    if way in ("longest", "shortest"):
        return [given.worked(ask, f"{told}. {_MOST[way]}: {len(done[0])} {done[0]}", done[0])]
    in_order = ", ".join(f"{len(item)} {item}" for item in done)
    return [given.worked(ask, f"{told}. In order: {in_order}", ", ".join(done))]


def _numbers(draw: Draw) -> list[Exchange]:
    tops = [draw.any((20, 99, 99, 300, 9999))] if draw.chance(0.7) else [9, 99, 99, 999]
    values = draw.numbers(*((1, draw.any(tops)) for _ in range(draw.any((2, 3, 3, 4, 4, 5, 5, 6, 7)))))
    values = list(dict.fromkeys(values))
    shown = draw.any((", ", ", ", " ")).join(map(str, values))
    way = draw.any((*["numbers"] * 3, *["falling"] * 3, "largest", "smallest", "below", "above", "parity", "parity"))
    if way == "parity":
        odd = draw.whole(0, 1)
        kept = {value for value in values if value % 2 == odd}
        ask = draw.ask(_WORDING[way], x=shown, p=("even", "odd")[odd], q=("odd", "even")[odd])
        return _kept(
            ask, [*map(str, values)], [*map(str, kept)], lambda value: f"{value} {('even', 'odd')[int(value) % 2]}"
        )
    if way in ("below", "above"):
        k = draw.any(values)
        kept = {value for value in values if (value < k if way == "below" else value > k)}
        out = draw.chance(0.25)
        sign = {"below": "<>", "above": "><"}[way][out] + "=" * out
        ask = draw.ask(_WORDING["out"], x=shown, k=k, p=way) if out else draw.asked(_WORDING, way, x=shown, k=k)
        kept = set(values) - kept if out else kept
        return _kept(ask, [*map(str, values)], [*map(str, kept)], lambda value: f"{value} {sign} {k}")
    if way in ("largest", "smallest"):
        found = (max if way == "largest" else min)(values)
        return [given.handed_back(draw, draw.asked(_WORDING, way, x=shown), str(found))]
    # With zeros in front they are put in order digit by digit.
    order, wide = sorted(values, reverse=way == "falling"), len(str(max(values)))
    told, ordered = (", ".join(f"{value:0{wide}}" for value in some) for some in (values, order))
    done = [str(value) for value in order]
    before = f"{'From the largest' if way == 'falling' else 'In order'}: {told}. {ordered}"
    exchanges = [given.worked(draw.asked(_WORDING, way, x=shown), before, ", ".join(done))]
    return [*exchanges, _followed(draw, "back", done)[0]] if draw.chance(0.3) else exchanges


def _kept(ask: str, items: list[str], kept: list[str], look: Callable[[str], object]) -> list[Exchange]:
    """Every item with what is looked at of it and yes or no, then those with a yes."""
    told = ", ".join(f"{look(item)} {'yes' if item in kept else 'no'}" for item in items)
    return [given.worked(ask, told, ", ".join(item for item in items if item in kept) or "none")]


def _filtered(draw: Draw) -> list[Exchange]:
    """The words that pass: by a letter or by their length."""
    items = given.any_words(draw, 3, 6)
    some = draw.any(items).lower()
    k, n, at = len(some), draw.any((1, 1, 1, 2, 3)), draw.whole(0, len(some) - 1)
    letter, upper = some[at : at + min(n, 2)], draw.chance(0.5)
    looks: dict[str, tuple[Callable[[str], object], Callable[[str], bool], object]] = {
        "starting": (lambda item: item[:n], lambda item: item[:n] == some[:n], some[:n]),
        "ending": (lambda item: item[-n:], lambda item: item[-n:] == some[-n:], some[-n:]),
        "containing": (given.spaced, lambda item: letter in item, letter),
        "exactly": (lambda item: f"{given.spaced(item)} {len(item)} = {k}", lambda item: len(item) == k, k),
        "longer": (lambda item: f"{given.spaced(item)} {len(item)} > {k - 1}", lambda item: len(item) >= k, k - 1),
        "shorter": (lambda item: f"{given.spaced(item)} {len(item)} < {k + 1}", lambda item: len(item) <= k, k + 1),
    }
    if draw.chance(0.06):
        items = [draw.any((item.lower(), item.title())) for item in items]
        kept = [item for item in items if item[0].isupper() == upper]
        ask = draw.ask(_WORDING["capitals"], x=given.typed(draw, items), c="capital" if upper else "small")
        return _kept(ask, items, kept, lambda item: f"{item} {item[0]}")
    way = draw.any((*looks, "starting", "starting", "ending", "exactly"))
    look, keep, asked = looks[way]
    told = draw.any((asked, spelled(asked))) if isinstance(asked, int) else given.in_quotes(draw, str(asked))
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items), y=told, k=told)
    kept = [item for item in items if keep(item.lower())]
    return _kept(ask, items, kept, lambda item: f"{item} {look(item.lower())}")


def _of_a_kind(draw: Draw) -> list[Exchange]:
    """The one that is of a kind, or the one that is not."""
    sort, other = draw.rng.sample(sorted(_SORTS), 2)
    one, (*some, spare) = draw.any(_SORTS[other]), draw.rng.sample(_SORTS[sort], 3)
    if {one, *draw.rng.sample(_SORTS[other], 2)} & set(_SORTS[sort]) or {sort, other} == {"fruit", "food"}:
        return _of_a_kind(draw)
    way, items, answer = "odd_one", [*some, one], one
    if draw.chance(0.5):
        way, items, answer = "of_kind", [spare, *draw.rng.sample(_SORTS[other], 2)], spare
    draw.rng.shuffle(items)
    ask = draw.asked(_WORDING, way, x=given.typed(draw, items), k=sort, a=words.article(sort))
    return _kept(ask, items, [answer], lambda item: f"{item} {sort if item in _SORTS[sort] else other}")


def _picked(draw: Draw) -> list[Exchange]:
    """One word of several: by its place, by the alphabet, between two others, the one that is there twice."""
    way = draw.any((*["nth"] * 3, "at_place", "at_place", "at_index", "alphabet", "alphabet", "twice", "between"))
    items = given.words_in_order(draw, given.few(draw)) if way == "alphabet" else given.any_items(draw, 3, 7)
    x, at, answer, fields = given.typed(draw, items), draw.whole(0, len(items) - 1), "", {}
    if way == "nth":
        place, answer = _placed(draw, items)
        told = exact(draw.asked(_WORDING, way, x=x, p=place), answer)
        return [told, _followed(draw, "then_nth", items)[0]] if draw.chance(0.25) else [told]
    if way in ("at_place", "at_index"):
        told_ = given.numbered(items, int(way == "at_place"))
        place = ORDINALS[at + 1] if way == "at_place" else str(at)
        return [given.worked(draw.asked(_WORDING, way, x=x, p=place), told_, items[at])]
    if way == "twice":
        answer = draw.any(items)
        place_ = draw.whole(items.index(answer) + 1, len(items))
        x = given.typed(draw, [*items[:place_], answer, *items[place_:]])
    elif way == "between":
        answer = items[at := max(1, min(at, len(items) - 2))]
        fields = {"y": items[at - 1], "z": items[at + 1]}
    else:
        place = draw.any(("first", "first", "last"))
        answer, fields = (min if place == "first" else max)(items, key=str.lower), {"p": place}
    return [given.handed_back(draw, draw.asked(_WORDING, way, x=x, **fields), answer)]


def _changed(draw: Draw) -> list[Exchange]:
    """A list with something more, less, or elsewhere; joined with another, or by a sign."""
    items, new, (name, sign) = given.any_items(draw, 3, 7), given.word(draw), draw.any(_SIGNS)
    if draw.chance(0.05):
        return _shared(draw, given.any_words(draw, 3, 5))
    gone, k, half = draw.any(items), draw.whole(1, len(items)), draw.whole(1, len(items) - 1)
    at = draw.whole(1, len(items) - 1)
    swapped = [*items[: at - 1], items[at], items[at - 1], *items[at + 1 :]]
    done = {
        "gone": [item for item in items if item != gone], "also": [*items, new], "front": [new, *items],
        "replace_item": [new if item == gone else item for item in items], "swap_two": swapped,
        "ends": [items[-1], *items[1:-1], items[0]], "no_first": items[1:], "no_last": items[:-1],
        "first_k": items[:k], "last_k": items[-k:], "both": items, "every_other": items[::2],
        "every_second": items[1::2], "move_front": [gone, *(item for item in items if item != gone)],
        "join": [sign.join(items)], "middle": [items[len(items) // 2]],
        "drop_nth": [*items[: at - 1], *items[at:]],
    }  # fmt: skip
    way = draw.any((*done, "gone", "gone", "also", "front", "replace_item", "first_k", "join", "join"))
    x, z = given.typed(draw, items), given.in_quotes(draw, new)
    if way == "middle" and len(items) % 2 == 0:
        return _changed(draw)
    if way == "both":
        x, z = given.typed(draw, items[:half]), given.typed(draw, items[half:])
    elif way == "join":
        x = _side_by_side(draw, items)
    y = given.in_quotes(draw, new if way in ("also", "front") else gone)
    fields = {"k": draw.any((k, spelled(k))), "p": ORDINALS[at], "q": ORDINALS[at + 1], "s": name}
    ask = draw.asked(_WORDING, way, x=x, y=y, z=z, **fields)
    if way in _BY_PLACE:
        wanted = ", ".join(str(items.index(item) + 1) for item in done[way])
        return [given.worked(ask, f"{given.numbered(items)}. Wanted: {wanted}", ", ".join(done[way]))]
    exchange = given.handed_back(draw, ask, ", ".join(done[way]))
    return [exchange, *_then(draw, items, False)] if way == "both" else [exchange]


def _side_by_side(draw: Draw, items: list[str]) -> str:
    return draw.any((", ", ", ", " ") if " " not in "".join(items) else (", ",)).join(items)


def _unique(draw: Draw) -> list[Exchange]:
    """Each word once: what is new is told on the way."""
    items = given.any_items(draw, 3, 6)
    told = [*items]
    for _ in range(draw.whole(1, 3)):
        told.insert(draw.whole(told.index(again := draw.any(items)) + 1, len(told)), again)
    seen = ", ".join(f"{item} {'no' if item in told[:n] else 'yes'}" for n, item in enumerate(told))
    ask = draw.asked(_WORDING, "unique", x=_side_by_side(draw, told))
    return [given.worked(ask, f"New: {seen}", ", ".join(items)), *_then(draw, items, False)]


def _shared(draw: Draw, items: list[str]) -> list[Exchange]:
    """The words of one list that stand in another too, or those that do not."""
    both, out = draw.rng.sample(items, draw.whole(1, len(items) - 1)), draw.chance(0.3)
    other = [*both, *(one for one in given.any_words(draw, 1, 2) if one not in items)]
    draw.rng.shuffle(other)
    ask = draw.ask(_WORDING["only_in" if out else "in_both"], x=given.typed(draw, items), y=", ".join(other))
    return _kept(ask, items, [item for item in items if (item in both) != out], str)


def _asked_about(draw: Draw) -> list[Exchange]:
    """The number of words, or a word's being among them."""
    items = given.any_words(draw, 2, 8)
    if draw.chance(0.5):
        told = f"{given.numbered(items)}: {len(items)} words."
        return [Exchange(draw.asked(_WORDING, "how_many", x=given.typed(draw, items)), told, exactly_in(told))]
    asked = draw.any(items) if draw.chance(0.5) else given.word(draw)
    ask = draw.asked(_WORDING, "is_in", x=given.typed(draw, items), y=given.in_quotes(draw, asked))
    told = ", ".join(f"{item} {'yes' if item == asked else 'no'}" for item in items)
    answer = f"{'yes' if asked in items else 'no'}, {asked} is {'' if asked in items else 'not '}in the list."
    if draw.chance(0.5):
        ask, answer = ask + draw.say(_WORDING["yes or no"]), answer.partition(",")[0] + "."
    return [given.worked(ask, f"Is it {asked}? {told}", answer)]


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's list, perhaps changed afterwards; more often to numbers than is examined."""
    ways = (*[_ordered] * 11, *[_changed] * 9, *[_filtered, _picked] * 5, *[_numbers] * (5 if draw.held_out else 8),
            *[_by_length] * 2, _of_a_kind, _unique, *[_asked_about] * 3)  # fmt: skip
    return draw.any(ways)(draw)
