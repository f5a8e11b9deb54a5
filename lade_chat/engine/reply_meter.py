"""Metrics of a reply, added up from the decoder's steps."""

from __future__ import annotations

from collections import Counter, deque
from statistics import fmean
from typing import cast

from decoding import Origin, Step
from lade_chat.presentation.methods import method_info
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import DecodingOptions, MethodSpec, Sampling, Statistics

RECENT_SECONDS = 1.0
"""Time span of "tok/s now"."""
ENOUGH_PLAIN_STEPS = 8
"""With this many plain steps of its own, a reply needs no separate measurement of them."""


class Meter:
    """Adds up the steps of one reply. Its clock stands still between steps."""

    def __init__(
        self,
        prompt_tokens: int,
        context_window: int,
        options: DecodingOptions,
        sampling: Sampling | None = None,
        method: MethodSpec | None = None,
    ) -> None:
        self.seconds = 0.0
        self.plain_step_seconds: float | None = None
        self._prompt_tokens, self._context_window, self._options = prompt_tokens, context_window, options
        self._sampling, self._method = sampling, method
        self._generated = self._steps = self._verified = self._thought = self._given = 0
        self._thought_seconds = 0.0
        self._verified_from: Counter[TokenSource] = Counter()
        self._first_token_seconds = 0.0
        self._recent: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._runs: dict[int, int] = {}
        self._plain_steps: list[float] = []
        self._last: Step | None = None
        self._lookahead: bool | None = None
        # The method of a comparison is not switched.
        self._fixed = None if method is None else method_info(method).needs_lookahead
        self._switches: list[int] = []
        self._guessing = self._resting = 0
        self._pool_size = 0

    def spend(self, seconds: float) -> None:
        """Add time spent outside steps: prefill chunks, waiting for the accelerator."""
        self.seconds += seconds

    def follow(self, lookahead: bool) -> None:
        """Note that lookahead is on, or off, from here on."""
        lookahead = lookahead if self._fixed is None else self._fixed
        if self._generated and lookahead is not self._lookahead:
            self._switches.append(self._generated)
        self._lookahead = lookahead

    def give(self, tokens: int) -> None:
        """Count tokens that the reply was given: they take room and no step."""
        self._given += tokens

    def add(self, step: Step, thought: int = 0) -> None:
        """Count one step, and those of its tokens that were thought."""
        self._thought += thought
        self._thought_seconds += step.seconds if thought and not step.prefill else 0.0
        self.seconds += step.seconds
        if not self._steps:
            self._first_token_seconds = self.seconds
        self._steps += 1
        self._generated += len(step.tokens)
        self._verified += step.accepted
        self._verified_from.update(cast(TokenSource, each.value) for each in step.origins if each is not Origin.PLAIN)
        self._pool_size = step.pool_size
        if not step.prefill:
            # The last step of a reply may be cut short, so it is not representative.
            if self._last is None or step.finish_reason is None:
                self._last = step
            self._runs[step.accepted] = self._runs.get(step.accepted, 0) + 1
            if step.forward_tokens == 1:
                self._plain_steps.append(step.seconds)
                self._resting += bool(self._lookahead)
            else:
                self._guessing += 1
        self._recent.append((self.seconds, self._generated))
        while len(self._recent) > 2 and self.seconds - self._recent[0][0] > RECENT_SECONDS:
            self._recent.popleft()

    def statistics(self, lookahead: bool) -> Statistics:
        """The metrics so far; ``lookahead``: it is on at this moment."""
        self.follow(lookahead)
        (then, before), (now, generated) = self._recent[0], self._recent[-1]
        last, own = self._last, self._plain_steps
        # The first step read the prompt.
        mean_step = 1e3 * (self.seconds - self._first_token_seconds) / (self._steps - 1) if self._steps > 1 else 0.0
        return Statistics(
            generated_tokens=self._generated,
            steps=self._steps,
            seconds=self.seconds,
            time_to_first_token=self._first_token_seconds,
            recent_tokens_per_second=(generated - before) / (now - then) if now > then else 0.0,
            verified_tokens=self._verified,
            verified_from=tuple(self._verified_from.most_common()),
            thought_tokens=self._thought,
            thought_seconds=self._thought_seconds,
            prompt_tokens=self._prompt_tokens,
            context_used=self._prompt_tokens + self._given + self._generated,
            context_window=self._context_window,
            lookahead=bool(self._lookahead),
            switches=tuple(self._switches),
            guessing_steps=self._guessing,
            resting_steps=self._resting,
            sizes=self._options.sizes,
            window_size=last.window_size if last else 0,
            ngram_size=last.ngram_size if last else 0,
            candidates=last.candidates if last else 0,
            step_milliseconds=mean_step,
            forward_tokens=last.forward_tokens if last else 0,
            pool_size=self._pool_size,
            accepted_runs=tuple(self._runs.get(k, 0) for k in range(max(self._runs, default=-1) + 1)),
            # Of the reply's own plain steps if there are enough, else of those measured beside it.
            plain_step_seconds=fmean(own) if len(own) >= ENOUGH_PLAIN_STEPS else self.plain_step_seconds,
            sampling=self._sampling,
            method=self._method,
        )
