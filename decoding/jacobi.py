"""JacobiDecoder: plain Jacobi decoding, a fixed-point iteration over a block of guesses.

Santilli et al. 2023 (arXiv 2305.10427); what lookahead decoding starts from (Fu et al. 2024, section 2). Greedy
decoding solves y[i] = argmax p(y | y[:i]) for one position after another; Jacobi iteration guesses all positions of a
block at once, has the model choose at each under the guesses before it, and takes its choices as the next guesses.
Choices that follow only right guesses are final, so each iteration fixes at least the leftmost position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from decoding.arguments import as_count, check_functions
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.verification import accepted_path
from decoding.branches.window import JacobiWindow
from decoding.config import MAX_WINDOW_TOKENS
from decoding.decoder import Decoder
from decoding.model.step_inputs import StepInputs
from decoding.plain_step import MAX_REREADS, plain_step
from decoding.request import Request
from decoding.runner import Support, lookahead_support, runner_of
from decoding.session import Session
from decoding.step import Origin, Step

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class JacobiIteration:
    """One iteration over the block.

    Attributes:
        position: the place in the text where the block begins.
        before: the guesses, one for each position of the block.
        after: the model's choices at each position under the guesses before it, and at the one behind the block.
        settled: the number of tokens of ``after``, from the left, that follow right guesses alone and are now part of
            the text; fewer where the text ends among them. The others are the next iteration's guesses.
    """

    position: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    settled: int

    @property
    def visible(self) -> npt.NDArray[np.bool_]:
        """The attention mask over the iteration's own tokens: the last one of the text, then the block.

        Shape (1 + block, 1 + block), row by query. Before them each token sees the whole text.
        """
        return _as_tree(self.before).ancestry()


class JacobiDecoder(Decoder):
    """Plain Jacobi decoding, exact. A model that does not support such steps is decoded plainly: see ``support``.

    Sampling converges too, to the text that plain sampling gives: a position has the same noise in every iteration.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        block_size: int = 16,
        *,
        on_iteration: Callable[[JacobiIteration], None] | None = None,
    ) -> None:
        """
        Args:
            model: any causal language model of transformers.
            block_size: the number of positions guessed at once, from 1 to 16,384.
            on_iteration: called with every iteration before its step is yielded. If it raises, the generation ends;
                the step's tokens are in the session's ``ids``.

        Raises:
            ValueError: the block size is not a whole number in that range, or ``on_iteration`` is not callable.
        """
        super().__init__(model)
        check_functions(on_iteration=on_iteration)
        self.block_size = as_count(block_size, "block_size", least=1)
        if self.block_size > MAX_WINDOW_TOKENS:
            raise ValueError(f"block_size must be at most {MAX_WINDOW_TOKENS}, not {self.block_size}")
        self.on_iteration = on_iteration
        # Checked now, so that the first step does not pay for it.
        lookahead_support(self.model)

    @property
    def support(self) -> Support:
        """Support for Jacobi iteration in the model as it is now."""
        return lookahead_support(self.model)

    def _described(self) -> list[str]:
        return [f"block_size={self.block_size}", *self.support.objections]

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        no_window = JacobiWindow.none()
        guesses: list[int] = []
        reason, supported = None, runner_of(self.model).support.supported
        while reason is None:
            size = self._size(session, request) if supported else 0
            if size < 1:
                step = plain_step(session, request)
                reason = step.finish_reason
                yield step
                continue

            # Missing guesses are drawn from the text, the same ones for the same text.
            draw, missing = Random(len(session.ids)), self.block_size - len(guesses)
            guesses = [*guesses, *(draw.choice(session.ids) for _ in range(missing))]
            block = _as_tree(guesses[:size])
            inputs = StepInputs.from_branches(session.ids[-1], block, no_window)
            forward_tokens, started = session.prefix.rereads + len(inputs), perf_counter()
            logits = session.forward_branches(inputs)
            chosen = request.sampler.sample_rows(logits, session.ids, block)
            forward_seconds = perf_counter() - started

            accepted, position = accepted_path(block, chosen), len(session.ids)
            tokens, reason = request.cut(session.ids, chosen[: len(accepted) + 1])
            session.commit(tokens, accepted[: len(tokens) - 1])
            guesses = chosen[len(accepted) + 1 :]
            if self.on_iteration is not None:
                self.on_iteration(JacobiIteration(position, tuple(block.tokens), tuple(chosen), len(tokens)))
            yield Step(
                tokens,
                (*(Origin.TRAJECTORY for _ in accepted), Origin.PLAIN)[: len(tokens)],
                reason,
                forward_tokens=forward_tokens,
                candidates=len(block),
                table_sizes=session.tables.sizes(),
                forward_seconds=forward_seconds,
                seconds=request.clock.lap(),
            )

    def _size(self, session: Session, request: Request) -> int:
        """The number of positions of the next block; 0 for a plain step."""
        if session.prefix.rereads > MAX_REREADS:
            return 0
        limit = session.capabilities.position_limit
        room = self.block_size if limit is None else limit - len(session.ids)
        # Behind the block comes one token more.
        return min(self.block_size, request.max_length - len(session.ids) - 1, room)


def _as_tree(guesses: Sequence[int]) -> CandidateTree:
    """Return the block as a chain of candidates."""
    block = CandidateTree()
    block.add(guesses, Origin.TRAJECTORY)
    return block
