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

T = TypeVar("T")

_ALTERNATIVES = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_BETWEEN_WORDS = re.compile(r"\b(?:please|now|for me)\b|[^a-z0-9{}+×*/÷=%-]+")
_FIELDS = re.compile(r"(\{[^{}]*\})")
_OPENERS = ("Please ", "Can you help? ", "Hi! ", "Hello. ", "Okay, ", "Now ", "Quick one: ", "Hey, ")
_CLOSERS = (" Please.", " Thanks!", " Thank you.", " Quickly please.", " Cheers.")
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or", "in"))


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
                Where their choices come to the words of a phrasing that is held out, others are drawn.
        """
        if varied and not self.held_out and self.chance(0.5):
            while plain(phrasing := self.expand(self.rng.choice(varied))) in held_out_of(tuple(pool)):
                pass
        else:
            phrasing = self.expand(self.rng.choice(self.side(pool)))
        return self._roughen(phrasing).format(**fields)

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

    def nonsense(self) -> str:
        """A made-up word, so that copying is learnt apart from knowing."""
        while True:
            word = "".join(self.rng.choice(_SYLLABLES) for _ in range(self.rng.randint(2, 3)))
            if set_aside(word, 8) == self.held_out:
                return word

    def _roughen(self, template: str) -> str:
        """Politeness, lower case, lost punctuation, typos; never inside a field."""
        if self.chance(0.08):
            opener = self.any(_OPENERS)
            template = opener + (template if opener.endswith((". ", "! ", "? ")) else _lower_first(template))
        elif self.chance(0.06) and template.endswith((".", "?", "!")):
            template += self.any(_CLOSERS)
        if self.chance(0.15):
            parts = [part if part.startswith("{") else part.lower() for part in _FIELDS.split(template)]
            template = "".join(parts)
        if self.chance(0.15):
            template = template.rstrip(".?!")
        if self.chance(0.08):
            parts = _FIELDS.split(template)
            at = self.rng.randrange(0, len(parts), 2)
            parts[at] = self._typo(parts[at])
            template = "".join(parts)
        return template

    def _typo(self, text: str) -> str:
        """Two neighbouring letters swapped, or one left out."""
        places = [i for i in range(1, len(text) - 2) if text[i : i + 2].isalpha()]
        if not places:
            return text
        at = self.rng.choice(places)
        swapped = text[at + 1] + text[at] if self.chance(0.5) else text[at]
        return text[:at] + swapped + text[at + 2 :]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if not text.startswith(("I ", "I'")) else text
