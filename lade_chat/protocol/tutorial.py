"""The tutorial's chapters: steps of the model that show how the method works, as text."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from lade_chat.protocol.inspection import Inspection, TokenSource

Group: TypeAlias = Literal["input", "guesses", "candidates", "window"]


class Mask(msgspec.Struct, frozen=True, array_like=True):
    """The attention mask of one forward pass.

    ``cached``: tokens in the KV cache, which every query sees. ``groups``: the parts of the input in order, with their
    numbers of tokens. ``rows``: one per query, ``x`` for each input token that it sees, ``.`` for the others.
    """

    cached: int
    groups: tuple[tuple[Group, int], ...]
    rows: tuple[str, ...]


class Iteration(msgspec.Struct, frozen=True):
    """One Jacobi iteration over a block of guesses.

    ``guesses``: for the positions not settled yet; ``chosen``: the model's tokens at these positions and at the one
    after the block. ``settled``: how many of ``chosen`` are final.
    """

    guesses: tuple[str, ...]
    chosen: tuple[str, ...]
    settled: int
    mask: Mask


class LookaheadStep(msgspec.Struct, frozen=True):
    """A step of lookahead decoding, with the model's token after the last token and after each candidate."""

    inspection: Inspection
    chosen: tuple[str, ...]
    mask: Mask


class ReplyToken(msgspec.Struct, frozen=True, array_like=True):
    """A token of the reply as text, with its origin."""

    text: str
    origin: TokenSource


class Beginning(msgspec.Struct, frozen=True, tag=True):
    """The question, token by token."""

    question: tuple[str, ...]


class Convergence(msgspec.Struct, frozen=True, tag=True):
    """Jacobi iteration over one block, until it converges.

    ``begun``: the reply before the block. ``prompt_tokens``: tokens before the reply. ``template``: a chat template
    wrote some of them; otherwise the plain role format did.
    """

    begun: str
    prompt_tokens: int
    template: bool
    iterations: tuple[Iteration, ...]


class Collection(msgspec.Struct, frozen=True, tag=True):
    """The first steps of lookahead decoding, until the window has yielded n-grams twice."""

    steps: tuple[LookaheadStep, ...]


class Verification(msgspec.Struct, frozen=True, tag=True):
    """A later step of the same reply in which candidates were verified; ``step`` is None if there was none.

    ``before``: the reply up to that step. ``number``: of the step in a race, from 1; 0 outside of races.
    """

    before: str
    step: LookaheadStep | None
    number: int = 0


class Comparison(msgspec.Struct, frozen=True, tag=True):
    """The same reply, decoded plainly and by lookahead, with the steps of each, and lookahead's tokens.

    ``ended``: the last token ends the reply.
    """

    lookahead: tuple[ReplyToken, ...]
    plain_steps: int
    lookahead_steps: int
    identical: bool
    ended: bool


class ComparedSteps(msgspec.Struct, frozen=True, tag=True):
    """The steps of a race's lookahead side, each with the tokens that it wrote.

    ``method``, ``other``: the two sides' titles. ``best``: number of the step that wrote the most, from 1. ``stopped``:
    the race was, and these are the steps up to the text that both sides had.
    """

    steps: tuple[tuple[ReplyToken, ...], ...]
    method: str
    other: str
    other_steps: int
    best: int
    stopped: bool = False


Chapter: TypeAlias = Beginning | Convergence | Collection | Verification | Comparison | ComparedSteps


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The next chapter, complete."""

    chapter: Chapter


class ExplainFinished(msgspec.Struct, frozen=True, tag=True):
    """All chapters were sent, or the tutorial was stopped."""
