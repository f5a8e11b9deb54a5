"""ChatEngine: commands in, events out; owns the model and the session that lasts from turn to turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event as Flag
from threading import Thread
from time import monotonic
from typing import TypeAlias

import msgspec

from decoding import Session
from decoding.parallel import WorkerLostError
from lade_chat.engine.comparison.race import check, race
from lade_chat.engine.comparison.turns import Turns, fresh
from lade_chat.engine.explain import MOST_NEW_TOKENS, explain
from lade_chat.engine.pause_control import Pace
from lade_chat.engine.prompt_builder import Prompt, build_prompt
from lade_chat.engine.ranks.group import Ranks
from lade_chat.engine.reply import ReplyRun
from lade_chat.engine.sampling import with_seed
from lade_chat.errors import LadeChatError, beyond_context, is_out_of_memory
from lade_chat.loading.compiling import with_compiled_steps
from lade_chat.loading.model import LoadedModel, Report, load
from lade_chat.loading.step_costs import remember, with_checked_step_cost, with_step_cost
from lade_chat.protocol.commands import Explain, Load, Race, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, Loading, ReplyFinished, ReplyStarted
from lade_chat.protocol.values import ModelOptions, Stage, Statistics

CHECK_SECONDS = 30.0
"""What steps cost is looked at again no more often than this, and after no reply shorter than ``LONG_REPLY`` tokens."""
LONG_REPLY = 24
REMEMBER_SECONDS = 30.0
"""How often at most what live steps have taught of their cost is written down."""
OUT_OF_MEMORY = "out of memory: try a shorter conversation, a smaller model, or --dtype bfloat16"

Cached: TypeAlias = tuple[Session, Turns]
"""What lasts from turn to turn of one conversation."""


class ChatEngine:
    """One model, one running reply at a time. Everything but :meth:`handle` may come from any thread."""

    def __init__(self) -> None:
        self._loaded: LoadedModel | None = None
        self._session: Session | None = None
        self._turns = Turns()
        self._stop = Flag()
        self._pace = Pace()
        self._lookahead = True
        self._inspecting = False
        self._checked = -math.inf
        self._remembered = -math.inf
        self._ranks = Ranks()

    def stop(self) -> None:
        """End the running reply or race at its next step."""
        self._stop.set()
        self._pace.wake()

    def pause(self) -> None:
        """Have the running reply wait before its next step."""
        self._pace.pause()

    def step_once(self) -> None:
        """Have a paused reply take one step."""
        self._pace.step_once()

    def resume(self) -> None:
        """Have a paused reply go on."""
        self._pace.resume()

    def inspect(self, enabled: bool) -> None:
        """Whether the steps of replies are told of in detail from now on."""
        self._inspecting = enabled
        self._pace.wake()

    def set_lookahead(self, enabled: bool) -> None:
        """Switch lookahead on or off from the running reply's next step on."""
        self._lookahead = enabled

    def exchange(self, cached: Cached | None) -> Cached | None:
        """Go on with what another conversation has cached (None: nothing yet); returns what this one has.

        Between commands alone, and only with what was cached since the model was loaded.
        """
        if self._session is None:
            return None
        present = (self._session, self._turns)
        self._session, self._turns = cached or (fresh(self._session), Turns())
        return present

    def handle(self, command: Load | Reply | Race | Explain) -> Iterator[Event]:
        """Carry out a command; every error ends it with an event of one line."""
        if isinstance(command, Load):
            yield from self._load(command.options)
            return
        self._stop.clear()
        self._pace.resume()
        try:
            if isinstance(command, Explain):
                yield from self._explain(command)
                return
            command = msgspec.structs.replace(command, options=with_seed(command.options))
            yield from self._reply(command) if isinstance(command, Reply) else self._race(command)
        except LadeChatError as error:
            yield Failed(str(error))
        except WorkerLostError as error:
            yield Failed(f"{error}{_those_left(self._loaded)}")
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
                events.put(_ready(options, report, self._ranks))
            except BaseException as error:  # handed over, and raised or told where the events are read
                events.put(error)

        Thread(target=work, name="loading", daemon=True).start()
        while isinstance(event := events.get(), Loading):
            yield event
        if isinstance(event, LoadedModel):
            self._forget_model()
            self._loaded, self._session = event, Session(event.model, compiled=event.info.compiled)
            self._ranks.use_threads()
            yield Loaded(event.info)
        elif isinstance(event, LadeChatError):
            yield LoadFailed(str(event), kept=self._loaded is not None)
        elif isinstance(event, BaseException):
            self._forget_model()
            raise event

    def _forget_model(self) -> None:
        self._remember_step_cost(after=0.0)
        self._loaded = self._session = None
        self._turns = Turns()

    def _reply(self, command: Reply) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        self._lookahead = command.options.lookahead
        yield ReplyStarted(len(prompt.ids), session.reusable(prompt.ids), prompt.dropped_messages)
        session.sync(prompt.ids)
        self._turns.begin(prompt.ids, session)
        self._inspecting = self._inspecting or command.options.debug
        run = ReplyRun(
            loaded,
            session,
            prompt,
            command.options,
            lookahead=lambda: self._lookahead and loaded.info.lookahead_supported,
            stopped=self._stop.is_set,
            pace=self._pace,
            inspecting=lambda: self._inspecting,
        )
        for event in run.events():
            if event is not None:
                yield event
            if isinstance(event, ReplyFinished):
                self._check_step_cost(event.statistics)
        self._remember_step_cost(after=REMEMBER_SECONDS)

    def _check_step_cost(self, reply: Statistics) -> None:
        """After a reply in which no guess paid, see whether the cost was measured while the machine was busy.

        It would stay as it is: only steps over several tokens show what such steps cost. The reply is told by now, so
        nobody waits for this.
        """
        guessed = reply.verified_tokens or reply.generated_tokens < LONG_REPLY or reply.sizes is not None
        if self._loaded is None or self._loaded.step_cost is None or not reply.lookahead or guessed:
            return
        if monotonic() - self._checked >= CHECK_SECONDS:
            self._loaded = with_checked_step_cost(self._loaded)
            self._checked = monotonic()

    def _remember_step_cost(self, after: float) -> None:
        """Write down what live steps have taught, unless that was done less than ``after`` seconds ago."""
        loaded = self._loaded
        if loaded is not None and loaded.step_cost is not None and monotonic() - self._remembered >= after:
            remember(loaded, loaded.step_cost)
            self._remembered = monotonic()

    def _race(self, command: Race) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        check(command, loaded)
        yield ReplyStarted(len(prompt.ids), session.reusable(prompt.ids), prompt.dropped_messages)
        start = fresh(session) if command.fresh else self._turns.start(prompt.ids, session)
        yield from race(loaded, start, prompt, command, self._stop.is_set)

    def _explain(self, command: Explain) -> Iterator[Event]:
        if self._loaded is None:
            raise LadeChatError("no model is loaded yet")
        prompt = build_prompt(
            command.messages,
            self._loaded.tokenizer,
            raw=False,
            context_window=self._loaded.info.context_window,
            max_new_tokens=MOST_NEW_TOKENS,
        )
        yield from explain(self._loaded, command.messages[-1].content, prompt, self._stop.is_set)

    def _prepare(self, command: Reply | Race) -> tuple[LoadedModel, Session, Prompt]:
        if self._loaded is None or self._session is None:
            raise LadeChatError("no model is loaded yet")
        options, context_window = command.options, self._loaded.info.context_window
        sizes = options.sizes
        if sizes is not None and (problem := beyond_context(sizes.window_size, sizes.ngram_size, context_window)):
            raise LadeChatError(problem)
        prompt = build_prompt(
            command.messages,
            self._loaded.tokenizer,
            raw=options.raw,
            context_window=context_window,
            max_new_tokens=options.max_new_tokens,
        )
        return self._loaded, self._session, prompt


def _ready(options: ModelOptions, report: Report, ranks: Ranks) -> LoadedModel:
    """The model on all ranks, its steps compiled if wished, and what they cost where anything follows from that."""
    ranks.assign(options)
    loaded = load(options, report)
    if options.compiled:
        report("compile", 0, 1)
        loaded = with_compiled_steps(loaded)
        report("compile", 1, 1)
    loaded = ranks.attach(loaded)
    if options.step_cost and loaded.info.lookahead_supported:
        report("cost", 0, 1)
        loaded = with_step_cost(loaded)
        report("cost", 1, 1)
    return ranks.with_shared_cost(loaded)


def _those_left(loaded: LoadedModel | None) -> str:
    if loaded is not None and loaded.info.tensor_parallel > 1:
        return ", and a part of the model with it: load the model again"
    ranks = 1 if loaded is None or loaded.workers is None else loaded.workers.ranks
    return f": the chat goes on in {'one process' if ranks == 1 else f'{ranks} processes'}"
