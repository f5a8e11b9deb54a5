"""The words of the skills, kept as text: names, things, plain words, words that nobody ever said, and phrases.

A wording file, in a folder called as its skill's room, holds one phrase a line, as `name: phrase`; the lines of one
name are one pool, the most usual first. In a phrase `[one|other]` is a choice, `{x}` a field, and `\\n` breaks the
line. Pools of short entries stand in one line: `entries`, `pairs` and `weighted` read these.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

Wording = Mapping[str, Sequence[str]]
TEXTS = Path(__file__).with_name("texts")


def fields(block: str) -> dict[str, tuple[str, ...]]:
    """The texts of the lines `name: text` by name, in their order; what is indented goes on the line before it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in re.split(r"\n(?! )", block):
        name, colon, text = line.partition(":")
        if colon and not line.startswith("#"):
            found[name] = (*found.get(name, ()), text.removeprefix(" "))
    return found


def read_wording(file: str) -> dict[str, tuple[str, ...]]:
    """The pools of phrases of a file, such as "numbers/counting", by their names."""
    found = fields((TEXTS / "wording" / f"{file}.txt").read_text(encoding="utf-8"))
    return {name: tuple(phrase.replace("\\n", "\n") for phrase in pool) for name, pool in found.items()}


def entries(wording: Wording, name: str) -> tuple[str, ...]:
    """The entries of a pool that is one line of many, parted by ` / `, or by spaces where that does not occur."""
    line = wording[name][0]
    return tuple(line.split(" / ") if " / " in line else line.split())


def pairs(wording: Wording, name: str) -> tuple[tuple[str, str], ...]:
    """The entries of such a pool that are each two texts, with `=` between them."""
    return tuple((one, other) for one, _, other in (entry.partition("=") for entry in entries(wording, name)))


def weighted(wording: Wording, name: str) -> tuple[str, ...]:
    """The entries of such a pool, each as often as it is drawn: `one, other * 3` are one and other, three times."""
    groups = (entry.partition(" * ") for entry in entries(wording, name))
    return tuple(one for names, _, times in groups for _ in range(int(times or 1)) for one in names.split(", "))


def _pools() -> dict[str, tuple[str, ...]]:
    """The pools of words.txt by name, a paragraph each."""
    text = (TEXTS / "words.txt").read_text(encoding="utf-8")
    paragraphs = (part.split(":", 1) for part in text.split("\n\n") if ":\n" in part)
    return {name.strip(): tuple(words.split()) for name, words in paragraphs}


POOLS = _pools()
NAMES, ANIMALS, OBJECTS, CITIES, JOBS, COLOURS, FOODS, WORDS = (
    POOLS[name] for name in ("names", "animals", "objects", "cities", "jobs", "colours", "foods", "words")
)
KINDS = {name: POOLS[name] for name in (
    "fruits", "vegetables", "instruments", "sports", "clothes", "trees", "furniture", "tools", "shapes", "flowers",
    "countries", "months", "days", "seasons", "planets",
)}  # fmt: skip
SORTS = {"animal": ANIMALS, "food": FOODS, "colour": COLOURS, "job": JOBS, "city": CITIES, "name": NAMES,
         "country": KINDS["countries"], **{kind.removesuffix("s"): pool for kind, pool in KINDS.items()}}  # fmt: skip
"""The pools of things of a kind by what one of them is called."""
NUMBERS, ORDINALS = POOLS["numbers"], POOLS["ordinals"]
_TENS = ("", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_RARE = "éèüöäñçåøßłšžıðþáíóúαβγδλπωжшдюя東京水山한글🙂🚀"


@cache
def every_word() -> tuple[str, ...]:
    """Each word, in lower case, that any of the recipe's texts has, but for those that only the evaluation asks."""
    asked = {TEXTS / "unseen.txt", TEXTS / "general_questions.txt"}
    texts = (path.read_text(encoding="utf-8").lower() for path in sorted(TEXTS.rglob("*.txt")) if path not in asked)
    return tuple(sorted({word for text in texts for word in re.findall("[a-z]{2,}", text)}))


@cache
def _known() -> frozenset[str]:
    return frozenset((*every_word(), *map(str.lower, (*NAMES, *CITIES))))


@cache
def _continuations() -> dict[str, list[str]]:
    """Return what follows two letters in a word; two spaces are its beginning, and a space is its end."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in sorted(_known()):
        for at in range(len(word) + 1):
            found[f"  {word}"[at : at + 2]].append(f"{word} "[at])
    return found


def made_up(rng: Random, low: int = 2, high: int = 10) -> str:
    """A word of so many letters that none of the texts has, but any three in a row are those of some word."""
    while True:
        made = "  " + rng.choice(_continuations()["  "])
        while made[-1] != " ":
            made += rng.choice(_continuations()[made[-2:]])
        made = made.strip()
        if low <= len(made) <= high and made not in _known():
            return made


def odd_case(rng: Random, text: str) -> str:
    """The text with any of its letters in capitals."""
    return "".join(rng.choice((one, one.upper())) for one in text)


def jumble(rng: Random) -> str:
    """Letters at random, or a code of letters, digits and signs, or letters of other languages among them."""
    style = rng.random()
    if style < 0.4:
        return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 7)))
    if style < 0.75:
        signs = "-_./" if rng.random() < 0.5 else "#$:@=+()[]%&*?!<>" if rng.random() < 0.3 else ""
        pool = ALPHABET * 2 + ALPHABET.upper() * 2 + "0123456789" * 4 + signs
        return "".join(rng.choice(pool) for _ in range(rng.randint(2, 8))).strip(signs or None) or "x1"
    word = list(made_up(rng))
    word[rng.randrange(len(word))] = rng.choice(_RARE)
    return "".join(word)


def nth(number: int) -> str:
    """The number's place in digits: 1st, 12th, 22nd."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else ending}"


def spelled(number: int) -> str:
    """The number in words up to ten thousand; in digits from there, and below zero."""
    if number in range(100, 10_000):
        unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
        whole, rest = divmod(number, unit)
        return f"{spelled(whole)} {name}{' and' if 0 < rest < 100 else ''} {spelled(rest) if rest else ''}".rstrip()
    if not 0 <= number < 100:
        return str(number)
    ten, one = _TENS[number // 10], number % 10
    return NUMBERS[number] if number < len(NUMBERS) else f"{ten}-{NUMBERS[one]}" if one else ten


def upper_first(text: str) -> str:
    """The text begun by a capital."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """The text begun by a small letter."""
    return text[:1].lower() + text[1:]


def article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" and not noun.startswith(("uni", "use", "eu")) else f"a {noun}"
