"""The vocabulary that the skills draw on: names, things, places, plain words, and words that nobody ever said."""

from __future__ import annotations

from pathlib import Path
from random import Random

_TEXT = Path(__file__).with_name("texts") / "words.txt"


def _pools() -> dict[str, tuple[str, ...]]:
    """The pools of words.txt by name."""
    paragraphs = (part.split(":", 1) for part in _TEXT.read_text(encoding="utf-8").split("\n\n") if ":\n" in part)
    return {name.strip(): tuple(dict.fromkeys(words.split())) for name, words in paragraphs}


_POOLS = _pools()
NAMES, ANIMALS, OBJECTS, CITIES, JOBS, COLOURS, FOODS, WORDS = (
    _POOLS[name] for name in ("names", "animals", "objects", "cities", "jobs", "colours", "foods", "words")
)

_ONSETS = "b c d f g h j k l m n p qu r s t v w x y z bl br ch cl cr dr fl fr gr kl kr pl pr sh sk sl sn st th tr".split()
_VOWELS = "a e i o u a e i o u a e i o u ai ea ee oa oo ou y".split()
_ENDS = ("", "", "", *"n r l s t k m d b g p x z ck nd rn st sh th".split())
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RARE = "éèüöäñçåøßłšžıðþáíóúαβγδλπωжшдюя東京水山한글🙂🚀"


def made_up(rng: Random, low: int = 1, high: int = 4) -> str:
    """A word of so many syllables that may well have no meaning."""
    count = rng.randint(low, high)
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + (rng.choice(_ENDS) if rng.random() < 0.5 else "")
                   for _ in range(count))  # fmt: skip


def jumble(rng: Random) -> str:
    """Letters at random, or a code of letters, digits and signs, or letters of other languages among them."""
    style = rng.random()
    if style < 0.4:
        return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 7)))
    if style < 0.75:
        signs = "-_./" if rng.random() < 0.5 else ""
        pool = _LETTERS * 2 + _LETTERS.upper() * 2 + "0123456789" * 4 + signs
        return "".join(rng.choice(pool) for _ in range(rng.randint(2, 8))).strip(signs or None) or "x1"
    word = list(made_up(rng, 1, 3))
    word[rng.randrange(len(word))] = rng.choice(_RARE)
    return "".join(word)


def article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
