"""A story's grammar: somebody wants something, meets trouble, finds help, and it ends; then more may follow.

Each stage has sentences of its own, so that no sentence can come twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("stories")

_WANTS = (
    ("to find a lost [kite|button|drum|bell]", "found it"),
    ("to see the sea", "saw it at last"),
    ("to bake the [best|biggest] cake of the year", "baked it after all"),
    ("to learn to [whistle|swim|dance|sing]", "learnt it"),
    ("to build a [boat|bridge|tower|swing]", "built it"),
    ("to plant a tree that would [last|sing]", "planted it"),
    ("to write a letter to the moon", "wrote it"),
    ("to win the [spring|harvest|winter] race", "came in smiling"),
    ("to make a friend", "had one now"),
    ("to know what lay behind the hill", "knew it at last"),
    ("to bring light to the dark lane", "lit a lamp there"),
    ("to hear the oldest song", "heard it"),
    ("to cross the [wide river|high pass]", "was on the other side"),
    ("to mend the old [clock|fence|roof]", "mended it"),
    ("to give the best present of all", "gave it away gladly"),
    ("to sleep one night under the stars", "slept there soundly"),
)
_STAGES = ("open", "wishes", "troubles", "feelings", "helpers", "turns", "ends", "last")
_MORE = ("more_1", "more_2", "more_3", "more_4")


@dataclass(frozen=True)
class Wish:
    """What the hero wants ("to see the sea"), and how it is told once it is done ("saw it at last")."""

    to: str
    done: str


@dataclass(frozen=True)
class Plot:
    """A story's paragraphs and what is asked about it later, its places for hero {x} and name {n} still open."""

    paragraphs: tuple[str, ...]
    summary: str
    helper: str
    wish: Wish
    place: str
    more: str
    happily: str
    joint: str

    def told(self, kind: str, name: str) -> str:
        """The story of this hero."""
        return self._of(self.joint.join(self.paragraphs), kind, name)

    def shortened(self, kind: str, name: str) -> str:
        """The same in a sentence or two."""
        return self._of(self.summary, kind, name)

    def continued(self, kind: str, name: str) -> str:
        """What happened afterwards."""
        return self._of(self.more, kind, name)

    def ended_happily(self, kind: str, name: str) -> str:
        """Another end, by which all are happy."""
        return self._of(f"In the end {{n}} {self.wish.done}. {self.happily}", kind, name)

    def _of(self, template: str, kind: str, name: str) -> str:
        return template.format(x=words.article(kind), n=name)


def draw_plot(draw: Draw, helper: str | None = None, wish: Wish | None = None, place: str | None = None) -> Plot:
    """A plot of chance, but for what is given."""
    helper = helper or f"old {draw.any(words.ANIMALS)}"
    want, done = draw.any(_WANTS)
    wish = wish or Wish(draw.expand(want), done)
    place = place or draw.expand(draw.any(_WORDING["places"]))
    one = words.article(helper)
    the = f"the {helper.removeprefix('old ')}"
    fields = {
        "x": "{x}", "n": "{n}", "place": place, "place_up": _upper(place),
        "a_trait": draw.any(_WORDING["traits"]), "o": draw.any(words.ANIMALS),
        "want": wish.to, "done": wish.done, "morning": draw.expand(draw.any(_WORDING["mornings"])),
        "advice": draw.any(_WORDING["advice"]), "h": one, "h_up": _upper(one), "h_the": the, "h_the_up": _upper(the),
    }  # fmt: skip
    said = {stage: draw.expand(draw.any(_WORDING[stage])).format(**fields) for stage in (*_STAGES, *_MORE)}
    parts = (_STAGES[:2], _STAGES[2:5], _STAGES[5:])
    return Plot(
        tuple(" ".join(said[stage] for stage in part if said[stage]) for part in parts),
        f"{{n}}, {{x}}, wanted {wish.to}. It was hard, but with the help of {one}, {{n}} {wish.done}.",
        helper, wish, place, " ".join(said[stage] for stage in _MORE), draw.any(_WORDING["happily"]),
        "\n\n" if draw.chance(0.6) else " ",
    )  # fmt: skip


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
