"""LookaheadDecoder: exact lookahead decoding (Fu et al. 2024, arXiv 2402.02057). This is the page to read.

A step is one forward pass over three things after the committed prefix: the last token, the *candidates* (the
verification branch: n-grams that may come next, as a prefix tree) and the *window* (the lookahead branch: N-1
iterations of Jacobi decoding over W positions ahead, whose columns yield new n-grams). Verification is this: the
model chooses a token first, as plain decoding would, and a candidate is accepted if it is that token. So the text
is the model's own, whatever was proposed.

Two things differ from the paper, neither of them the text: n-grams of the prompt, the reply and earlier turns are
candidates too, before those of the window where they match two tokens or more; and all candidates are merged into a
tree, so that a shared prefix is verified once.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from transformers import PreTrainedModel

from decoding.candidates.propose import propose
from decoding.config import LookaheadConfig
from decoding.decoder import Decoder, Limits, plain_step
from decoding.inputs import StepInputs
from decoding.session import Session
from decoding.step import Origin, Step
from decoding.support import lookahead_support
from decoding.window import JacobiWindow


class LookaheadDecoder(Decoder):
    """Lookahead decoding with the paper's fixed W, N and G.

    Where the model cannot take such a step, it decodes plainly; ``support.reason`` says why.
    """

    def __init__(self, model: PreTrainedModel, config: LookaheadConfig | None = None) -> None:
        """
        Args:
            model: any causal language model of transformers.
            config: W, N and G; None for the defaults.
        """
        super().__init__(model)
        self.config = LookaheadConfig() if config is None else config
        self.support = lookahead_support(model)

    def _steps(self, session: Session, limits: Limits) -> Iterator[Step]:
        config = self.config
        window = JacobiWindow.drawn_from(session.ids, config.window_size, config.ngram_size)
        reason = None
        while reason is None:
            depth = self._depth(session, window, limits)
            if depth is None:
                step = plain_step(session, limits)
                reason = step.finish_reason
                yield step
                continue

            # Both branches, in one forward pass.
            candidates = propose(session, depth, config.guess_set_size)
            inputs = StepInputs.lay_out(session.ids[-1], candidates, window)
            started = perf_counter()
            chosen = session.look_ahead(inputs)
            forward_seconds = perf_counter() - started

            # Verification: as far as the candidates are what the model chose, and one token more.
            accepted = candidates.walk(chosen)
            bonus = chosen[accepted[-1] if accepted else 0]
            tokens, reason = limits.cut([*(inputs.token_ids[node] for node in accepted), bonus])
            origins = (*(candidates.origin(node) for node in accepted), Origin.PLAIN)[: len(tokens)]
            session.commit(tokens, accepted[: len(tokens) - 1])

            # Lookahead: of the window only the last row is read, and every column of a full one closes an n-gram.
            new_row = chosen[1 + len(candidates) :]
            for ngram in window.ngrams(new_row):
                session.tables.trajectory.add(ngram, config.guess_set_size)
            window.advance(new_row)

            yield Step(
                tokens,
                origins,
                reason,
                forward_tokens=len(inputs),
                candidates=len(candidates),
                window_size=config.window_size,
                ngram_size=config.ngram_size,
                pool_size=len(session.tables.trajectory),
                context_size=len(session.tables.context),
                forward_seconds=forward_seconds,
            )

    def _depth(self, session: Session, window: JacobiWindow, limits: Limits) -> int | None:
        """How deep candidates may go in this step; None where no branch may be laid out at all."""
        if not self.support.supported or limits.remaining == 1:
            return None
        depth = min(self.config.ngram_size - 1, limits.remaining - 1)
        limit = session.gate.position_limit
        if limit is None:
            return depth
        # Positions that the model does not have, or where it changes, are left to plain steps: the last few of a text
        # that fills the model's context.
        ahead = limit - len(session.ids)
        window_reach = window.columns + self.config.ngram_size - 2 if window.columns else 0
        return None if ahead < max(1, window_reach) else min(depth, ahead)
