"""Saying after the user: words, made-up words, numbers, short sentences, quoted text."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw, set_aside
from assets.recipe.skills.user_words import any_words, few, handed_back
from assets.recipe.wording import read_wording

_WORDING = read_wording("echo")


def _sentence(draw: Draw) -> str:
    """A plain sentence, of this side of the split."""
    for _ in range(50):
        name, other = draw.names(2)
        job, second = draw.rng.sample(words.JOBS, 2)
        noun, place = draw.rng.sample(words.WORDS, 2)
        fields = {"n": name, "m": other, "j": job, "i": second, "o": noun, "q": place, "k": draw.whole(2, 60)}
        text = draw.say(_WORDING["sentence"], t=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS),
                        f=draw.any(words.FOODS), c=draw.any(words.CITIES), **fields)  # fmt: skip
        if set_aside(text) == draw.held_out:
            break
    return text


def _some_text(draw: Draw) -> str:
    """A few words, a sentence, or what people first try; sometimes with a number, sometimes in quotes."""
    style = draw.rng.random()
    if style < 0.3:
        text = draw.any((" ", " ", ", ")).join(any_words(draw, 1, 3))
    elif style < 0.6:
        pieces = [piece for _ in range(draw.any((1, 2))) for piece in any_words(draw, 2, 6)]
        if draw.chance(0.25):
            pieces.insert(draw.whole(0, len(pieces)), str(draw.whole(1, 9999)))
        text = draw.any((", ", " ")).join(pieces)
    elif style < 0.92:
        text = _sentence(draw)
    else:
        text = draw.any(_WORDING["everyday"])
    return f'"{text}"' if draw.chance(0.27) else text


def _ask(draw: Draw, text: str) -> str:
    """Only what has no full stop of its own fits inside a sentence."""
    inside = text[-1] not in ".!?" and draw.chance(0.3)
    way = "echo_words" if inside else "echo"
    return draw.ask(_WORDING[way], _WORDING[f"{way} varied"], x=text)


def _echo(draw: Draw) -> list[Exchange]:
    text = _some_text(draw)
    exchanges = [handed_back(draw, _ask(draw, text), text)]
    while draw.chance(0.48) and len(exchanges) < 3:
        way = draw.any(("again", "again", "now_say", "again" if "," in text else "twice"))
        if way == "now_say":
            text = _some_text(draw)
            exchanges.append(handed_back(draw, draw.ask(_WORDING[way], x=text), text, True))
            continue
        exchanges.append(handed_back(draw, draw.ask(_WORDING[way]), f"{text} {text}" if way == "twice" else text, True))
        if way == "twice":
            break
    return exchanges


def _list(draw: Draw) -> list[Exchange]:
    text = draw.any((", ", " ")).join(draw.words(words.WORDS, few(draw)))
    return [handed_back(draw, _ask(draw, text), text)]


def _times(draw: Draw) -> list[Exchange]:
    (word,) = any_words(draw, 1, 1)
    count = draw.whole(2, 6)
    ask = draw.ask(_WORDING["times"], x=word, k=draw.any((words.spelled(count), count)))
    return [handed_back(draw, ask, ", ".join([word] * count))]


def compose(draw: Draw) -> list[Exchange]:
    """The user's text once more."""
    return draw.any((*[_echo] * 7, _list, _times))(draw)
