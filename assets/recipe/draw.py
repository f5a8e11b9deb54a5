"""The only source of chance: seeded draws that keep what is set aside for evaluation out of training.

Every phrasing, list of words and tuple of numbers falls on one side by a hash of its own text, so the split
needs no lists and stays the same when pools grow.

Any question is put otherwise, so that hardly two in training are alike: a greeting before, a word of thanks after,
"can you" in front of what is wished for, a list before the task instead of after it, words of the same meaning; then
carelessness in typing. The rules are the lines of texts/wording/constructions.txt. A question is a template; what
stands in its `{fields}` is the user's own and never touched.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from assets.recipe import words
from assets.recipe.words import read_wording

T = TypeVar("T")

# Names that training always says, whatever their hash.
_FAMILIAR = frozenset(words.NAMES[:100])
_ALTERNATIVES = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_BETWEEN_WORDS = re.compile(r"\b(?:please|pls|plz|kindly|now|for me)\b|[^a-z0-9{}+×*/÷=%-]+")
_RULES = read_wording("constructions")
_FIELDS = re.compile(r"(\{[^{}]*\})")
_SAME = {first: others for first, *others in (line.split(" / ") for line in _RULES["same"])}
_SAID = re.compile(rf"\b({'|'.join(sorted(map(re.escape, _SAME), key=len, reverse=True))})\b", re.IGNORECASE)
# Words that a hurried writer leaves out; not where "a" is a letter.
_LETTER_A = "to|and|or|by|is|in|of|with|from|plus|minus|times|than"
_NEEDLESS = re.compile(rf"\b(?:[Pp]lease|kindly|the following|the|an|(?<!letter )a(?! (?:{_LETTER_A})\b)) (?=[a-z])")
# What names the data that stand behind it, and what would then say too little.
_NAMED = re.compile(
    r"\b(?:the following|these|those|this) (?:(?:\w+ )?list|(?:\w+ )?(?:word|item|name|number|entrie|term|string)s|"
    r"word|name|text|sentence|phrase|line|string)\b(?! (?:of|list|by|and|or|which|that)\b)"
)
_TOO_LITTLE = re.compile(
    r"(?:\w+ )?(?:count|number|list|name|write|print|check|show|make|complete|continue|say|use|answer with) \{x\}"
    r"(?: for \w+)?(?:,? please)?|.*number of \{x\}.*",
    re.IGNORECASE,
)
# A task's first word or choice of words, and where in it a word begins.
_HEAD, _BEGINS = re.compile(r"^(?:\[[^\[\]]*\]|\w+)"), re.compile(r"(?:^|(?<=[\[|]))[a-z]")
_WISH = re.compile(rf"(?:Please |please )?(?:{'|'.join(_RULES['wished'][0].split(' / '))})\b(?! of\b)")


def set_aside(text: str, one_in: int = 6) -> bool:
    """Return True if this text belongs to the evaluation's side of the split."""
    return zlib.crc32(text.encode()) % one_in == 0


def plain(phrasing: str) -> str:
    """The phrasing's words alone, in lower case, without punctuation and politeness."""
    return " ".join(_BETWEEN_WORDS.sub(" ", phrasing.lower()).split())


def settled(template: str) -> Iterator[str]:
    """The template with its `[one|other|]` settled in every way."""
    match = _ALTERNATIVES.search(template)
    if match is None:
        yield template
    else:
        for chosen in match.group(1).split("|"):
            yield from settled(template[: match.start()] + chosen + template[match.end() :])


@cache
def _held_out_of(pool: tuple[str, ...]) -> frozenset[str]:
    """The plain words of every phrasing of a pool that only the evaluation asks."""
    return frozenset(plain(text) for entry in pool[1:] if set_aside(entry) for text in settled(entry))


@cache
def _framed(frames: tuple[str, ...], tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Each frame with each task at its `{do}`; also with a capital where the frame begins with it."""
    capital = [_HEAD.sub(lambda head: _BEGINS.sub(lambda first: first[0].upper(), head[0]), task) for task in tasks]
    pools = [(frame, (*tasks, *capital) if frame.startswith("{do}") else tasks) for frame in frames]
    return tuple(frame.replace("{do}", task) for frame, pool in pools for task in pool)


class Draw:
    """Seeded choices on one side of the split: training's, or (held_out) the evaluation's.

    The evaluation may ask about what was set aside in phrasings that were not (known_phrasing).
    """

    def __init__(self, rng: Random, held_out: bool = False, known_phrasing: bool = False) -> None:
        self.rng, self.held_out = rng, held_out
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
            varied: phrasings with many choices in each, for training alone, which draws them half of the time, or
                more often where they are more.
                Where they come to the words of a phrasing that is held out, others are drawn.
        """
        plainly = self.side(pool)
        often = 0 if self.held_out else max(0.5, len(varied) / (len(varied) + len(plainly)))
        while True:
            phrasing = self.expand(self.rng.choice(varied if varied and self.chance(often) else plainly))
            if not self.held_out and self.chance(0.5):
                phrasing = _reworded(self.rng, phrasing)
            if self.held_out or plain(phrasing) not in _held_out_of(tuple(pool)):
                break
        if not self.held_out or self.new_phrasing:
            phrasing = rephrased(self.rng, phrasing, self.new_phrasing, self.expand)
        return roughened(self.rng, phrasing).format(**fields)

    def asked(self, wording: words.Wording, way: str, /, **fields: object) -> str:
        """A question of the wording's pool of this name, of its varied one, or of a frame with one of its tasks."""
        tasks = wording.get(f"do {way}")
        if tasks and not self.held_out and self.chance(0.6):
            return self.ask(wording[way], _framed(wording["frame"], tasks), **fields)
        return self.ask(wording[way], wording.get(f"{way} varied", ()), **fields)

    def say(self, pool: Sequence[str], **fields: object) -> str:
        """A reply's wording: any of the pool, cleanly typed."""
        return self.expand(self.rng.choice(pool)).rstrip(" ").format(**fields)

    def expand(self, template: str) -> str:
        """The template with each `[one|other|]` settled."""
        while match := _ALTERNATIVES.search(template):
            chosen = self.rng.choice(match.group(1).split("|"))
            template = template[: match.start()] + chosen + template[match.end() :]
        return template

    def own(self, make: Callable[[], T], one_in: int = 6, told: Callable[[T], str] = str) -> T:
        """Make something anew until it, as it is told, is of this side of the split; after many draws the last."""
        for _ in range(200):
            made = make()
            if set_aside(told(made), one_in) == self.held_out:
                break
        return made

    def words(self, pool: Sequence[str], count: int) -> list[str]:
        """Distinct words of the pool, the list as a whole being of this side of the split.

        Not the single words: what a model has never once written, it learns never to write.
        """
        return self.own(lambda: self.rng.sample(pool, count), told=" ".join)

    def numbers(self, *ranges: tuple[int, int]) -> list[int]:
        """One number from each range, the tuple as a whole being of this side of the split."""
        return self.own(lambda: [self.rng.randint(low, high) for low, high in ranges], 8)

    def any(self, pool: Sequence[T]) -> T:
        """Any of the pool, whatever the split."""
        return self.rng.choice(pool)

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return self.rng.randint(low, high)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def nonsense(self, low: int = 3, high: int = 10) -> str:
        """A made-up word of this side of the split, so that copying is learnt apart from knowing."""
        return self.own(lambda: words.made_up(self.rng, low, high), 8)

    def jumble(self) -> str:
        """Letters, digits and signs at random, of this side of the split."""
        return self.own(lambda: words.jumble(self.rng), 8)

    def names(self, count: int) -> list[str]:
        """Different first names of this side of the split: usual ones, rare ones, and made-up ones.

        The evaluation's are made-up, or among those that training never says.
        """
        found: list[str] = []
        while len(found) < count:
            name = self.nonsense().title() if self.chance(0.45) else self.rng.choice(words.NAMES)
            if name not in found and (name not in _FAMILIAR and set_aside(name, 8)) == self.held_out:
                found.append(name)
        return found

    def name(self) -> str:
        """One first name."""
        return self.names(1)[0]


def _reworded(rng: Random, template: str) -> str:
    """The question with some of its words replaced by others that mean the same."""

    def other(found: re.Match[str]) -> str:
        said = found.group()
        if rng.random() < 0.6:
            return said
        word = rng.choice(_SAME[said.lower()])
        return words.upper_first(word) if said[0].isupper() else word

    return _outside_fields(template, lambda text: _SAID.sub(other, text))


def rephrased(rng: Random, template: str, new: bool, expand: Callable[[str], str]) -> str:
    """The question put otherwise; `new` asks for constructions that training never has."""

    def drawn(rule: str) -> str:
        return expand(rng.choice(_RULES[("new " if new else "") + rule]))

    task, colon, rest = template.partition(": ")
    moved = colon and rest == "{x}" and "{" not in task and rng.random() < 0.4
    inside = _NAMED.sub("{x}", task, count=1)
    if moved and not new and inside != task and not _TOO_LITTLE.fullmatch(inside) and rng.random() < 0.3:
        moved, template = False, inside
    if _WISH.match(template) is not None and rng.random() < 0.25:
        said = (task if moved else template)[template.lower().startswith("please ") and 7 :]
        said = drawn("wish").replace("{do}", _lower_first(said.rstrip(".?!")))
        template = said.rstrip(".") + ": {x}" if moved else said
    if moved:
        task = template.removesuffix(": {x}")
        template = drawn("moved").replace("{task}", task if rng.random() < 0.5 else _lower_first(task))
    if rng.random() < 0.15:
        inner = template if rng.random() < 0.5 else _lower_first(template)
        template = drawn("before").replace("{q}", inner)
    if rng.random() < 0.1:
        after_data = template.endswith("}")
        if not after_data or (not new and rng.random() < 0.6):
            template = drawn("data after" if after_data else "after").replace("{q}", template)
    return template


def roughened(rng: Random, template: str) -> str:
    """The question as carelessly typed as people type: no articles, lower case, typos; never inside a field."""
    if rng.random() < 0.1:
        template = _outside_fields(template, lambda text: _NEEDLESS.sub("", text))
    if rng.random() < 0.3:
        template = _outside_fields(template, str.lower if rng.random() < 0.9 else str.upper)
    if rng.random() < 0.2:
        template = template.rstrip(".?!")
    if rng.random() < 0.05:
        template = _outside_fields(template, lambda text: re.sub("[,.?!:'](?= |$)", "", text))
    while rng.random() < 0.1:
        parts = _FIELDS.split(template)
        at = rng.randrange(0, len(parts), 2)
        parts[at] = _typo(rng, parts[at])
        template = "".join(parts)
    return template


def _outside_fields(template: str, change: Callable[[str], str]) -> str:
    return "".join(part if part.startswith("{") else change(part) for part in _FIELDS.split(template))


def _typo(rng: Random, text: str) -> str:
    """Two neighbouring letters swapped, one left out, one twice, or another vowel in the place of one."""
    places = [i for i in range(1, len(text) - 2) if text[i : i + 2].isalpha()]
    if not places:
        return text
    at = rng.choice(places)
    one, two = text[at], text[at + 1]
    vowel = rng.choice("aeiou") if one in "aeiou" else one
    return text[:at] + rng.choice((two + one, one, one + one + two, vowel + two)) + text[at + 2 :]


def _lower_first(text: str) -> str:
    return words.lower_first(text) if not text.startswith(("I ", "I'", "JSON", "Python", "Markdown", "{")) else text
