"""One reply being decoded: steps in, events out, on a clock that runs only during its own steps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from time import perf_counter

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
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder
from lade_chat.engine.inspector import Inspector
from lade_chat.engine.meter import Meter
from lade_chat.engine.pause_control import Pace
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.sampling import in_force, sampling_config
from lade_chat.engine.stop_strings import StopStrings
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol.events import Event, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import Contender, DecodingOptions, FinishReason, Piece, Side, Sizes

FLUSH_SECONDS = 0.05
"""Pieces are told of 20 times a second at most: no screen has to be faster."""


class ReplyRun:
    """Decodes one reply over a session. Lookahead may be switched, and the reply stopped, between any two steps."""

    def __init__(
        self,
        loaded: LoadedModel,
        session: Session,
        prompt: Prompt,
        options: DecodingOptions,
        *,
        lookahead: Callable[[], bool],
        stopped: Callable[[], bool],
        side: Side = "left",
        contender: Contender | None = None,
        decoder: Decoder | None = None,
        pace: Pace | None = None,
        inspecting: Callable[[], bool] | None = None,
    ) -> None:
        """
        Args:
            session: what to go on from; nobody else may use it meanwhile.
            lookahead: whether lookahead is on, asked before every step.
            stopped: whether to end, asked before every step.
            side: of a race.
            contender: what this side of a race is called.
            decoder: how it decodes, whatever ``lookahead`` says; None to obey that.
            pace: where the reply may be paused.
            inspecting: whether to tell of steps in detail; None for a reply that nobody inspects.
        """
        self.ids: list[int] = []
        self._loaded, self._session, self._prompt, self._options = loaded, session, prompt, options
        self._lookahead, self._stopped, self._side = lookahead, stopped, side
        self._sampling = sampling_config(options.sampling, loaded.model)
        context_window = loaded.info.context_window
        self._meter = Meter(len(prompt.ids), context_window, options, in_force(self._sampling), contender)
        self._decoder = decoder
        self._pace, self._inspecting = pace, inspecting or (lambda: False)
        self._inspector = Inspector(loaded.tokenizer) if inspecting is not None else None
        self._detokenizer = Detokenizer(loaded.tokenizer, prompt.ids)
        self._stops = StopStrings([*prompt.stop_strings, *options.stop])
        self._pieces: list[Piece] = []
        self._step_seconds: list[float] = []
        self._flushed = perf_counter()
        self._steps = 0

    @property
    def seconds(self) -> float:
        """What the reply has taken so far: its own prefill and steps, nothing else."""
        return self._meter.seconds

    def events(self) -> Generator[Event | None]:
        """The reply's events; None after a step with nothing to tell yet, so that a race may turn to the other side."""
        reason: FinishReason | None = None
        yield from self._prefill()
        yield from self._hold()
        while reason is None and not self._stopped():
            for step in self._going_on():
                reason = self._take(step)
                if self._steps == 1 and self._options.debug:
                    self._meter.plain_step_seconds = measure_plain_step(self._session)
                if reason is not None:
                    break
                yield self._flush() if perf_counter() - self._flushed >= FLUSH_SECONDS else None
                yield from self._hold()
        if reason != "stop":
            self._finish_text()
        yield self._last()
        if self._options.debug:
            self._measure_again()
        yield ReplyFinished(reason or "cancelled", self._meter.statistics(self._lookahead()), self._side)

    def _hold(self) -> Iterator[Event]:
        """Wait while the reply is paused, all that it has said told; the clock stands still meanwhile."""
        if self._pace is None or self._pace.admits():
            return
        told = self._flush()
        if told is not None:
            yield told
        inspected = told is not None and told.inspection is not None
        while not (self._stopped() or self._pace.admits()):
            if not inspected and self._inspection() is not None:
                inspected = True
                yield self._tokens()
            self._pace.wait()

    def _prefill(self) -> Iterator[Event | None]:
        """Read the prompt but for its last chunk, which the first step reads."""
        if isinstance(self._decoder, TransformersDecoder):
            return
        started = perf_counter()
        for read in prefill(self._session, self._prompt.ids):
            self._meter.spend(perf_counter() - started)
            yield Prefilling(read, len(self._prompt.ids), self._side)
            if self._stopped():
                return
            started = perf_counter()

    def _going_on(self) -> Iterator[Step]:
        """Steps from where the session stands, until the reply ends, is stopped, or lookahead is switched."""
        looking_ahead = self._lookahead()
        decoder = self._decoder or AutoregressiveDecoder(self._loaded.model)
        if self._decoder is None and looking_ahead:
            decoder = lookahead_decoder(self._loaded, config_of(self._options.sizes))
        return decoder.generate(
            self._session.ids if self.ids else self._prompt.ids,
            max_new_tokens=self._prompt.max_new_tokens - len(self.ids),
            eos_token_ids=self._loaded.eos_token_ids,
            sampling=self._sampling,
            session=self._session,
            should_stop=lambda: self._stopped() or self._lookahead() is not looking_ahead,
            observe=self._inspector.observe if self._inspector is not None else None,
        )

    def _take(self, step: Step) -> FinishReason | None:
        """Turn a step's tokens into pieces and count it; the reason if the reply ends with it."""
        step = self._say(step)
        self._meter.add(step)
        if self._inspector is not None:
            self._inspector.take(step)
        self._step_seconds.append(self._meter.seconds)
        self.ids.extend(step.tokens)
        self._steps += 1
        return step.finish_reason.value if step.finish_reason else None

    def _say(self, step: Step) -> Step:
        """The step's tokens as pieces; returns the step up to the token that completes a stop string, if one does."""
        for count, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True), start=1):
            text = self._detokenizer.push(token)
            if self._stops and self._stops.reached_by(text + self._detokenizer.pending):
                text += self._detokenizer.finish()
            self._pieces.extend(self._stops.push(Piece(text, origin.value, token, self._steps)))
            if self._stops.reached:
                return replace(step, tokens=step.tokens[:count], origins=step.origins[:count], finish_reason=End.STOP)
        return step

    def _finish_text(self) -> None:
        """Let go what was held back, and what an unfinished character leaves."""
        rest = self._detokenizer.finish()
        self._pieces.extend(self._stops.finish())
        if rest and self._pieces:
            last = self._pieces[-1]
            self._pieces[-1] = Piece(last.text + rest, last.origin, last.id, last.step)
        elif rest:
            self._pieces.append(Piece(rest, "plain", self.ids[-1], self._steps - 1))

    def _flush(self) -> Tokens | None:
        self._flushed = perf_counter()
        return self._tokens() if self._pieces else None

    def _tokens(self) -> Tokens:
        pieces, self._pieces = tuple(self._pieces), []
        ends, self._step_seconds = tuple(self._step_seconds), []
        return Tokens(pieces, self._meter.statistics(self._lookahead()), self._side, ends, self._inspection())

    def _last(self) -> Tokens | None:
        """All that is left to be told, and the last step in any case: who opens the inspector next is shown that."""
        inspection = self._inspector.most_telling() if self._inspector is not None else None
        if inspection is None:
            return self._flush()
        return msgspec.structs.replace(self._tokens(), inspection=inspection)

    def _inspection(self) -> Inspection | None:
        """The last step laid open, where that is wanted."""
        return self._inspector.inspection() if self._inspector is not None and self._inspecting() else None

    def _measure_again(self) -> None:
        """A plain step costs more as the text grows: take the middle of the reply's start and end."""
        at_start, at_end = self._meter.plain_step_seconds, measure_plain_step(self._session)
        if at_start is not None and at_end is not None:
            self._meter.plain_step_seconds = (at_start + at_end) / 2

    def synchronize(self) -> None:
        """Wait for the accelerator, on this reply's clock, so that none of its work is timed as another's."""
        device = self._loaded.model.device
        if device.type != "cpu":
            started = perf_counter()
            torch.accelerator.synchronize(device)
            self._meter.spend(perf_counter() - started)


def lookahead_decoder(loaded: LoadedModel, config: LookaheadConfig) -> LookaheadDecoder:
    """Lookahead with a model, its steps shared with those who serve it too, if there are any."""
    if loaded.workers is None or loaded.workers.ranks == 1:
        return LookaheadDecoder(loaded.model, config, cost=loaded.step_cost)
    return ParallelLookaheadDecoder(loaded.model, loaded.workers, config, cost=loaded.shared_cost)


def config_of(sizes: Sizes | None) -> LookaheadConfig:
    """The decoder's sizes: the paper's algorithm with those given, or each step as large as pays."""
    if sizes is None:
        return LookaheadConfig.auto()
    return LookaheadConfig(sizes.window_size, sizes.ngram_size, sizes.guess_set_size)
