"""The user's own words: sorted, reversed, repeated, spelled, upper-cased, counted."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("word_lists")

_POOLS = (words.ANIMALS, words.FOODS, words.CITIES, words.OBJECTS, words.COLOURS, words.JOBS)
# A reply never begins with the user's word: only after a space is it the same piece as in the question.
_OPEN = ("Here you go: ", "Sure: ", "Here it is: ")


def _some_words(draw: Draw, low: int = 3, high: int = 8) -> list[str]:
    count = draw.whole(low, high)
    style = draw.rng.random()
    if style < 0.55:
        return draw.words(words.WORDS, count)
    if style < 0.7:
        return draw.words(words.NAMES, count)
    if style < 0.85:
        return draw.words(draw.any(_POOLS), count)
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
        exchanges.append(_plain(draw, draw.ask(_WORDING["back"]), ", ".join(done[::-1]), True))
    elif turn < 0.35:
        exchanges.append(
            Exchange(
                draw.ask(_WORDING["list"]),
                bullets := "\n".join(f"- {item}" for item in done),
                exactly_in(bullets),
                True,
            )
        )
    elif turn < 0.45 and asks is _WORDING["reverse"]:
        exchanges.append(_plain(draw, draw.ask(_WORDING["then_sort"]), ", ".join(sorted(done, key=str.lower)), True))
    return exchanges


def _sort(draw: Draw) -> list[Exchange]:
    return _reordered(draw, _WORDING["sort"], lambda items: sorted(items, key=str.lower))


def _reverse(draw: Draw) -> list[Exchange]:
    return _reordered(draw, _WORDING["reverse"], lambda items: items[::-1])


def _echo(draw: Draw) -> list[Exchange]:
    items = [piece for _ in range(draw.any((1, 1, 2, 4))) for piece in _some_words(draw, 1, 6)]
    if draw.chance(0.3):
        items.insert(draw.whole(0, len(items)), str(draw.whole(1, 9999)))
    text = draw.any((" ", " ", ", ")).join(items)
    exchanges = [_plain(draw, draw.ask(_WORDING["echo"], x=text), text)]
    if draw.chance(0.25):
        exchanges.append(_plain(draw, draw.ask(_WORDING["again"]), text, True))
    return exchanges


def _spell(draw: Draw) -> list[Exchange]:
    word = draw.any(words.WORDS) if draw.chance(0.7) else draw.nonsense()
    letters = "-".join(word)
    exchanges = [Exchange(draw.ask(_WORDING["spell"], x=word), letters, exactly_in(letters))]
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
    return [Exchange(draw.ask(_WORDING["how_many"], x=_joined(draw, items)), answer + ".", exactly_in(answer))]


def _numbers(draw: Draw) -> list[Exchange]:
    values = draw.numbers(*[(1, draw.any((20, 99, 99, 500)))] * draw.whole(3, 8))
    shown = ", ".join(map(str, values))
    if draw.chance(0.3):
        return [_plain(draw, draw.ask(_WORDING["largest"], x=shown), f"{max(values)}")]
    exchanges = [_plain(draw, draw.ask(_WORDING["numbers"], x=shown), ", ".join(map(str, sorted(values))))]
    if draw.chance(0.25):
        exchanges.append(_plain(draw, draw.ask(_WORDING["back"]), ", ".join(map(str, sorted(values)[::-1])), True))
    return exchanges


def _ends(draw: Draw) -> list[Exchange]:
    items = _some_words(draw)
    place = draw.any(("first", "last"))
    answer = f"The {place} word is {items[0] if place == 'first' else items[-1]}"
    return [Exchange(draw.ask(_WORDING[place], x=_joined(draw, items)), answer + ".", exactly_in(answer))]


_WAYS = (_sort, _sort, _sort, _reverse, _reverse, _echo, _echo, _echo, _echo, _spell, _how_many,
         _numbers, _numbers, _ends)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to the user's words."""
    return draw.any(_WAYS)(draw)
