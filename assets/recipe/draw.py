"""The only source of chance: seeded draws that keep what is set aside for evaluation out of training.

Every phrasing, list of words and tuple of numbers falls on one side by a hash of its own text, so the split
needs no lists and stays the same when pools grow.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

from assets.recipe import words
from assets.recipe.phrasing import rephrased, reworded, roughened

T = TypeVar("T")

# Names that training always says, whatever their hash.
_FAMILIAR = frozenset(words.NAMES[:100])

_ALTERNATIVES = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_BETWEEN_WORDS = re.compile(r"\b(?:please|pls|plz|kindly|now|for me)\b|[^a-z0-9{}+×*/÷=%-]+")


def set_aside(text: str, one_in: int = 6) -> bool:
    """Whether this text belongs to the evaluation's side of the split."""
    return zlib.crc32(text.encode()) % one_in == 0


def plain(phrasing: str) -> str:
    """The phrasing's words alone, in lower case, without punctuation and politeness."""
    return " ".join(_BETWEEN_WORDS.sub(" ", phrasing.lower()).split())


def _settled(template: str) -> Iterator[str]:
    """The template with its `[one|other|]` settled in every way."""
    match = _ALTERNATIVES.search(template)
    if match is None:
        yield template
    else:
        for chosen in match.group(1).split("|"):
            yield from _settled(template[: match.start()] + chosen + template[match.end() :])


@cache
def held_out_of(pool: tuple[str, ...]) -> frozenset[str]:
    """The plain words of every phrasing of a pool that only the evaluation asks."""
    return frozenset(plain(text) for entry in pool[1:] if set_aside(entry) for text in _settled(entry))


class Draw:
    """Seeded choices on one side of the split: training's, or (held_out) the evaluation's.

    The evaluation may ask about what was set aside in phrasings that were not (known_phrasing).
    """

    def __init__(self, rng: random.Random, held_out: bool = False, known_phrasing: bool = False) -> None:
        self.rng = rng
        self.held_out = held_out
        self.new_phrasing = held_out and not known_phrasing

    def side(self, pool: Sequence[str]) -> list[str]:
        """The pool's entries on this side of the split; all of them where this side has none.

        A pool begins with its most usual entry, which is always trained on.
        """
        everyday = [] if self.new_phrasing else list(pool[:1])
        return everyday + [entry for entry in pool[1:] if set_aside(entry) == self.new_phrasing] or list(pool)

    def ask(self, pool: Sequence[str], varied: Sequence[str] = (), /, **fields: object) -> str:
        """A user's question: a phrasing of this side, typed as carelessly as people type.

        Args:
            pool: phrasings, split between training and evaluation.
            varied: phrasings with many choices in each, for training alone, which draws them half of the time.
                Where they come to the words of a phrasing that is held out, others are drawn.
        """
        pools = [self.side(pool)] + ([varied] if varied and not self.held_out else [])
        while True:
            phrasing = self.expand(self.rng.choice(self.rng.choice(pools)))
            if not self.held_out and self.chance(0.5):
                phrasing = reworded(self.rng, phrasing)
            if self.held_out or plain(phrasing) not in held_out_of(tuple(pool)):
                break
        if not self.held_out or self.new_phrasing:
            phrasing = rephrased(self.rng, phrasing, self.new_phrasing, self.expand)
        return roughened(self.rng, phrasing).format(**fields)

    def say(self, pool: Sequence[str], **fields: object) -> str:
        """A reply's wording: any of the pool, cleanly typed."""
        return self.expand(self.rng.choice(pool)).rstrip(" ").format(**fields)

    def expand(self, template: str) -> str:
        """The template with each `[one|other|]` settled."""
        while match := _ALTERNATIVES.search(template):
            chosen = self.rng.choice(match.group(1).split("|"))
            template = template[: match.start()] + chosen + template[match.end() :]
        return template

    def words(self, pool: Sequence[str], count: int) -> list[str]:
        """Distinct words of the pool, the list as a whole being of this side of the split.

        Not the single words: what a model has never once written, it learns never to write.
        """
        for _ in range(200):
            drawn = self.rng.sample(pool, count)
            if set_aside(" ".join(drawn)) == self.held_out:
                break
        return drawn

    def any(self, pool: Sequence[T]) -> T:
        """Any of the pool, whatever the split."""
        return self.rng.choice(pool)

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return self.rng.randint(low, high)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def numbers(self, *ranges: tuple[int, int]) -> list[int]:
        """One number from each range, the tuple as a whole being of this side of the split."""
        for _ in range(200):
            drawn = [self.rng.randint(low, high) for low, high in ranges]
            if set_aside(repr(drawn), 8) == self.held_out:
                break
        return drawn

    def nonsense(self, low: int = 2, high: int = 3) -> str:
        """A made-up word of this side of the split, so that copying is learnt apart from knowing."""
        while set_aside(word := words.made_up(self.rng, low, high), 8) != self.held_out:
            pass
        return word

    def jumble(self) -> str:
        """Letters, digits and signs at random, of this side of the split."""
        while set_aside(text := words.jumble(self.rng), 8) != self.held_out:
            pass
        return text

    def names(self, count: int) -> list[str]:
        """Different first names of this side of the split: usual ones, rare ones, and made-up ones.

        The evaluation's are made-up, or among those that training never says.
        """
        found: list[str] = []
        while len(found) < count:
            name = self.nonsense(1, 3).title() if self.chance(0.3) else self.rng.choice(words.NAMES)
            if name not in found and (name not in _FAMILIAR and set_aside(name, 8)) == self.held_out:
                found.append(name)
        return found

    def name(self) -> str:
        """One first name."""
        return self.names(1)[0]
