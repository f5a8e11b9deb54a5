"""The user's own list: sorted, reversed, counted, joined, and changed once more."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange, exact, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import (
    any_items,
    any_words,
    few,
    handed_back,
    in_lines,
    marked,
    typed,
    words_in_order,
)  # fmt: skip
from assets.recipe.words import read_wording

_WORDING = read_wording("word_lists")
_PLACES = {"first": 0, "last": -1, "second": 1, "third": 2}
_JOINED = (("commas", ", "), ('"and"', " and "), ("slashes", " / "), ("plus signs", " + "), ("semicolons", "; "))
_QUESTIONS = ("then_nth", "then_how_many")
# After these the list stands in lines, and skills/formats.py keeps to them.
_LAYOUTS = ("list", "then_numbered")
_FOLLOW_UPS = ("back", "back", "without", "with_more", *_LAYOUTS, *_QUESTIONS)


def _sentence(ask: str, answer: str, follow_up: bool = False) -> Exchange:
    return Exchange(ask, answer + ".", exactly_in(answer), follow_up)


def _counted(items: list[str]) -> str:
    return ", ".join(f"{at} {item}" for at, item in enumerate(items, 1)) + f": {len(items)} words"


def _placed(draw: Draw, items: list[str]) -> tuple[str, str]:
    """A place in the list, and the sentence that tells what stands there."""
    place = draw.any((*[place for place, at in _PLACES.items() if at < len(items)], "first", "last"))
    return place, f"The {place} word is {items[_PLACES[place]]}"


def _changed(draw: Draw, way: str, items: list[str]) -> tuple[Exchange, list[str]]:
    """The list of the last reply changed in this way, and what it is then."""
    fields = {}
    if way in _LAYOUTS:
        return exact(draw.ask(_WORDING[way]), marked(items, "- " if way == "list" else "1."), True), items
    if way in _QUESTIONS:
        place, answer = _placed(draw, items) if way == "then_nth" else ("", _counted(items))
        return _sentence(draw.ask(_WORDING[way], p=place), answer, True), items
    if way == "without":
        fields = {"y": (gone := draw.any(items))}
        items = [item for item in items if item != gone]
    elif way == "with_more":
        fields = {"y": (new := next(word for word in draw.words(words.WORDS, len(items) + 1) if word not in items))}
        items = [*items, new]
    else:
        items = items[::-1] if way == "back" else sorted(items, key=str.lower)
    return handed_back(draw, draw.ask(_WORDING[way], **fields), ", ".join(items), True), items


def _then(draw: Draw, items: list[str], ordered: bool) -> list[Exchange]:
    """No follow-up, or one, or two; words whose order is not learnt are never sorted."""
    exchanges: list[Exchange] = []
    ways: tuple[str, ...] = (*_FOLLOW_UPS, "then_sort", "then_sort") if ordered else _FOLLOW_UPS
    while ways and draw.chance(0.55) and len(exchanges) < 2 and len(items) > 2:
        way = draw.any(ways)
        exchange, items = _changed(draw, way, items)
        exchanges.append(exchange)
        ways = () if way in _QUESTIONS else _QUESTIONS if way in _LAYOUTS else _FOLLOW_UPS
    return exchanges


def _put(draw: Draw) -> list[Exchange]:
    """The list typed, in lines or in one, and handed back in order or reversed."""
    way = draw.any((*["sort"] * 8, *["reverse"] * 5))
    ordered = way == "sort" or draw.chance(0.5)
    items = words_in_order(draw, few(draw)) if ordered else any_items(draw, 2, 6)
    done = sorted(items, key=str.lower) if way == "sort" else items[::-1]
    if draw.chance(0.12):
        ask = draw.ask(_WORDING[f"{way}_lines"], x=in_lines(draw, items))
    else:
        ask = draw.asked(_WORDING, way, x=typed(draw, items))
    return [handed_back(draw, ask, ", ".join(done)), *_then(draw, done, ordered and way != "sort")]


def _falling(draw: Draw) -> list[Exchange]:
    items = words_in_order(draw, few(draw))
    done = sorted(items, key=str.lower, reverse=True)
    return [handed_back(draw, draw.asked(_WORDING, "from_z", x=typed(draw, items)), ", ".join(done))]


def _by_length(draw: Draw) -> list[Exchange]:
    """The lengths side by side, then the words by length, or the longest alone; no two of one length."""
    items = list({len(item): item for item in words_in_order(draw, draw.whole(3, 5))}.values())
    way = draw.any(("by_length", "by_length", "long_first", "longest", "longest"))
    done = sorted(items, key=len, reverse=way != "by_length")
    answer = f"the longest is {done[0]}" if way == "longest" else ", ".join(done)
    ask, lengths = draw.asked(_WORDING, way, x=typed(draw, items)), ", ".join(f"{item} {len(item)}" for item in items)
    return [Exchange(ask, f"Letters: {lengths}. So {answer}{'.' * (way == 'longest')}", exactly_in(answer))]


def _told(draw: Draw) -> list[Exchange]:
    """Tell the number of words, or the first of them; sometimes then another place."""
    way = draw.any(("how_many", "nth"))
    items = any_words(draw, 2, 8) if way == "how_many" else any_items(draw, 2, 6)
    place, answer = _placed(draw, items) if way == "nth" else ("", _counted(items))
    told = _sentence(draw.asked(_WORDING, way, x=typed(draw, items), p=place), answer)
    return [told, _changed(draw, "then_nth", items)[0]] if draw.chance(0.4) else [told]


def _numbers(draw: Draw) -> list[Exchange]:
    values = draw.numbers(*[(1, draw.any((20, 99, 99, 300)))] * draw.any((2, 3, 3, 4, 4, 5, 6, 7)))
    values = list(dict.fromkeys(values))
    shown = draw.any((", ", ", ", " ")).join(map(str, values))
    way = draw.any(("numbers", "numbers", "numbers", "falling", "largest", "smallest"))
    if way in ("largest", "smallest"):
        return [handed_back(draw, draw.asked(_WORDING, way, x=shown), str((max if way == "largest" else min)(values)))]
    done = [str(value) for value in sorted(values, reverse=way == "falling")]
    exchanges = [handed_back(draw, draw.asked(_WORDING, way, x=shown), ", ".join(done))]
    return [*exchanges, _changed(draw, "back", done)[0]] if draw.chance(0.3) else exchanges


def _join(draw: Draw) -> list[Exchange]:
    items, (name, sign) = any_words(draw, 2, 6), draw.any(_JOINED)
    shown = (" " if sign == ", " or draw.chance(0.6) else ", ").join(items)
    return [handed_back(draw, draw.asked(_WORDING, "join", x=shown, s=name), sign.join(items))]


def _unique(draw: Draw) -> list[Exchange]:
    items = words_in_order(draw, draw.whole(2, 5))
    told = [*items]
    for _ in range(draw.whole(1, 3)):
        again = draw.any(items)
        told.insert(draw.whole(told.index(again) + 1, len(told)), again)
    ask = draw.asked(_WORDING, "unique", x=draw.any((", ", ", ", " ")).join(told))
    return [handed_back(draw, ask, ", ".join(items)), *_then(draw, items, True)]


_WAYS = (*[_put] * 13, *[_numbers] * 4, _falling, _falling, _by_length, _by_length, *[_told] * 4, _join, _unique,
         _unique)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's list, perhaps changed afterwards; more often to numbers than is examined."""
    return draw.any(_WAYS if draw.held_out else (*_WAYS, *[_numbers] * 9))(draw)
