"""The user's own words: sorted, reversed, repeated, spelled, upper-cased, counted."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw

_SORT = ("Sort these words[ alphabetically|]: {x}", "Put these words in alphabetical order: {x}", "Sort {x}",
         "Alphabetical order please: {x}", "Order these words from A to Z: {x}",
         "[Arrange|Sort] alphabetically: {x}",
         "Can you sort these? {x}", "sort the list {x}")  # fmt: skip
_REVERSE = ("Reverse this list: {x}", "Put these words in reverse order: {x}", "Reverse the order of {x}",
            "Turn this list around: {x}", "Write these words backwards, last one first: {x}", "Reverse: {x}",
            "Give me this list from the end to the start: {x}")  # fmt: skip
_ECHO = ("Repeat after me: {x}", "Say {x}", "Repeat: {x}", "Echo this: {x}", "Copy this [text|line]: {x}",
         "Write exactly this: {x}",
         "Say exactly: {x}", "Type {x}", "Please repeat {x}")  # fmt: skip
_UPPER = ("[Write|Put] this in [capitals|capital letters|upper case]: {x}", "Uppercase: {x}",
          "Make this upper case: {x}",
          "In capital letters please: {x}", "Shout this: {x}", "All caps: {x}")  # fmt: skip
_SPELL = ("Spell {x}", "How do you spell {x}?", "Spell the word {x}.", "Spell out {x}.",
          "Which letters are in {x}?",
          "Give me the letters of {x}.", "Can you spell {x} for me?")  # fmt: skip
_HOW_MANY = ("How many words are in this list: {x}", "Count these words: {x}",
             "How many words are there? {x}",
             "How many items: {x}", "Count the words in {x}")  # fmt: skip
_NUMBERS = ("Sort these numbers: {x}", "Put these numbers in order: {x}", "Sort {x} from small to large.",
            "Order these numbers: {x}", "Arrange from smallest to largest: {x}",
            "[Can you sort|Sort] {x}?")  # fmt: skip
_LARGEST = ("What is the largest of {x}?", "Which is the biggest number: {x}", "Largest number in {x}?",
            "Find the maximum of {x}.", "Which of these is largest? {x}")  # fmt: skip
_FIRST = ("What is the [first|1st] word of this list: {x}", "First word in: {x}",
          "Which word comes first here: {x}",
          "Give me the first of these words: {x}")  # fmt: skip
_LAST = ("What is the last word of this list: {x}", "Last word in: {x}", "Which word comes last here: {x}",
         "Give me the last of these words: {x}")  # fmt: skip
_BACK = ("[And |Now |]backwards.", "Now reverse that.", "And the other way round?", "Now in reverse order.",
         "Reverse it.", "And from the end?")
_THEN_SORT = ("[Now sort|Sort] them.", "And sorted?", "Now in alphabetical order.",
              "Now put them in order from A to Z.", "And now sorted please.")
_LIST = ("[Now |]as a [bulleted |]list.", "Make it a list.", "Put them in a bullet list.",
         "One per line please.", "As bullet points?")
_OPEN = ("", "", "", "", "Here you go: ", "Sure: ", "Here it is: ")


def _some_words(draw: Draw, low: int = 3, high: int = 8) -> list[str]:
    count = draw.whole(low, high)
    style = draw.rng.random()
    if style < 0.45:
        return draw.words(words.WORDS, count)
    if style < 0.6:
        return draw.words(words.NAMES, count)
    if style < 0.7:
        return draw.words(draw.any((words.ANIMALS, words.FOODS, words.CITIES, words.OBJECTS)), count)
    return list(dict.fromkeys(draw.nonsense() for _ in range(count)))


def _joined(draw: Draw, items: list[str]) -> str:
    return draw.any((", ", ", ", ", ", " ")).join(items)


def _plain(draw: Draw, ask: str, answer: str, follow_up: bool = False) -> Exchange:
    return Exchange(ask, draw.expand(draw.any(_OPEN)) + answer, exactly_in(answer), follow_up)


def _reordered(draw: Draw, asks: tuple[str, ...], change: Callable[[list[str]], list[str]]) -> list[Exchange]:
    items = _some_words(draw)
    done = change(items)
    exchanges = [_plain(draw, draw.ask(asks, x=_joined(draw, items)), ", ".join(done))]
    turn = draw.rng.random()
    if turn < 0.2:
        exchanges.append(_plain(draw, draw.ask(_BACK), ", ".join(done[::-1]), True))
    elif turn < 0.35:
        exchanges.append(Exchange(draw.ask(_LIST), bullets := "\n".join(f"- {item}" for item in done),
                         exactly_in(bullets), True))
    elif turn < 0.45 and asks is _REVERSE:
        exchanges.append(_plain(draw, draw.ask(_THEN_SORT), ", ".join(sorted(done, key=str.lower)), True))
    return exchanges


def _sort(draw: Draw) -> list[Exchange]:
    return _reordered(draw, _SORT, lambda items: sorted(items, key=str.lower))


def _reverse(draw: Draw) -> list[Exchange]:
    return _reordered(draw, _REVERSE, lambda items: items[::-1])


def _echo(draw: Draw) -> list[Exchange]:
    text = " ".join(_some_words(draw, 1, 7))
    if draw.chance(0.3):
        text += f" {draw.whole(1, 9999)}"
    asks = draw.ask(_ECHO, x=text)
    exchanges = [Exchange(asks, text, exactly_in(text))]
    if draw.chance(0.25):
        exchanges.append(Exchange(draw.ask(("Again.", "Once more.", "And again?", "Say it again.",
                         "One more time.")), text, exactly_in(text), True))
    return exchanges


def _upper(draw: Draw) -> list[Exchange]:
    text = " ".join(_some_words(draw, 1, 4))
    return [Exchange(draw.ask(_UPPER, x=text), text.upper(), exactly_in(text.upper()))]


def _spell(draw: Draw) -> list[Exchange]:
    word = draw.word(words.WORDS) if draw.chance(0.7) else draw.nonsense()
    letters = "-".join(word)
    exchanges = [Exchange(draw.ask(_SPELL, x=word), letters, exactly_in(letters))]
    if draw.chance(0.5):
        answer = f"{letters} has {len(word)} letters."
        exchanges.append(Exchange(draw.ask(("How many letters is that?", "How many letters?",
                         "And how many letters are that?", "How long is it?")),
                                  answer, exactly_in(answer), True))  # fmt: skip
    return exchanges


def _how_many(draw: Draw) -> list[Exchange]:
    items = _some_words(draw, 2, 9)
    counted = ", ".join(f"{at} {item}" for at, item in enumerate(items, 1))
    answer = f"{counted}: {len(items)} words"
    return [Exchange(draw.ask(_HOW_MANY, x=_joined(draw, items)), answer + ".", exactly_in(answer))]


def _numbers(draw: Draw) -> list[Exchange]:
    values = draw.numbers(*[(1, draw.any((20, 99, 99, 500)))] * draw.whole(3, 8))
    shown = ", ".join(map(str, values))
    if draw.chance(0.3):
        return [_plain(draw, draw.ask(_LARGEST, x=shown), f"{max(values)}")]
    exchanges = [_plain(draw, draw.ask(_NUMBERS, x=shown), ", ".join(map(str, sorted(values))))]
    if draw.chance(0.25):
        exchanges.append(_plain(draw, draw.ask(_BACK), ", ".join(map(str, sorted(values)[::-1])), True))
    return exchanges


def _ends(draw: Draw) -> list[Exchange]:
    items = _some_words(draw)
    first = draw.chance(0.5)
    answer = items[0] if first else items[-1]
    return [Exchange(draw.ask(_FIRST if first else _LAST, x=_joined(draw, items)), answer,
            exactly_in(answer))]


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's words."""
    skills = (_sort, _sort, _sort, _reverse, _reverse, _echo, _echo, _upper, _spell, _how_many, _numbers,
              _numbers, _ends)
    return draw.any(skills)(draw)
