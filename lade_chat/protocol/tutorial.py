"""Walks: steps that the engine took to show how the method works, in words; part of the protocol."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from lade_chat.protocol.inspection import Inspection, Origin

Group: TypeAlias = Literal["input", "guesses", "candidates", "window"]


class Mask(msgspec.Struct, frozen=True, array_like=True):
    """The attention mask of one forward pass: who sees whom.

    ``cached``: how many tokens the KV cache held; every query sees them. ``groups``: what the pass read, in order, and
    how many tokens of each. ``rows``: a query each, ``x`` for every token of the pass that it sees, ``.`` for others.
    """

    cached: int
    groups: tuple[tuple[Group, int], ...]
    rows: tuple[str, ...]


class Iteration(msgspec.Struct, frozen=True):
    """One Jacobi iteration over a block of guesses.

    ``guesses``: those for the places that were not settled yet; ``chosen``: the model's choice at each of these places,
    and at the one behind the block. ``settled``: how many of ``chosen`` are the text's from now on.
    """

    guesses: tuple[str, ...]
    chosen: tuple[str, ...]
    settled: int
    mask: Mask


class LookaheadStep(msgspec.Struct, frozen=True):
    """A step of lookahead decoding: laid open, and the model's choice after the last token and after each candidate."""

    laid_open: Inspection
    chosen: tuple[str, ...]
    mask: Mask


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A token of the reply as text, and where it came from."""

    text: str
    origin: Origin


class Beginning(msgspec.Struct, frozen=True, tag=True):
    """What was asked, token by token."""

    question: tuple[str, ...]


class Convergence(msgspec.Struct, frozen=True, tag=True):
    """Jacobi iteration over one block, to its end.

    ``begun``: the reply before the block. ``prompt_tokens``: how many tokens stand before the reply, ``template``:
    whether a chat template brought some of them; if not, the plain names of the roles did.
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

    ``before``: the reply up to that step.
    """

    before: str
    step: LookaheadStep | None


class Comparison(msgspec.Struct, frozen=True, tag=True):
    """The same stretch of the reply, decoded plainly and by lookahead, and in how many steps each.

    ``ended``: whether the last token that lookahead wrote is the one that ends a reply.
    """

    plain: tuple[Said, ...]
    lookahead: tuple[Said, ...]
    plain_steps: int
    lookahead_steps: int
    identical: bool
    ended: bool


Walk: TypeAlias = Beginning | Convergence | Collection | Verification | Comparison


class Explained(msgspec.Struct, frozen=True, tag=True):
    """The next walk, complete."""

    walk: Walk


class ExplainFinished(msgspec.Struct, frozen=True, tag=True):
    """All walks were told, or they were stopped."""
