"""ReplyRun: decodes one reply, turns its steps into events, and times them on a clock of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from statistics import mean
from time import perf_counter
from typing import NamedTuple

import msgspec
import torch

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    Detokenizer,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    Step,
    prefill,
)
from decoding import FinishReason as End
from decoding import plain_step_seconds as measure_plain_step
from decoding.parallel import ParallelLookaheadDecoder
from lade_chat.engine.comparison.record import SideRecord
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder
from lade_chat.engine.inspector import Inspector
from lade_chat.engine.job import Job
from lade_chat.engine.learnt_successors import encode_successors
from lade_chat.engine.meter import Meter
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.sampling import in_force, sampling_config
from lade_chat.engine.text.stop_strings import StopStrings
from lade_chat.engine.text.thoughts import ThoughtNormalizer
from lade_chat.errors import LadeChatError
from lade_chat.loading.model import LoadedModel
from lade_chat.loading.step_costs import with_step_cost
from lade_chat.presentation.methods import race_method
from lade_chat.protocol.events import Event, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import DecodingOptions, FinishReason, MethodSpec, Piece, Side, Sizes

FLUSH_SECONDS = 0.05
"""Pieces are sent at most 20 times a second, which is fast enough for a screen."""
MANY_PIECES, CROWD = 8, 48
"""A flush of at least MANY_PIECES (CROWD) pieces doubles (triples) FLUSH_SECONDS: a flush costs the screen a layout,
and such speeds cannot be read along anyway."""


class ComparisonSide(NamedTuple):
    """One side of a race: its method and the decoder that implements it."""

    side: Side
    record: SideRecord
    decoder: Decoder

    @property
    def method(self) -> MethodSpec:
        return self.record.method


class ReplyRun:
    """Decodes one reply in a session, following its job's controls between steps.

    Attributes:
        ids: the reply so far.
        loaded: the model, with the cost of its steps once that is measured.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        session: Session,
        prompt: Prompt,
        options: DecodingOptions,
        job: Job,
        compared: ComparisonSide | None = None,
    ) -> None:
        """
        Args:
            session: where decoding continues; nothing else may use it meanwhile.
            compared: a fixed decoder, for one side of a race; None to follow the job's lookahead switch.
        """
        self.ids: list[int] = []
        self.loaded, self._session, self._prompt, self._options = loaded, session, prompt, options
        self._job, self._compared = job, compared
        self._side: Side = compared.side if compared is not None else "left"
        self._sampling = sampling_config(options.sampling, loaded.model)
        context_window, method = loaded.info.context_window, compared.method if compared is not None else None
        self._meter = Meter(len(prompt.ids), context_window, options, in_force(self._sampling), method)
        self._observer = compared.record if compared is not None else Inspector(loaded.tokenizer)
        self._inspector = self._observer if isinstance(self._observer, Inspector) else None
        self._detokenizer = Detokenizer(loaded.tokenizer, prompt.ids)
        self._thoughts = ThoughtNormalizer(loaded.thinking, prompt.begin)
        self._delimiters = loaded.thinking.shown_tokens(loaded.tokenizer)
        self._stops = StopStrings([*prompt.stop_strings, *options.stop])
        self._pieces: list[Piece] = []
        self._step_seconds: list[float] = []
        self._flushed = perf_counter()
        self._steps = 0
        # The last step whose inspection was told.
        self._inspected = -1
        self._updates = session.tables.successors.updates

    @property
    def seconds(self) -> float:
        """Time of this reply's own prefill and steps so far."""
        return self._meter.seconds

    def events(self) -> Generator[Event | None]:
        """Yield the reply's events, and None after a step without any, so that a race can alternate sides."""
        reason: FinishReason | None = None
        yield from self._prefill()
        yield from self._wait_while_paused()
        while reason is None and not self._job.stopped:
            for step in self._decode():
                reason = self._take(step)
                if self._steps == 1 and self._options.debug:
                    self._meter.plain_step_seconds = measure_plain_step(self._session)
                if reason is not None:
                    break
                if self._lacks_step_cost():
                    yield self._flush()
                    self.loaded = with_step_cost(self.loaded)
                    break  # to go on with a decoder that knows it
                yield self._flush() if self._is_due() else None
                yield from self._wait_while_paused()
        if reason != "stop":
            self._finish_text()
        yield self._last_tokens()
        if self._options.debug or self._job.inspecting:
            self._measure_again()
        statistics, learnt = self._meter.statistics(self._is_lookahead()), self._learnt_successors()
        yield ReplyFinished(reason or "cancelled", statistics, self._side, learnt)

    def _learnt_successors(self) -> bytes:
        """Return the encoded successors that this reply has learnt; empty in a race."""
        if self._compared is not None:
            return b""
        return encode_successors(self._session.tables.successors.learnt_since(self._updates))

    def _lacks_step_cost(self) -> bool:
        """Return True if the cost of steps is to be measured now that the first token is shown."""
        fixed = self._compared is not None or self._options.sizes is not None or self.loaded.workers is not None
        return self.loaded.step_cost is None and not fixed and self._is_lookahead()

    def _wait_while_paused(self) -> Iterator[Event]:
        """Flush the text and wait while the reply is paused, with its clock stopped."""
        if self._job.may_step():
            return
        tokens = self._flush()
        if tokens is not None:
            yield tokens
        while not (self._job.stopped or self._job.may_step()):
            inspection = self._inspection()
            if inspection is not None and inspection.step != self._inspected:
                yield self._tokens()
            self._job.wait()

    def _is_lookahead(self) -> bool:
        if self._compared is not None:
            return race_method(self._compared.method).needs_lookahead
        return self._job.lookahead and self.loaded.info.lookahead_supported

    def _prefill(self) -> Iterator[Event | None]:
        """Prefill all but the prompt's last chunk, which the first step reads."""
        if self._compared is not None and isinstance(self._compared.decoder, TransformersDecoder):
            return
        started = perf_counter()
        for read in prefill(self._session, self._prompt.ids):
            self._meter.spend(perf_counter() - started)
            yield Prefilling(read, len(self._prompt.ids), self._side)
            if self._job.stopped:
                return
            started = perf_counter()

    def _decode(self) -> Iterator[Step]:
        """Decode from the session's present end until the reply ends, is stopped, or lookahead is switched."""
        lookahead = self._is_lookahead()
        self._meter.follow(lookahead)
        if self._compared is not None:
            decoder = self._compared.decoder
        elif lookahead:
            decoder = lookahead_decoder(self.loaded, lookahead_config(self._options.sizes))
        else:
            decoder = AutoregressiveDecoder(self.loaded.model)
        return decoder.generate(
            self._session.ids if self.ids else self._prompt.ids,
            max_new_tokens=self._prompt.max_new_tokens - len(self.ids),
            eos_token_ids=self.loaded.eos_token_ids,
            sampling=self._sampling,
            session=self._session,
            should_stop=lambda: self._job.stopped or self._is_lookahead() is not lookahead,
            observe=self._observer.observe if self._compared is None or self._compared.record.is_lookahead else None,
        )

    def _take(self, step: Step) -> FinishReason | None:
        """Turn a step's tokens into pieces and count it; returns the reason if the reply ends with it."""
        step = self._until_stop_string(step)
        self._meter.add(step)
        self._observer.take(step)
        self._step_seconds.append(self._meter.seconds)
        self.ids.extend(step.tokens)
        self._steps += 1
        return step.finish_reason.value if step.finish_reason else None

    def _until_stop_string(self, step: Step) -> Step:
        """Turn tokens into pieces; returns the step, cut behind the token that completes a stop string if one does."""
        for count, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True), start=1):
            text = self._text_of(token) if count <= step.written else self._detokenizer.finish()
            pending = "" if self._thoughts.is_holding else self._detokenizer.pending
            if pending and self._stops and self._stops.reached_by(text + pending):
                text += self._detokenizer.finish()
            for piece in self._thoughts.push(Piece(text, origin.value, token, self._steps)):
                self._pieces.extend(self._stops.push(piece))
            if self._stops.reached:
                kept = step.tokens[:count]
                return msgspec.structs.replace(step, tokens=kept, origins=step.origins[:count], finish_reason=End.STOP)
        return step

    def _text_of(self, token: int) -> str:
        """Return the text that a token completes; delimiters of thoughts have one where they count."""
        name = self._delimiters.get(token) if self._thoughts.expects_delimiter else None
        return self._detokenizer.push(token) if name is None else self._detokenizer.finish() + name

    def _finish_text(self) -> None:
        """Release held-back pieces and the bytes of an unfinished character."""
        rest = self._detokenizer.finish()
        for piece in self._thoughts.finish():
            self._pieces.extend(self._stops.push(piece))
        self._pieces.extend(self._stops.finish())
        if rest and self._pieces:
            last = self._pieces[-1]
            self._pieces[-1] = Piece(last.text + rest, last.origin, last.id, last.step)
        elif rest:
            self._pieces.append(Piece(rest, "plain", self.ids[-1], self._steps - 1))

    def _is_due(self) -> bool:
        pieces = len(self._pieces)
        times = 1 if pieces < MANY_PIECES else 2 if pieces < CROWD else 3
        return perf_counter() - self._flushed >= times * FLUSH_SECONDS

    def _flush(self) -> Tokens | None:
        self._flushed = perf_counter()
        return self._tokens() if self._pieces else None

    def _tokens(self) -> Tokens:
        pieces, self._pieces = tuple(self._pieces), []
        ends, self._step_seconds = tuple(self._step_seconds), []
        if (inspection := self._inspection()) is not None:
            self._inspected = inspection.step
        return Tokens(pieces, self._meter.statistics(self._is_lookahead()), self._side, ends, inspection)

    def _last_tokens(self) -> Tokens | None:
        """The remaining pieces, with the inspection of the last step for an inspector that is opened afterwards."""
        inspection = self._inspector.last_speculative() if self._inspector is not None else None
        if inspection is None:
            return self._flush()
        return msgspec.structs.replace(self._tokens(), inspection=inspection)

    def _inspection(self) -> Inspection | None:
        """The last step's inspection, while steps are inspected."""
        return self._inspector.inspection() if self._inspector is not None and self._job.inspecting else None

    def _measure_again(self) -> None:
        """Measure a plain step again and average with the start's, since it takes longer as the text grows."""
        at_start, at_end = self._meter.plain_step_seconds, measure_plain_step(self._session)
        measured = [each for each in (at_start, at_end) if each is not None]
        self._meter.plain_step_seconds = mean(measured) if measured else None

    def synchronize(self) -> None:
        """Wait for the accelerator on this reply's clock, so that its work is not timed as the other side's."""
        device = self.loaded.model.device
        if device.type != "cpu":
            started = perf_counter()
            torch.accelerator.synchronize(device)
            self._meter.spend(perf_counter() - started)


def lookahead_decoder(loaded: LoadedModel, config: LookaheadConfig) -> LookaheadDecoder:
    """A lookahead decoder, whose steps are shared with the model's other ranks if it has any."""
    if loaded.workers is None or loaded.workers.ranks == 1:
        return LookaheadDecoder(loaded.model, config, cost=loaded.step_cost)
    return ParallelLookaheadDecoder(loaded.model, loaded.workers, config, cost=loaded.shared_cost)


def lookahead_config(sizes: Sizes | None) -> LookaheadConfig:
    """The paper's algorithm with the sizes given, or automatic sizes. Raises LadeChatError for too large a window."""
    if sizes is None:
        return LookaheadConfig.auto()
    try:
        return LookaheadConfig(sizes.window_size, sizes.ngram_size, sizes.guess_set_size)
    except ValueError as error:
        raise LadeChatError(f"The sizes cannot be followed: {error}.") from error
