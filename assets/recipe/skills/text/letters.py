"""The letters of the user's words: spelled, counted, changed, found; words counted and turned round; the alphabet.

In training also those of several words at once, where each reply teaches what many single questions would: a model
never sees letters, only pieces of words, and has to learn of each piece which letters it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exact, exactly_in, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.text import cases
from assets.recipe.skills.text.parts import SMALL
from assets.recipe.words import ALPHABET, read_wording, weighted

_WORDING = read_wording("text/letters")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
# The letters that are counted, if it is not the one asked about.
_COUNTED = {"one occurs": "", "one vowels": _VOWELS, "consonants": _CONSONANTS, "one contains": ""}
_REPETITIVE = [one for one in words.every_word() if max(map(one.count, one)) > 2]
_THINGS = [one.lower() for sort, pool in words.SORTS.items() if sort != "name" for one in pool]


def _word(draw: Draw) -> str:
    style = draw.rng.random()
    if style < 0.1:
        # Letters that come again and again are the hardest to pass one by one.
        first, second = (draw.nonsense(2, 4)[:3] for _ in range(2))
        return draw.any((first * 2 + second, first + second * 2, second + first * 2, first * 3))
    pool: Sequence[str] = words.every_word()
    pool = _REPETITIVE if style < 0.24 else _THINGS if style < 0.36 else cases.EVERYDAY if style < 0.48 else pool
    return draw.any(pool) if style < 0.87 else draw.nonsense()


def _spelled(draw: Draw) -> list[Exchange]:
    """A word spelled or its letters counted, perhaps another one's after it."""
    word = draw.any((draw.name(), draw.any(words.CITIES), _word(draw).upper())) if draw.chance(0.2) else _word(draw)
    if draw.chance(0.33):
        word += f" {draw.any(cases.EVERYDAY)}" if draw.chance(0.2) else ""
        return [_counted(cases.asked(draw, "letters", word), word.replace(" ", ""))]
    exchanges = [exact(cases.asked(draw, "spell", word), given.spaced(word))]
    if draw.chance(0.2):
        word = _word(draw)
        exchanges.append(exact(draw.asked(_WORDING, "then_spell", x=word), given.spaced(word), True))
    if draw.chance(0.3):
        exchanges.append(_counted(draw.asked(_WORDING, "then_letters"), word, True))
    return exchanges


def _counted(ask: str, word: str, follow_up: bool = False) -> Exchange:
    """An exchange that counts a word's letters one by one."""
    return Exchange(ask, f"{given.numbered([*word])}: {len(word)} letters.", ends_with_numbers(len(word)), follow_up)


def _changed(draw: Draw) -> list[Exchange]:
    """A word with its letters changed, spelled before and after."""
    own = draw.any((draw.name(), _word(draw).title(), _word(draw).upper())) if draw.chance(0.06) else _word(draw)
    letter, new = draw.any(own), draw.any("aeiouaeiouxyztn0013@*")
    done = {
        "one backwards": own[::-1], "no_vowels": "".join(one for one in own if one not in "aeiou"),
        "drop_first": own[1:], "drop_last": own[:-1], "in_order": "".join(sorted(own)),
        "drop_letter": own.replace(letter, ""), "replace": own.replace(letter, new),
        "replace_vowels": "".join(new if one in "aeiou" else one for one in own),
        "doubled": "".join(one * 2 for one in own), "swap_ends": own[-1] + own[1:-1] + own[0] if own[1:] else own,
        "first_changed": new + own[1:], "last_changed": own[:-1] + new, "more_first": new + own, "more_last": own + new,
    }  # fmt: skip
    way = draw.any(weighted(_WORDING, "ways of changing"))
    way = "one backwards" if own[0].isupper() else way
    y, z = (draw.any((one, given.in_quotes(draw, one))) for one in (letter, new))
    z = draw.any(("a zero", "zero", z)) if new == "0" else "a star" if new == "*" and draw.chance(0.4) else z
    ask = cases.asked(draw, way, own, y=y, z=z)
    if not done[way]:
        return _changed(draw)
    told = given.spaced(own)
    if way in ("no_vowels", "drop_letter", "replace", "replace_vowels", "doubled"):
        # Each letter beside what becomes of it, so that none is lost on the way.
        gone, instead = "aeiou" if way.endswith("vowels") else letter, new if way.startswith("replace") else ""
        changed = (one * 2 if way == "doubled" else instead if one in gone else one for one in own)
        told = ", ".join(f"{one} {new_one}".rstrip() for one, new_one in zip(own, changed, strict=True))
    return [Exchange(ask, f"{told}, {given.spaced(done[way])}: {done[way]}", exactly_in(done[way]))]


def _tallied(draw: Draw, way: str) -> list[Exchange]:
    """The number of letters of a kind in a word, or in two.

    Every letter is passed once, at its number so that none is lost; those that count are counted on the way.
    """
    own = draw.any(_REPETITIVE) if draw.chance(0.4) else _word(draw)
    own = own.title() if draw.chance(0.12) else own
    own += f" {_word(draw)}" if draw.chance(0.25) else ""
    letters = own.replace(" ", "")
    letter = draw.any(letters.lower() if draw.chance(0.5 if way == "one contains" else 0.85) else ALPHABET)
    counted, found, passed = _COUNTED[way] or letter, 0, []
    for one in letters:
        found += one.lower() in counted
        passed.append(f"{one} ({found})" if one.lower() in counted else one)
    ask = cases.asked(draw, way, own, y=given.in_quotes(draw, letter))
    name = way.removeprefix("one ").capitalize() if _COUNTED[way] else f"Letter {letter}"
    told = f"{name}: {given.numbered(passed)}. That makes {found}."
    if way == "one contains":
        answer = f"yes, it has {letter}" if found else f"no, it has no {letter}"
        return [Exchange(ask, f"{told} So {answer}.", mentions(answer))]
    return [Exchange(ask, told, ends_with_numbers(found))]


def _looked_at(draw: Draw) -> list[Exchange]:
    """Findings in a word spelled: a letter, its number, its place."""
    own, way = _word(draw), draw.any(weighted(_WORDING, "ways of looking"))
    if way == "palindrome":
        own = draw.any((own, draw.any(words.entries(_WORDING, "palindromes"))))
        # Letter beside letter as far as the first two that differ.
        apart = next((at for at, one in enumerate(own) if one != own[-1 - at]), len(own) - 1)
        pairs = ", ".join(f"{own[at]} {own[-1 - at]}" for at in range(apart + 1))
        answer = "yes, the same" if own == own[::-1] else "no, not the same"
        told = f"{given.spaced(own)}, {given.spaced(own[::-1])}. {pairs}: {answer}."
        return [Exchange(cases.asked(draw, way, own), told, mentions(answer))]
    if way in _COUNTED:
        return _tallied(draw, way)
    own = own.title() if way in ("one first", "one last", "nth") and draw.chance(0.12) else own
    if way == "middle" and len(own) % 2 == 0:
        return _looked_at(draw)
    letter = draw.any(own if way == "position" or draw.chance(0.85) else ALPHABET)
    letter = own[0] if way == "begins" and draw.chance(0.45) else letter
    at = draw.whole(1, min(4 if way == "nth_last" else 9, max(2, len(own))))
    at = min(len(own), draw.any((2, 2, 2, 3, 3, 3, 4, 5))) if way.endswith("_letters") else at
    place = words.entries(_WORDING, f"back {at}") if way == "nth_last" else (words.nth(at), words.ORDINALS[at])
    ask = cases.asked(draw, way, own, y=given.in_quotes(draw, letter),
                     p=draw.any(place), k=draw.any((at, words.spelled(at))))  # fmt: skip
    if f"found {way}" in _WORDING:
        half, to = len(own) // 2, own.find(letter) + 1
        return [_found(
            ask, way, k=at, spelled=given.spaced(own), all=given.numbered([*own]), count=len(own), first=own[0],
            last=own[-1], passed=given.numbered([*own[:at]]), nth=own[at - 1 : at], begun=own[:at], ended=own[-at:],
            back=given.numbered([*own[: -at - 1 : -1]]), from_end=own[-at:][:1], half=half + 1, middle=own[half],
            to=to, passed_to=given.numbered([*own[:to]]), truly="yes" if own[0] == letter else "no",
        )]  # fmt: skip
    passes = {"only_vowels": "aeiou", "only_consonants": _CONSONANTS}.get(way)
    picked = [one for at, one in enumerate(own) if one in (own[:at] if passes is None else passes)]
    # Each letter beside how often it has come, or once more if it is one of those.
    beside = (own[: at + 1].count(one) if passes is None else one * (one in passes) for at, one in enumerate(own))
    told = ", ".join(f"{one} {seen}".rstrip() for one, seen in zip(own, beside, strict=True))
    return [exact(ask, f"{told}: {', '.join(picked) or 'none'}")]


def _found(ask: str, way: str, **fields: object) -> Exchange:
    """An exchange whose reply is the wording's for this way of looking; what stands behind "So" is the answer."""
    told = _WORDING[f"found {way}"][0].format(**fields)
    return Exchange(ask, told, exactly_in(told.rpartition(". So ")[2]))


def _texts(draw: Draw) -> list[Exchange]:
    """The initials of several words, their number, or their order turned round."""
    way = draw.any(("initials", "initials", "words_in", "turned_words", "one backwards"))
    if way == "one backwards" and draw.chance(0.4):
        own, between = draw.any((str.upper, str.lower))(_word(draw)[:8]), draw.any((" ", " ", "-", ", "))
        ask = cases.asked(draw, "letters turned", between.join(own))
        return [given.led(ask, f"{given.spaced(own)}, {given.spaced(own[::-1])}", between.join(own[::-1]))]
    if way == "one backwards":
        some = [_word(draw)[:8] for _ in range(2)]
        done = " ".join(some)[::-1]
        told = f"{' '.join(map(given.spaced, some))}, {' '.join(map(given.spaced, done.split()))}"
        ask = draw.ask(_WORDING["letters backwards"], x=given.in_quotes(draw, " ".join(some)))
        return [given.led(ask, told, done)]
    if way == "initials":
        count = draw.any((2, 3, 3, 3, 4, 5))
        some = [draw.any((given.some_word(draw), given.some_word(draw), draw.any(SMALL))) for _ in range(count)]
        some = draw.names(min(count, 3)) if draw.chance(0.55) else some
        some = [*map(str.title, some)] if draw.chance(0.3) else some
        first = [one[0].upper() for one in some]
        told = ", ".join(f"{one} {letter}" for one, letter in zip(some, first, strict=True))
        return [exact(draw.asked(_WORDING, way, x=" ".join(some)), f"Initials: {told}. So {''.join(first)}")]
    some = [*given.some_text(draw).split(), *draw.rng.sample(words.every_word(), draw.whole(1, 4))]
    ask = draw.asked(_WORDING, way, x=" ".join(some))
    if way == "turned_words":
        return [given.worked(ask, given.counted_down(some), " ".join(some[::-1]))]
    return [Exchange(ask, f"{given.numbered(some)}: {len(some)} words.", ends_with_numbers(len(some)))]


def _alphabet(draw: Draw) -> list[Exchange]:
    """A letter's neighbours in the alphabet, its number and its kind."""
    at, way = draw.whole(1, 24), draw.any(weighted(_WORDING, "ways of letters"))
    at = ALPHABET.index(draw.any(_VOWELS * 4 + ALPHABET)) if way == "vowel_or" else at
    end = draw.whole(min(25, at + 1), min(25, at + 9))
    shown = draw.any((ALPHABET, ALPHABET.upper())) if way != "range" else ALPHABET
    ask = draw.asked(_WORDING, way, x=shown[at], y=ALPHABET[end], p=words.nth(at + 1), k=at + 1)
    return [_found(
        ask, way, x=shown[at], k=at + 1, letter=ALPHABET[at], passed=given.numbered([*ALPHABET[: at + 1]]),
        before=shown[at - 1], after=shown[at + 1 : at + 2], range=", ".join(ALPHABET[at : end + 1]),
        kind="vowel" if ALPHABET[at] in _VOWELS else "consonant",
    )]  # fmt: skip


def _many(draw: Draw) -> Exchange:
    """The letters of several words at once, or in another case, side by side."""
    told: dict[str, Callable[[str], str]] = {
        "spell": given.spaced, "last": lambda word: word[-1], "beside": str.upper,
        "count": lambda word: f"{given.spaced(word)} {len(word)}",
        "backwards": lambda word: f"{given.spaced(word)} {given.spaced(word[::-1])}",
    }  # fmt: skip
    way = draw.any((*told, "spell", "spell", *["upper", "lower", "title"] * 2))
    items = draw.words(words.every_word(), draw.whole(2, {"backwards": 3, "count": 4}.get(way, 6)))
    items = [*items[1:], draw.nonsense()] if draw.chance(0.3) else items
    shown = [item.upper() for item in items] if way == "lower" else items
    ask = draw.asked(_WORDING, f"many {way}", x=given.typed(draw, shown))
    if way in cases.CASES:
        return cases.cased(ask, way, ", ".join(items))
    return given.handed_back(draw, ask, ", ".join(f"{item} {told[way](item)}" for item in items))


_WAYS = (*[_spelled] * 7, *[cases.changed_case] * 14, *[_changed] * 8, *[_looked_at] * 10, cases.one_word,
         *[_texts, _alphabet] * 3, *[cases.joined] * 5)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """One look at letters; in training now and then at those of several words."""
    return [_many(draw)] if not draw.held_out and draw.chance(0.2) else draw.any(_WAYS)(draw)
