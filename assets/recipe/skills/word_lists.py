"""The user's own list: sorted, reversed, counted, joined, and changed once more."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import any_words, few, handed_back, in_lines, typed, words_in_order
from assets.recipe.wording import read_wording

_WORDING = read_wording("word_lists")

_PLACES = {"first": 0, "last": -1, "second": 1, "third": 2}
_JOINED = (("commas", ", "), ('"and"', " and "), ("slashes", " / "), ("plus signs", " + "), ("semicolons", "; "))
_QUESTIONS = ("then_nth", "then_how_many")
# After these the list stands in lines, and skills/formats.py keeps to them.
_LAYOUTS = ("list", "then_numbered")
_FOLLOW_UPS = ("back", "back", "without", "with_more", *_LAYOUTS, *_QUESTIONS)


def _counted(items: list[str]) -> str:
    return ", ".join(f"{at} {item}" for at, item in enumerate(items, 1)) + f": {len(items)} words"


def _place(draw: Draw, items: list[str]) -> str:
    places = [place for place, at in _PLACES.items() if at < len(items)]
    return draw.any((*places, "first", "last"))


def _one_line(draw: Draw, way: str, items: list[str]) -> Exchange:
    return handed_back(draw, draw.ask(_WORDING[way]), ", ".join(items), True)


def _changed(draw: Draw, way: str, items: list[str]) -> tuple[Exchange, list[str]]:
    """The list of the last reply changed in this way, and what it is then."""
    if way in ("list", "then_numbered"):
        marks = ["-" if way == "list" else f"{at}." for at in range(1, len(items) + 1)]
        lines = "\n".join(f"{mark} {item}" for mark, item in zip(marks, items, strict=True))
        return Exchange(draw.ask(_WORDING[way]), lines, exactly_in(lines), True), items
    if way == "then_nth":
        place = _place(draw, items)
        answer = f"The {place} word is {items[_PLACES[place]]}"
        return Exchange(draw.ask(_WORDING[way], p=place), answer + ".", exactly_in(answer), True), items
    if way == "then_how_many":
        answer = _counted(items)
        return Exchange(draw.ask(_WORDING[way]), answer + ".", exactly_in(answer), True), items
    if way == "without":
        gone = draw.any(items)
        items = [item for item in items if item != gone]
        return handed_back(draw, draw.ask(_WORDING[way], y=gone), ", ".join(items), True), items
    if way == "with_more":
        extra = next(word for word in draw.words(words.WORDS, len(items) + 1) if word not in items)
        items = [*items, extra]
        return handed_back(draw, draw.ask(_WORDING[way], y=extra), ", ".join(items), True), items
    items = items[::-1] if way == "back" else sorted(items, key=str.lower)
    return _one_line(draw, way, items), items


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


def _which(draw: Draw, items: list[str]) -> list[Exchange]:
    """Sometimes: which word is first, or last."""
    return [_changed(draw, "then_nth", items)[0]] if draw.chance(0.4) else []


def _asked(draw: Draw, way: str, items: list[str]) -> str:
    if draw.chance(0.12):
        return draw.ask(_WORDING[f"{way}_lines"], x=in_lines(draw, items))
    return draw.ask(_WORDING[way], _WORDING[f"{way} varied"], x=typed(draw, items))


def _sort(draw: Draw) -> list[Exchange]:
    items = words_in_order(draw, few(draw))
    done = sorted(items, key=str.lower)
    return [handed_back(draw, _asked(draw, "sort", items), ", ".join(done)), *_then(draw, done, False)]


def _reverse(draw: Draw) -> list[Exchange]:
    ordered = draw.chance(0.5)
    items = words_in_order(draw, few(draw)) if ordered else any_words(draw, 2, 6)
    done = items[::-1]
    return [handed_back(draw, _asked(draw, "reverse", items), ", ".join(done)), *_then(draw, done, ordered)]


def _how_many(draw: Draw) -> list[Exchange]:
    items = any_words(draw, 2, 8)
    answer = _counted(items)
    ask = draw.ask(_WORDING["how_many"], _WORDING["how_many varied"], x=typed(draw, items))
    return [Exchange(ask, answer + ".", exactly_in(answer)), *_which(draw, items)]


def _numbers(draw: Draw) -> list[Exchange]:
    values = draw.numbers(*[(1, draw.any((20, 99, 99, 300)))] * draw.any((2, 3, 3, 4, 4, 5, 6, 7)))
    values = list(dict.fromkeys(values))
    shown = draw.any((", ", ", ", " ")).join(map(str, values))
    way = draw.any(("numbers", "numbers", "numbers", "falling", "largest", "smallest"))
    if way in ("largest", "smallest"):
        found = max(values) if way == "largest" else min(values)
        return [handed_back(draw, draw.ask(_WORDING[way], _WORDING[f"{way} varied"], x=shown), str(found))]
    done = [str(value) for value in sorted(values, reverse=way == "falling")]
    exchanges = [handed_back(draw, draw.ask(_WORDING[way], _WORDING[f"{way} varied"], x=shown), ", ".join(done))]
    if draw.chance(0.3):
        exchanges.append(_one_line(draw, "back", done[::-1]))
    return exchanges


def _nth(draw: Draw) -> list[Exchange]:
    items = any_words(draw, 2, 6)
    place = _place(draw, items)
    answer = f"The {place} word is {items[_PLACES[place]]}"
    ask = draw.ask(_WORDING["nth"], _WORDING["nth varied"], x=typed(draw, items), p=place)
    return [Exchange(ask, answer + ".", exactly_in(answer)), *_which(draw, items)]


def _longest(draw: Draw) -> list[Exchange]:
    """The lengths side by side, then the word; only lists with one longest word."""
    while True:
        items = words_in_order(draw, draw.whole(2, 4))
        best = max(items, key=len)
        if [len(item) for item in items].count(len(best)) == 1:
            break
    told = ", ".join(f"{item} {len(item)}" for item in items)
    answer = f"the longest is {best}"
    reply = f"Letters: {told}. So {answer}."
    ask = draw.ask(_WORDING["longest"], _WORDING["longest varied"], x=typed(draw, items))
    return [Exchange(ask, reply, exactly_in(answer))]


def _join(draw: Draw) -> list[Exchange]:
    items = any_words(draw, 2, 6)
    name, sign = draw.any(_JOINED)
    shown = (" " if sign == ", " or draw.chance(0.6) else ", ").join(items)
    ask = draw.ask(_WORDING["join"], _WORDING["join varied"], x=shown, s=name)
    return [handed_back(draw, ask, sign.join(items))]


def _unique(draw: Draw) -> list[Exchange]:
    items = words_in_order(draw, draw.whole(2, 5))
    told = [*items]
    for _ in range(draw.whole(1, 3)):
        again = draw.any(items)
        told.insert(draw.whole(told.index(again) + 1, len(told)), again)
    ask = draw.ask(_WORDING["unique"], _WORDING["unique varied"], x=draw.any((", ", ", ", " ")).join(told))
    return [handed_back(draw, ask, ", ".join(items)), *_then(draw, items, True)]


_WAYS = (*[_sort] * 8, *[_reverse] * 5, *[_numbers] * 4, _how_many, _how_many, _nth, _nth, _longest, _join,
         _unique, _unique)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's list, perhaps changed afterwards; more often to numbers than is examined."""
    return draw.any(_WAYS if draw.held_out else (*_WAYS, *[_numbers] * 4))(draw)
