"""ReplyRun: turns the steps of one reply into events, and times them on a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from statistics import mean
from time import perf_counter

import msgspec

from decoding import Decoder, Session, Step, prefill
from decoding import plain_step_seconds as measure_plain_step
from lade_chat.engine.comparison.history import SideRecord
from lade_chat.engine.inspector import Inspector, rank_next
from lade_chat.engine.job import Job
from lade_chat.engine.lookahead_switch import LookaheadSwitch
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.reply_meter import Meter
from lade_chat.engine.sampling import sampling_config, sampling_in_force
from lade_chat.engine.text.reply_pieces import ReplyPieces
from lade_chat.engine.update_throttle import UpdateThrottle
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.events import Event, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection, RankedToken
from lade_chat.protocol.values import DecodingOptions, FinishReason, Side


class ReplyRun:
    """One reply in a session: first ``prefill``, unless its decoder reads the prompt, then ``decode``.

    Another decoder may take over at any step: see :class:`LookaheadSwitch`.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        session: Session,
        prompt: Prompt,
        options: DecodingOptions,
        job: Job,
        *,
        record: SideRecord | None = None,
        side: Side = "left",
    ) -> None:
        """Only this uses the ``session`` meanwhile; without a ``record`` of one side of a race, steps are inspected."""
        self._loaded, self._session, self._prompt, self._options = loaded, session, prompt, options
        self._job, self._side = job, side
        self._switch = LookaheadSwitch(job, supported=loaded.info.lookahead_supported)
        self._sampling = sampling_config(options.sampling, loaded.model)
        self._is_in_session = False
        """True once the session has read the prompt and all of the reply but the last token."""
        self.ids: list[int] = []
        method = None if record is None else record.method
        sampling, context_window = sampling_in_force(self._sampling), loaded.info.context_window
        self.meter = Meter(len(prompt.ids), context_window, options, sampling, method)
        self._observer = Inspector(loaded.tokenizer) if record is None else record
        self._inspector = self._observer if isinstance(self._observer, Inspector) else None
        self._text = ReplyPieces(loaded, prompt, options.stop, options.max_thought_tokens)
        self._step_seconds: list[float] = []
        self._throttle = UpdateThrottle()
        self._steps = 0
        self._waits = False
        self._ranked: tuple[int, tuple[RankedToken, ...]] = (0, ())
        """The likeliest next tokens after so many steps."""
        # The number of the last step whose inspection was sent.
        self._inspected = -1

    def prefill(self) -> Iterator[Prefilling]:
        """Read all of the prompt but its last chunk, which the first step reads."""
        self._is_in_session = True
        started = perf_counter()
        for read in prefill(self._session, self._prompt.ids):
            self.meter.spend(perf_counter() - started)
            yield Prefilling(read, len(self._prompt.ids), self._side)
            if self._job.stopped:
                return
            started = perf_counter()

    def decode(self, decoder: Callable[[bool], Decoder]) -> Iterator[Event | None]:
        """Yield the reply's events, and None after a step without any, so that a comparison can alternate sides.

        ``decoder``: returns the decoder to use from here on; it is given whether lookahead is on.
        """
        reason: FinishReason | None = None
        yield from self._wait_while_paused()
        for step in self._switch.steps(partial(self._go_on, decoder)):
            reason = self._take(step)
            if self._steps == 1 and self._options.debug:
                self.meter.plain_step_seconds = measure_plain_step(self._session)
            if reason is not None:
                break
            if self._text.closes_thought:
                # It has reached its limit: it ends in the model's place, and the answer follows.
                given = self._text.close_thought(self._steps - 1)
                self.ids.extend(given)
                self.meter.give(len(given))
                yield self._flush()
                continue
            yield from self._wait_while_paused()
            is_due = self._steps == 1 or self._throttle.is_due(len(self._text.pieces))
            yield self._flush() if is_due else None
        if reason != "stop":
            self._text.finish(self.ids[-1] if self.ids else 0, self._steps - 1, stopped=reason is None)
        yield self._last_tokens()
        if self._options.debug or self._job.inspecting:
            self._measure_again()
        yield ReplyFinished(reason or "cancelled", self.meter.statistics(self._switch.is_on), self._side)

    def _go_on(
        self, decoder: Callable[[bool], Decoder], lookahead: bool, should_stop: Callable[[], bool]
    ) -> Generator[Step, None, bool]:
        """Yield steps of one decoder until it should stop, or other tokens were put in the place of a step's.

        Returns True if the reply ended with its last step.
        """
        self.meter.follow(lookahead)
        ended = False
        for step in decoder(lookahead).generate(
            None if self._is_in_session else (*self._prompt.ids, *self.ids),
            max_new_tokens=self._prompt.max_new_tokens - len(self.ids),
            eos_token_ids=self._loaded.eos_token_ids,
            sampling=self._sampling,
            session=self._session,
            should_stop=should_stop,
            observe=self._observer.observe,
        ):
            before = len(self.ids)
            yield step
            self._is_in_session = tuple(self.ids[before:]) == step.tokens
            if not self._is_in_session:
                return False
            ended = step.finish_reason is not None
        return ended

    def _wait_while_paused(self) -> Iterator[Event]:
        """Flush the text and wait while the reply is paused, with its clock stopped."""
        if self._job.may_step():
            return
        self._waits = True
        tokens = self._flush()
        if tokens is not None:
            yield tokens
        while not (self._job.stopped or self._job.may_step()):
            inspection = self._inspection()
            if inspection is not None and inspection.step != self._inspected:
                yield self._tokens()
            self._job.wait()
        self._waits = False

    def _take(self, step: Step) -> FinishReason | None:
        """Turn a step's tokens into pieces and count it; returns the reason if the reply ends with it."""
        thought = self._text.thought
        step = self._text.push(step, self._steps)
        self.meter.add(step, self._text.thought - thought)
        self._observer.take(step)
        self._step_seconds.append(self.meter.seconds)
        self.ids.extend(step.tokens)
        self._steps += 1
        return step.finish_reason.value if step.finish_reason else None

    def _flush(self) -> Tokens | None:
        self._throttle.restart()
        return self._tokens() if self._text.pieces else None

    def _tokens(self) -> Tokens:
        ends, self._step_seconds = tuple(self._step_seconds), []
        if (inspection := self._inspection()) is not None:
            self._inspected = inspection.step
        statistics = self.meter.statistics(self._switch.is_on)
        return Tokens(self._text.take(), statistics, self._side, ends, inspection)

    def _last_tokens(self) -> Tokens | None:
        """The remaining pieces, with the inspection of the last step for an inspector that is opened afterwards."""
        inspection = self._inspector.last_speculative() if self._inspector is not None else None
        if inspection is None:
            return self._flush()
        return msgspec.structs.replace(self._tokens(), inspection=inspection)

    def _inspection(self) -> Inspection | None:
        """The last step's inspection, while steps are inspected; with what may come next, while the reply waits."""
        inspection = self._inspector.inspection() if self._inspector is not None and self._job.inspecting else None
        can_rank = self._waits and self._session.capabilities.rewindable and self._text.ends_whole
        if inspection is None or not can_rank:
            return inspection
        if self._ranked[0] != self._steps:
            self._ranked = self._steps, rank_next(self._loaded, self._session)
        return msgspec.structs.replace(inspection, likeliest=self._ranked[1])

    def _measure_again(self) -> None:
        """Measure a plain step again and average with the start's, since it takes longer as the text grows."""
        at_start, at_end = self.meter.plain_step_seconds, measure_plain_step(self._session)
        measured = [each for each in (at_start, at_end) if each is not None]
        self.meter.plain_step_seconds = mean(measured) if measured else None
