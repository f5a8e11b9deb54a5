"""ChatEngine: commands in, events out; owns the model and the session that lasts from turn to turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event as Flag
from threading import Thread
from time import monotonic

import msgspec

from decoding import Session, Tables
from lade_chat.engine.conversation import Prompt, build_prompt
from lade_chat.engine.race import race
from lade_chat.engine.reply import ReplyRun
from lade_chat.engine.sampling import with_seed
from lade_chat.errors import LadeChatError, is_out_of_memory
from lade_chat.loading.compiling import with_compiled_steps
from lade_chat.loading.model import LoadedModel, Report, load
from lade_chat.loading.step_costs import remember, with_step_cost
from lade_chat.protocol import (
    Event,
    Failed,
    Load,
    Loaded,
    LoadFailed,
    Loading,
    ModelOptions,
    Race,
    Reply,
    ReplyStarted,
    Stage,
)

REMEMBER_SECONDS = 30.0
"""How often at most what live steps have taught of their cost is written down."""
OUT_OF_MEMORY = "out of memory: try a shorter conversation, a smaller model, or --dtype bfloat16"


class ChatEngine:
    """One model, one running reply at a time. :meth:`stop` and :meth:`set_lookahead` may come from any thread."""

    def __init__(self) -> None:
        self._loaded: LoadedModel | None = None
        self._session: Session | None = None
        self._last_turn: tuple[tuple[int, ...], Tables, int] = ((), Tables(), 0)
        """The last reply's prompt; before it was answered, the sources' tables and how much of it was cached."""
        self._stop = Flag()
        self._lookahead = True
        self._remembered = -math.inf

    def stop(self) -> None:
        """End the running reply or race at its next step."""
        self._stop.set()

    def set_lookahead(self, enabled: bool) -> None:
        """Switch lookahead on or off from the running reply's next step on."""
        self._lookahead = enabled

    def handle(self, command: Load | Reply | Race) -> Iterator[Event]:
        """Carry out a command; every error ends it with an event of one line."""
        if isinstance(command, Load):
            yield from self._load(command.options)
            return
        self._stop.clear()
        command = msgspec.structs.replace(command, options=with_seed(command.options))
        try:
            yield from self._reply(command) if isinstance(command, Reply) else self._race(command)
        except LadeChatError as error:
            yield Failed(str(error))
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            yield Failed(OUT_OF_MEMORY)

    def _load(self, options: ModelOptions) -> Iterator[Event]:
        """Load on a thread of its own, so that progress can be told while it runs.

        Two models may not fit, so the old one goes; but only when the new one's weights are about to be read, not for
        a path or a Hub id that comes to nothing.
        """
        events: SimpleQueue[Event | LoadedModel | BaseException] = SimpleQueue()

        def report(stage: Stage, done: int, total: int) -> None:
            if stage == "weights":
                self._forget_model()
            events.put(Loading(stage, done, total))

        def work() -> None:
            try:
                events.put(_ready(options, report))
            except BaseException as error:  # handed over, and raised or told where the events are read
                events.put(error)

        Thread(target=work, name="loading", daemon=True).start()
        while isinstance(event := events.get(), Loading):
            yield event
        if isinstance(event, LoadedModel):
            self._forget_model()
            self._loaded, self._session = event, Session(event.model, compiled=event.info.compiled)
            yield Loaded(event.info)
        elif isinstance(event, LadeChatError):
            yield LoadFailed(str(event), kept=self._loaded is not None)
        elif isinstance(event, BaseException):
            self._forget_model()
            raise event

    def _forget_model(self) -> None:
        self._remember_step_cost(after=0.0)
        self._loaded = self._session = None
        self._last_turn = ((), Tables(), 0)

    def _reply(self, command: Reply) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        self._lookahead = command.options.lookahead
        yield ReplyStarted(len(prompt.ids), session.reusable(prompt.ids), prompt.dropped_messages)
        session.adopt(prompt.ids)
        self._last_turn = (prompt.ids, session.tables.copy(), session.cached)
        run = ReplyRun(
            loaded,
            session,
            prompt,
            command.options,
            lookahead=lambda: self._lookahead and loaded.info.lookahead_supported,
            stopped=self._stop.is_set,
        )
        for event in run.events():
            if event is not None:
                yield event
        self._remember_step_cost(after=REMEMBER_SECONDS)

    def _remember_step_cost(self, after: float) -> None:
        """Write down what live steps have taught, unless that was done less than ``after`` seconds ago."""
        loaded = self._loaded
        if loaded is not None and loaded.step_cost is not None and monotonic() - self._remembered >= after:
            remember(loaded, loaded.step_cost)
            self._remembered = monotonic()

    def _race(self, command: Race) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        if not loaded.info.lookahead_supported:
            raise LadeChatError("There is nothing to race: lookahead cannot serve this model, it is decoded plainly.")
        yield ReplyStarted(len(prompt.ids), session.reusable(prompt.ids), prompt.dropped_messages)
        ids, tables, cached = self._last_turn
        # Over a turn that has been answered, the tables have seen the answer: start from what they were before.
        start = session.copy_as_of(ids, tables, cached) if ids == prompt.ids else session
        yield from race(loaded, start, prompt, command.options, self._stop.is_set)

    def _prepare(self, command: Reply | Race) -> tuple[LoadedModel, Session, Prompt]:
        if self._loaded is None or self._session is None:
            raise LadeChatError("no model is loaded yet")
        options, context_window = command.options, self._loaded.info.context_window
        sizes = options.sizes
        if sizes is not None and sizes.window_size + sizes.ngram_size > context_window:
            raise LadeChatError(
                f"The window reaches further than the model's context of {context_window} tokens:"
                f" choose a smaller W or N than {sizes.window_size} and {sizes.ngram_size}."
            )
        prompt = build_prompt(
            command.messages,
            self._loaded.tokenizer,
            raw=options.raw,
            context_window=context_window,
            max_new_tokens=options.max_new_tokens,
        )
        return self._loaded, self._session, prompt


def _ready(options: ModelOptions, report: Report) -> LoadedModel:
    """The model, its steps compiled if wished, and what they cost where anything follows from that."""
    loaded = load(options, report)
    if options.compiled:
        report("compile", 0, 1)
        loaded = with_compiled_steps(loaded)
        report("compile", 1, 1)
    if not (options.step_cost and loaded.info.lookahead_supported):
        return loaded
    report("cost", 0, 1)
    loaded = with_step_cost(loaded)
    report("cost", 1, 1)
    return loaded
