"""More that is asked of the user's words: which of them, changed lists, and questions about letters and case."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange, ends_with_numbers, exact, exactly_in, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.letters import spaced
from assets.recipe.skills.user_words import any_items, handed_back, typed, word, words_in_order
from assets.recipe.words import read_wording, spelled

SAID = read_wording("variety")
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "second to last": -2}
_BETWEEN = (("spaces", " "), ("a space", " "), ("hyphens", "-"), ("dashes", "-"), ("dots", "."), ("commas", ", "),
            ("slashes", "/"))  # fmt: skip
_PALINDROMES = ("level", "radar", "noon", "civic", "kayak", "madam", "refer", "rotor", "stats", "wow")
_GREETED = ("dear", "hello", "hi", "thanks", "mr", "mrs", "good morning", "happy birthday")
_SETS = {"vowels": "aeiou", "consonants": "bcdfghjklmnpqrstvwxyz"}


def back(draw: Draw, way: str, answer: str, **fields: object) -> list[Exchange]:
    """The question asked in this way, and the answer handed back."""
    return [handed_back(draw, draw.ask(SAID[way], **fields), answer)]


def _told(draw: Draw, way: str, reply: str, check: Check, **fields: object) -> list[Exchange]:
    return [Exchange(draw.ask(SAID[way], **fields), reply, check)]


def _place(draw: Draw, among: str | list[str]) -> str:
    return draw.any([place for place, at in _PLACES.items() if -len(among) <= at < len(among)])


def _few(draw: Draw) -> list[str]:
    return words_in_order(draw, draw.any((3, 3, 4, 4, 4, 5, 5, 6, 7)))


def _by_size(draw: Draw) -> tuple[list[str], str]:
    """Words of different lengths, and these told."""
    items = list({len(item): item for item in _few(draw)}.values())
    return items, "Letters: " + ", ".join(f"{item} {len(item)}" for item in items)


def _filtered(draw: Draw) -> list[Exchange]:
    """What is looked at of every word, and those that pass: by a letter or by their length."""
    items = _few(draw)
    some = draw.any(items).lower()
    letter, k = draw.any(some), len(some)
    looks: dict[str, tuple[Callable[[str], object], Callable[[str], bool], object]] = {
        "starting": (lambda item: item[0], lambda item: item[0] == some[0], some[0]),
        "ending": (lambda item: item[-1], lambda item: item[-1] == some[-1], some[-1]),
        "containing": (lambda item: spaced(item), lambda item: letter in item, letter),
        "exactly": (len, lambda item: len(item) == k, k),
        "longer": (len, lambda item: len(item) >= k, k - 1),
        "shorter": (len, lambda item: len(item) <= k, k + 1),
    }
    way = draw.any((*looks, "starting", "ending"))
    look, keep, asked = looks[way]
    kept = ", ".join(item for item in items if keep(item.lower()))
    looked = ", ".join(f"{item} {look(item.lower())} {'yes' if keep(item.lower()) else 'no'}" for item in items)
    told = draw.any((asked, spelled(asked))) if isinstance(asked, int) else asked
    return _told(draw, way, f"{looked}. So {kept}", exactly_in(kept), x=typed(draw, items), y=told, k=told)


def _picked(draw: Draw) -> list[Exchange]:
    """One word of several."""
    way = draw.any(("shortest", "longest", "place", "place", "place", "alphabet", "alphabet", "twice"))
    if way in ("shortest", "longest"):
        items, lengths = _by_size(draw)
        done = f"the {way} is {(min if way == 'shortest' else max)(items, key=len)}."
        return _told(draw, way, f"{lengths}. So {done}", exactly_in(done), x=typed(draw, items))
    if way == "alphabet":
        items, place = _few(draw), draw.any(("first", "first", "last"))
        answer = (min if place == "first" else max)(items, key=str.lower)
        return back(draw, way, answer, x=typed(draw, items), p=place)
    items = any_items(draw, 3, 7)
    if way == "twice":
        again = draw.any(items)
        at = draw.whole(items.index(again) + 1, len(items))
        return back(draw, way, again, x=typed(draw, [*items[:at], again, *items[at:]]))
    place = _place(draw, items)
    answer = f"The {place} is {items[_PLACES[place]]}."
    return _told(draw, way, answer, exactly_in(answer), x=typed(draw, items), p=place)


def _changed(draw: Draw) -> list[Exchange]:
    """A list with something more, or less, or elsewhere; or what is in it."""
    items, new = any_items(draw, 2, 7), word(draw)
    gone, k, half = draw.any(items), draw.whole(1, len(items)), draw.whole(1, len(items) - 1)
    done = {
        "gone": [item for item in items if item != gone], "also": [*items, new], "front": [new, *items],
        "ends": [items[-1], *items[1:-1], items[0]], "no_first": items[1:], "no_last": items[:-1],
        "first_k": items[:k], "last_k": items[-k:], "both": items,
    }  # fmt: skip
    way = draw.any((*done, "gone", "gone", "also", "is_in", "count"))
    x = typed(draw, items)
    if way == "is_in":
        asked, inside = (gone, "Yes") if draw.chance(0.5) else (new, "No")
        answer = f"{inside}, {asked} is {'not ' if inside == 'No' else ''}in the list."
        return _told(draw, way, answer, mentions(inside), x=x, y=asked)
    if way == "count":
        told = ", ".join(f"{at} {item}" for at, item in enumerate(items, 1))
        return _told(draw, way, f"{told}: {len(items)} words.", ends_with_numbers(len(items)), x=x)
    y, z = gone if way == "gone" else new, ""
    if way == "both":
        x, z = typed(draw, items[:half]), typed(draw, items[half:])
    y = f'"{y}"' if draw.chance(0.3) else y
    return back(draw, way, ", ".join(done[way]), x=x, y=y, z=z, k=draw.any((k, spelled(k))))


def _ordered(draw: Draw) -> list[Exchange]:
    """Sorted or reversed."""
    way = draw.any((*["sorting"] * 5, *["backwards"] * 4, "falling", "lengths"))
    if way == "lengths":
        items, lengths = _by_size(draw)
        done = ", ".join(sorted(items, key=len))
        return _told(draw, way, f"{lengths}. So {done}", exactly_in(done), x=typed(draw, items))
    items = any_items(draw, 2, 7) if way == "backwards" else _few(draw)
    in_order = items[::-1] if way == "backwards" else sorted(items, key=str.lower, reverse=way == "falling")
    return back(draw, way, ", ".join(in_order), x=typed(draw, items))


def lists(draw: Draw) -> list[Exchange]:
    """A list filtered, changed, or put in order."""
    return draw.any((*[_filtered, _picked, _changed, _ordered] * 2, _ordered))(draw)


def _word(draw: Draw) -> str:
    style = draw.rng.random()
    return draw.any(words.every_word() if style < 0.7 else words.WORDS) if style < 0.9 else draw.nonsense()


def some_text(draw: Draw) -> str:
    """A word, a few, part of a sentence, or a name, as people want them in another case."""
    style = draw.rng.random()
    if style < 0.75:
        return " ".join(_word(draw) for _ in range(1 if style < 0.3 else draw.whole(2, 4)))
    if style < 0.85:
        return f"{draw.any(_GREETED)} {draw.name()}"
    first, joint = draw.any(("the", "my", "this", "our", "no", "a")), draw.any(("of", "and", "in", "is", "for"))
    return f"{first} {_word(draw)} {joint} {draw.any(('the ', 'my ', ''))}{_word(draw)}"


def _cased(draw: Draw, way: str) -> list[Exchange]:
    text = some_text(draw)
    given = text if way != "lower" else draw.any((text.upper(), text.upper(), text.title()))
    done = {"upper": str.upper, "lower": str.lower, "title": str.title}[way](given)
    return back(draw, way, done, x=f'"{given}"' if draw.chance(0.2) else given)


def _texts(draw: Draw, way: str) -> list[Exchange]:
    """The initials of several words, or their number."""
    if way == "initials":
        some = draw.names(draw.whole(2, 3)) if draw.chance(0.6) else [_word(draw) for _ in range(draw.whole(2, 5))]
        first = [one[0].upper() for one in some]
        return [exact(draw.ask(SAID[way], x=" ".join(some)), f"{', '.join(first)}: {''.join(first)}")]
    some = [*some_text(draw).split(), *draw.rng.sample(words.every_word(), draw.whole(0, 4))]
    told = ", ".join(f"{at} {one}" for at, one in enumerate(some, 1))
    return _told(draw, way, f"{told}: {len(some)} words.", ends_with_numbers(len(some)), x=" ".join(some))


def _letter(draw: Draw, own: str, shown: str, way: str) -> list[Exchange]:
    """One letter or some of them, found in the word spelled out."""
    letter = draw.any(own) if draw.chance(0.75) else draw.any("aeiourstlnmpd")
    ask = draw.ask(SAID[way], x=shown, y=draw.any((letter, letter, f'"{letter}"')))
    if way == "contains":
        answer = "Yes:" if letter in own else "No:"
        return [Exchange(ask, f"{answer} {spaced(own)}.", mentions(answer))]
    if way == "first_last":
        at, place = (0, "first") if "irst" in ask else (-1, "last")
        return [exact(ask, f"The {place} letter of {own} is {own[at]}.")]
    found = [one for one in own if one in _SETS.get(way, letter)]
    told = f"{spaced(own)}: {', '.join(found) or 'none'}. That makes {len(found)}."
    return [Exchange(ask, told, ends_with_numbers(len(found)))]


def _spelled(draw: Draw, own: str, shown: str, way: str) -> list[Exchange]:
    """The word spelled, and what comes of it."""
    if way == "palindrome":
        own = draw.any(_PALINDROMES) if draw.chance(0.45) else own
        answer = "yes, the same" if own == own[::-1] else "no, not the same"
        return _told(draw, way, f"{spaced(own)}, {spaced(own[::-1])}: {answer}.", mentions(answer), x=own)
    place, gone, new = _place(draw, own), draw.any(own), draw.any("aeiouxyztn")
    done = own[::-1] if way == "reverse_word" else own.replace(gone, new)
    ask = draw.ask(SAID[way], x=shown, y=gone, z=new, p=place)
    if way == "letter_at":
        answer = f"the {place} letter is {own[_PLACES[place]]}."
        return [Exchange(ask, f"{spaced(own)}. So {answer}", exactly_in(answer))]
    told = {"spelling": "", "how_long": f" has {len(own)} letters."}.get(way, f", {spaced(done)}: {done}")
    return [exact(ask, spaced(own) + told)]


_CASES = (*["upper"] * 5, *["lower"] * 4, "title", "title")
_SPELLED = (*["reverse_word", "spelling"] * 4, *["how_long"] * 3, "letter_at", "replace", "palindrome")
_LETTERS = ("occurs", "occurs", "vowels", "vowels", "consonants", "contains", "first_last")


def letters(draw: Draw) -> list[Exchange]:
    """One question about letters or their case."""
    way = draw.any((*_CASES, *_SPELLED, *_LETTERS, "spaced", "capital", "capital", "initials", "words_in"))
    if way in _CASES:
        return _cased(draw, way)
    if way in ("initials", "words_in"):
        return _texts(draw, way)
    own, (between, sign) = _word(draw), draw.any(_BETWEEN)
    shown = f'"{own}"' if draw.chance(0.2) else own
    if way in ("spaced", "capital"):
        return back(draw, way, sign.join(own) if way == "spaced" else own.capitalize(), x=shown, s=between)
    return (_spelled if way in _SPELLED else _letter)(draw, own, shown, way)
