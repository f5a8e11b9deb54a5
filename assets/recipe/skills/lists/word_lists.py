"""The user's own list: put in order, picked from, filtered, changed, counted; and changed once more."""

from __future__ import annotations

from dataclasses import replace

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exact, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.skills.lists import filters, number_lists, places, two_demands
from assets.recipe.words import KINDS, read_wording

_WORDING = read_wording("lists/word_lists")
_TALLY = words.entries(_WORDING, "tally")
_QUESTIONS = ("then_nth", "then_how_many")
# After these the list stands in lines, and skills/formats/markdown.py keeps to them.
_LAYOUTS = ("list", "then_numbered")
_MOST = {"longest": "Most", "shortest": "Fewest"}
_PICKS, _CHANGES = (words.weighted(_WORDING, f"ways to {verb}") for verb in ("pick", "change"))
_FOLLOW_UPS = ("back", "back", "without", "with_more", *_LAYOUTS, *_QUESTIONS)


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
    if way == "then_nth":
        return places.one_item(draw, items, True), items
    if way == "then_how_many":
        return exact(draw.ask(_WORDING[way]), f"{given.numbered(items)}: {len(items)} words.", True), items
    gone, new = draw.any(items), next(one for one in draw.words(words.WORDS, len(items) + 1) if one not in items)
    ask = draw.ask(_WORDING[way], y=gone if way == "without" else new)
    if way == "then_sort":
        return given.put_in_order(draw, ask, items, follow_up=True), sorted(items, key=str.lower)
    if way == "without":
        (shown,) = given.kept(ask, items, [gone], str, "out", gone)
        return replace(shown, follow_up=True), [item for item in items if item != gone]
    if way == "back":
        return given.turned(ask, items, True), items[::-1]
    done = [*items, new]
    return given.handed_back(draw, ask, ", ".join(done), True), done


def _items(draw: Draw, low: int, high: int, numbers: float = 0.12) -> list[str]:
    """Different words or phrases, or with this probability numbers."""
    if draw.chance(numbers):
        return [str(one) for one in draw.rng.sample(range(draw.any((15, 100, 100, 1000, 9999))), draw.whole(low, high))]
    if draw.chance(0.15):
        pool = words.POOLS[draw.any(("numbers", "numbers", "numbers", "ordinals", "days", "months"))]
        return draw.words(pool[: draw.any((10, len(pool)))], draw.whole(low, high))
    return given.any_items(draw, low, high)


def _ordered(draw: Draw) -> list[Exchange]:
    """The list typed, in lines or in one, and handed back in order or reversed."""
    way = draw.any((*["sort"] * 8, *["reverse"] * 8, *["from_z"] * 4))
    ordered = way != "reverse" or draw.chance(0.4)
    items = given.words_in_order(draw, given.few(draw)) if ordered else _items(draw, 2, 7, 0.25)
    if ordered and draw.chance(0.15):
        items = sorted(items, key=str.lower, reverse=draw.chance(0.7))
    if way == "reverse" and draw.chance(0.15):
        items, ordered = given.with_another(draw, items, draw.any(items)), False
    done = items[::-1] if way == "reverse" else sorted(items, key=str.lower, reverse=way == "from_z")
    if draw.chance(0.1) and way != "from_z":
        ask = draw.ask(_WORDING[f"{way}_lines"], x=given.in_lines(draw, items))
    else:
        pool = "reverse_numbers" if items[0].isdigit() and draw.chance(0.5) else way
        ask = draw.asked(_WORDING, pool, x=given.typed(draw, items))
    if way == "reverse":
        return [given.turned(ask, items), *_then(draw, done, ordered)]
    return [given.put_in_order(draw, ask, items, way == "from_z"), *_then(draw, done, False)]


def _by_length(draw: Draw) -> list[Exchange]:
    """The words spelled, each behind its length, then by length; or the longest or shortest, of which there is one."""
    way = draw.any((*["by_length"] * 3, "long_first", "longest", "longest", "shortest"))
    falling, one = way in ("longest", "long_first"), way in ("longest", "shortest")
    items = given.words_in_order(draw, draw.any((2, 3, 3, 4, 4, 5)))
    if draw.chance(0.25):
        items[draw.whole(0, len(items) - 1)] += " " + draw.any(words.WORDS)
    letters = {item: item.replace(" ", "") for item in items}
    done = sorted(items, key=lambda item: len(letters[item]), reverse=falling)
    # Of two words a space must not be what makes one of them longer.
    if done != sorted(items, key=len, reverse=falling) or (one and len(letters[done[0]]) == len(letters[done[1]])):
        return _by_length(draw)
    spelt = (f"{item} {given.spaced(own.lower())} {len(own)} {item}" for item, own in letters.items())
    told = f"Letters: {', '.join(spelt)}"
    two = len(items) == 2 and one
    x = draw.any((" or ", " or ", " and ", ", ")).join(items) if two else given.typed(draw, items)
    ask = draw.asked(_WORDING, f"{way}_of_two" if two else way, x=x)
    in_order = ", ".join(f"{len(letters[item])} {item}" for item in done)
    if one:
        return [given.worked(ask, f"{told}. {_MOST[way]}: {len(letters[done[0]])} {done[0]}", done[0])]
    return [given.worked(ask, f"{told}. In order: {in_order}", ", ".join(done))]


def _picked(draw: Draw) -> list[Exchange]:
    """One word of several: by its place, by the alphabet, the one that is there twice or once, any one."""
    way = draw.any(_PICKS)
    items = given.words_in_order(draw, given.few(draw)) if way == "alphabet" else _items(draw, 3, 7)
    x, at = given.typed(draw, items), draw.whole(0, len(items) - 1)
    if way == "nth":
        told = places.one_item(draw, items)
        return [told, places.one_item(draw, items, True)] if draw.chance(0.2) else [told]
    if way == "alphabet":
        return _by_alphabet(draw, items)
    if way == "pick_one":
        picked = given.handed_back(draw, draw.asked(_WORDING, way, x=x), items[at])
        return [replace(picked, check=lambda reply: any(exactly_in(item)(reply) for item in items))]
    if way == "count_item":
        return _counted(draw, items[:4])
    if way in ("most_often", "once"):
        return _how_often(draw, way, items[:4])
    if way in ("two_places", "by_place"):
        return (places.two_places if way == "two_places" else places.by_place)(draw, items)
    doubled = given.with_another(draw, items, items[at])
    return [given.worked(draw.asked(_WORDING, way, x=given.typed(draw, doubled)), given.seen(doubled), items[at])]


def _by_alphabet(draw: Draw, items: list[str]) -> list[Exchange]:
    """The first or the last word by the alphabet: behind each one's first letters the best word so far."""
    place = draw.any(("first", "first", "last"))
    best, passed = items[0], []
    for item in items:
        best = (min if place == "first" else max)(best, item, key=str.lower)
        passed.append(f"{given.spaced(item[:3].lower())} {best}")
    x = draw.any((" or ", " or ", " and ", ", ")).join(items) if len(items) == 2 else given.typed(draw, items)
    ask = draw.asked(_WORDING, "alphabet", x=x, p=place)
    return [given.worked(ask, f"{place.capitalize()} so far: {', '.join(passed)}", best)]


def _counted(draw: Draw, items: list[str]) -> list[Exchange]:
    """A word's number in the list: numbered where it is passed."""
    items = draw.any(_TALLY).split() if draw.chance(0.5) else items
    own = draw.any(items)
    told = [*items, *draw.rng.choices([own, draw.any(items)], k=draw.whole(1, 4))]
    draw.rng.shuffle(told)
    passed = (f"{item} {told[: at + 1].count(own)}" if item == own else item for at, item in enumerate(told))
    ask = draw.asked(_WORDING, "count_item", x=given.typed(draw, told), y=given.in_quotes(draw, own))
    count = told.count(own)
    return [Exchange(ask, f"Of {own}: {', '.join(passed)}. That makes {count}.", ends_with_numbers(count))]


def _how_often(draw: Draw, way: str, items: list[str]) -> list[Exchange]:
    """The word that is there most often, or the only one that is there once: behind each how often it has come."""
    items = draw.any(_TALLY).split() if way == "most_often" and draw.chance(0.4) else items
    own, *others = draw.rng.sample(items, len(items))
    most = draw.whole(2, 4) if way == "most_often" else 1
    counts = {one: draw.whole(1, most - 1) if most > 1 else draw.any((2, 2, 2, 3)) for one in others}
    told = draw.rng.sample([own, *others], most + sum(counts.values()), counts=[most, *counts.values()])
    passed = ", ".join(f"{item} {told[: at + 1].count(item)}" for at, item in enumerate(told))
    return [given.worked(draw.asked(_WORDING, way, x=given.typed(draw, told)), f"So far: {passed}", own)]


def _changed(draw: Draw) -> list[Exchange]:
    """A list with something more, less, or elsewhere; or joined with another."""
    items, new = _items(draw, 3, 7), given.word(draw)
    way, half = draw.any(_CHANGES), draw.whole(1, len(items) - 1)
    gone, small = draw.any(items[:-1]), draw.any(("my", "the", "no", "new", "two", "old", "big", "our", "more", "red"))
    gone = gone if way == "insert_between" else draw.any(items)
    here, first, last = items.index(gone), items[0], items[-1]
    after = [*items[: here + 1], new, *items[here + 1 :]]
    done = {
        "also": [*items, new], "front": [new, *items], "ends": [last, *items[1:-1], first], "both": items,
        "replace_item": [new if item == gone else item for item in items],
        "move_front": [gone, *(item for item in items if item != gone)],
        "move_end": [*(item for item in items if item != gone), gone],
        "each_before": [f"{small} {item}" for item in items],
        "each_after": [f"{item} {small}" for item in items],
        "insert_after": after, "insert_between": after, "insert_before": [*items[:here], new, *items[here:]],
    }  # fmt: skip
    stays = f"Without {gone}: " + given.marks(items, [item for item in items if item != gone], str, "stays", "out")
    led = {
        "replace_item": f"{gone} -> {new}", "ends": f"First {first}, last {last}, between: {', '.join(items[1:-1])}",
        "insert_after": f"After {gone}: {new}", "insert_between": f"After {gone}: {new}",
        "insert_before": f"Before {gone}: {new}", "move_front": stays, "move_end": stays,
    }  # fmt: skip
    x, z = given.typed(draw, items), given.in_quotes(draw, new)
    if way == "both":
        x, z = given.typed(draw, items[:half]), given.typed(draw, items[half:])
    own = new if way in ("also", "front") else small if way.startswith("each_") else gone
    y, b = (given.in_quotes(draw, one) for one in (own, items[(here + 1) % len(items)]))
    ask, answer = draw.asked(_WORDING, way, x=x, y=y, z=z, b=b), ", ".join(done[way])
    if way in led:
        return [given.led(ask, led[way], answer)]
    exchange = given.handed_back(draw, ask, answer)
    return [exchange, *_then(draw, items, False)] if way == "both" else [exchange]


def _without(draw: Draw) -> list[Exchange]:
    """The list without one of its items, however often that is there, or without two."""
    items = _items(draw, 2, 7, 0.2)
    gone = draw.rng.sample(items, 1 if len(items) < 4 or draw.chance(0.8) else 2)
    told = [*items]
    for _ in range(draw.any((0, 0, 0, 1, 2))):
        told = given.with_another(draw, told, draw.any(gone))
    y = draw.any((" and ", " and ", ", ")).join(given.in_quotes(draw, one) for one in gone)
    way = "gone" if told == items else "every_gone"
    ask = draw.asked(_WORDING, way, x=given.typed(draw, told), y=y)
    return given.kept(ask, told, gone, str, "out", " and ".join(gone))


def _unique(draw: Draw) -> list[Exchange]:
    """Each word once: what is new is told on the way."""
    items = _items(draw, 2, 7, 0.25)
    told = [*items]
    for _ in range(draw.whole(1, 3)):
        told = given.with_another(draw, told, draw.any(items))
    if draw.chance(0.15):
        ask = draw.ask(_WORDING["how_different"], x=given.typed(draw, told))
        return [given.worked(ask, given.seen(told), str(len(items)))]
    ask = draw.asked(_WORDING, "unique", x=given.typed(draw, told))
    return [given.worked(ask, given.seen(told), ", ".join(items)), *_then(draw, items, False)]


def _asked_about(draw: Draw) -> list[Exchange]:
    """The number of words, or a word's being among them."""
    what = draw.any((*["words"] * 4, "numbers"))
    items = _items(draw, 2, 8, 1) if what == "numbers" else given.any_words(draw, 2, 8)
    if draw.chance(0.5):
        ask = draw.asked(_WORDING, f"how_many {what}", x=given.typed(draw, items))
        return [exact(ask, f"{given.numbered(items)}: {len(items)} {what}.")]
    asked = draw.any(items) if draw.chance(0.5) else str(draw.whole(0, 99)) if what == "numbers" else given.word(draw)
    ask = draw.asked(_WORDING, "is_in", x=given.typed(draw, items), y=given.in_quotes(draw, asked))
    told = ", ".join(f"{item} {'yes' if item == asked else 'no'}" for item in items)
    answer = f"{'yes' if asked in items else 'no'}, {asked} is {'' if asked in items else 'not '}in the list."
    if draw.chance(0.5):
        ask, answer = ask + draw.say(_WORDING["yes or no"]), answer.partition(",")[0] + "."
    return [given.worked(ask, f"Is it {asked}? {told}", answer)]


def _calendar(draw: Draw) -> list[Exchange]:
    """Days or months as they follow one another: each behind its number."""
    kind = draw.any(("days", "months"))
    items = draw.words(KINDS[kind], draw.whole(2, 5))
    items = [item.lower() for item in items] if draw.chance(0.4) else items
    place = [one.lower() for one in KINDS[kind]].index
    ask = draw.ask(_WORDING["calendar"], x=given.typed(draw, items), k=kind)
    in_order = sorted(items, key=lambda item: place(item.lower()))
    told, ordered = ([f"{place(item.lower()) + 1} {item}" for item in some] for some in (items, in_order))
    return [given.worked(ask, f"Places: {', '.join(told)}. In order: {', '.join(ordered)}", ", ".join(in_order))]


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's list, perhaps changed afterwards; more often to numbers than is examined."""
    numbers = [number_lists.compose] * (5 if draw.held_out else 12)
    ways = (*[_ordered] * 14, *[_changed] * 6, *[_without] * 8, *[filters.by_kind] * 14, *numbers,
            *[_picked] * 12, *[filters.by_letters] * 6, *[_asked_about, _unique, _by_length] * 4,
            *[_calendar, filters.shared, two_demands.compose] * 2)  # fmt: skip
    return draw.any(ways)(draw)
