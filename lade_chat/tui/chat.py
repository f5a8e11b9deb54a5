"""The chat without its screen: what may be asked when, what is queued, and what each event of the engine means."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum, auto

import msgspec

from lade_chat.protocol import (
    Command,
    DecodingOptions,
    EngineLost,
    Event,
    Failed,
    Load,
    Loaded,
    LoadFailed,
    Loading,
    Message,
    ModelInfo,
    ModelOptions,
    Prefilling,
    Race,
    RaceFinished,
    Reply,
    ReplyFinished,
    ReplyStarted,
    Sampling,
    SetLookahead,
    Statistics,
    Stop,
    Tokens,
)
from lade_chat.tui.chat_view import ChatView
from lade_chat.tui.conversation import Conversation
from lade_chat.tui.reply_text import ReplyText


class Phase(Enum):
    """What the engine is doing, as far as the screen knows."""

    LOADING = auto()
    UNLOADED = auto()
    READY = auto()
    REPLYING = auto()
    RACING = auto()
    LOST = auto()


class Chat:
    """Turns what the user does into commands, and what the engine tells into calls of a view."""

    def __init__(
        self,
        view: ChatView,
        send: Callable[[Command], None],
        restart: Callable[[], None],
        model_options: ModelOptions,
        options: DecodingOptions,
        system: str | None = None,
    ) -> None:
        self.view = view
        self.phase = Phase.LOADING
        self.model: ModelInfo | None = None
        self.model_options = model_options
        self.options = options
        self.sampling = options.sampling
        """As the last reply told it; before one, as it was asked for."""
        self.conversation = Conversation(system)
        self.reply = ReplyText()
        self.stopping = False
        self._send = send
        self._restart = restart
        self._queue: deque[str] = deque()
        self._waiting_model: ModelOptions | None = None
        self._discarding = False
        self._dropped = 0
        self._seed: int | None = None
        self._loading: deque[ModelOptions] = deque()
        self._last_loaded: tuple[ModelInfo, ModelOptions] | None = None

    # --- what the user does ------------------------------------------------------------------------------------

    def load(self, options: ModelOptions | None = None) -> None:
        """Load a model: the one asked for last unless ``options`` names another. Ends a running reply first."""
        if options is not None:
            self.model_options = options
        if self.phase in (Phase.REPLYING, Phase.RACING):
            self._waiting_model = self.model_options
            self.stop()
        elif self.phase is Phase.LOST:
            self.restart()
        else:
            self.phase = Phase.LOADING
            self.model = None
            self._loading.append(self.model_options)
            self._send(Load(self.model_options))
            self.view.loading_began()

    def restart(self) -> None:
        """After the engine was lost: a fresh one, which then loads the model again (``load``)."""
        if self.phase is Phase.LOST:
            self.phase = Phase.LOADING
            self.view.loading_began()
            self._restart()

    def submit(self, text: str) -> bool:
        """Ask ``text`` now, or as soon as the model is ready. False if it was not taken; the view says why."""
        if not text.strip():
            self.view.hint("Nothing to send yet: type a message first.")
            return False
        if self.phase is Phase.UNLOADED:
            self.view.hint("No model is loaded. Ctrl+O opens one.")
            return False
        if self.phase is Phase.REPLYING and not self.stopping:
            self.view.hint("The model is still answering. Esc stops it.")
            return False
        self._queue.append(text)
        self.view.user_said(text)
        if self.phase is Phase.READY:
            self._ask_next()
        elif self.phase is Phase.LOST:
            self.restart()
        return True

    def toggle_lookahead(self) -> None:
        if self.model is None:
            loading = self.phase is Phase.LOADING
            self.view.hint("The model is still loading." if loading else "No model is loaded. Ctrl+O opens one.")
            return
        if not self.model.lookahead_supported:
            self.view.hint("Lookahead is not available with this model.")
            return
        enabled = not self.options.lookahead
        self.options = msgspec.structs.replace(self.options, lookahead=enabled)
        if self.phase in (Phase.READY, Phase.REPLYING):
            self._send(SetLookahead(enabled))
        self.view.lookahead_changed()

    def set_debug(self, wanted: bool) -> None:
        """Whether the next reply is to be measured for the debug panel."""
        self.options = msgspec.structs.replace(self.options, debug=wanted)

    def stop(self) -> None:
        """End the reply or race within one step; what was said is kept."""
        if self.phase in (Phase.REPLYING, Phase.RACING) and not self.stopping:
            self.stopping = True
            self._send(Stop())
            self.view.stopping()

    def new_conversation(self) -> None:
        """Forget all turns. A reply that is still being written is stopped and thrown away."""
        if self.phase is Phase.REPLYING:
            self.stop()
            self._discarding = True
        self._queue.clear()
        self._dropped = 0
        self._seed = None
        self.conversation.clear()
        self.view.cleared()
        self._show_sampling(self._wished().sampling)

    def race(self, text: str) -> None:
        """Race lookahead on against off over ``text``, or over the last question if there is none."""
        refusal = self._race_refusal(text)
        if refusal:
            self.view.hint(refusal)
            return
        messages: tuple[Message, ...]
        if text.strip():
            question, messages = text, self.conversation.with_question(text)
        else:
            question = self.conversation.last_question or ""
            messages = self.conversation.up_to_last_question()
        self.phase = Phase.RACING
        self._send(Race(messages, self._wished()))
        self.view.race_began(question)

    def _race_refusal(self, text: str) -> str | None:
        if self.phase is Phase.LOADING:
            return "The model is still loading."
        if self.phase is not Phase.READY or self.model is None:
            busy = self.phase in (Phase.REPLYING, Phase.RACING)
            return "The model is still answering. Esc stops it." if busy else "No model is loaded."
        if not self.model.lookahead_supported:
            return "Lookahead is not available with this model, so there is nothing to race."
        if not text.strip() and self.conversation.last_question is None:
            return "Nothing to race yet: type a message first."
        return None

    # --- what the engine tells ---------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        match event:
            case Loading():
                self.view.load_progressed(event)
            case Loaded() | LoadFailed():
                self._load_ended(event)
            case EngineLost(message):
                self._lost(message)
            case _ if self.phase is Phase.RACING:
                self._handle_race(event)
            case _ if self.phase is Phase.REPLYING:
                self._handle_reply(event)
            case Failed(message):
                self.view.failed(message)

    def _handle_race(self, event: Event) -> None:
        self.view.race_event(event)
        if isinstance(event, Tokens | ReplyFinished):
            self._learn_sampling(event.statistics)
        if isinstance(event, RaceFinished | Failed):
            self._ready()

    def _handle_reply(self, event: Event) -> None:
        if not self._discarding:
            self._show_reply(event)
        if isinstance(event, ReplyFinished | Failed):
            self._ready()

    def _show_reply(self, event: Event) -> None:
        match event:
            case ReplyStarted():
                self._tell_dropped(event.dropped_messages)
                self.view.reading(event.reused_tokens, event.prompt_tokens)
            case Prefilling():
                self.view.reading(event.done, event.total)
            case Tokens():
                self._learn_sampling(event.statistics)
                self.reply.append(event.pieces)
                self.view.reply_grew(event)
            case ReplyFinished():
                self._learn_sampling(event.statistics)
                self.conversation.answer(self.reply.text)
                self.view.reply_ended(event)
            case Failed():
                self._keep_partial()
                self.view.reply_failed(event.message)

    def _load_ended(self, event: Loaded | LoadFailed) -> None:
        """Only the model that was asked for last counts; an earlier one may be what is kept when that fails."""
        options = self._loading.popleft() if self._loading else self.model_options
        if isinstance(event, Loaded):
            self._last_loaded = (event.model, options)
        elif not event.kept:
            self._last_loaded = None
        if self._loading:
            return
        self.model, self.model_options = self._last_loaded or (None, options)
        if isinstance(event, LoadFailed):
            self.view.load_failed(event.message, self.model)
        elif self.model is not None:
            self.view.model_ready(self.model)
            self._show_sampling(self._wished().sampling)
        if self.model is None:
            self.phase = Phase.UNLOADED
        else:
            self._ready()

    def _lost(self, message: str) -> None:
        before, self.phase = self.phase, Phase.LOST
        self.model = self._waiting_model = self._last_loaded = None
        self.stopping = False
        self._loading.clear()
        if before is Phase.REPLYING and not self._discarding:
            self._keep_partial()
            self.view.reply_failed(None)
        elif before is Phase.RACING:
            self.view.race_event(EngineLost(message))
        self._discarding = False
        self.view.engine_lost(message)

    def _keep_partial(self) -> None:
        """What was said stays the model's answer; a question without any answer goes back to the prompt."""
        if self.reply.text:
            self.conversation.answer(self.reply.text)
        elif question := self.conversation.withdraw():
            self.view.give_back(question)

    def _tell_dropped(self, count: int) -> None:
        if count > self._dropped:
            messages = "message no longer fits" if count == 1 else f"{count} messages no longer fit"
            self.view.notice(f"The oldest {messages} and {'was' if count == 1 else 'were'} left out.")
        self._dropped = count

    def _ready(self) -> None:
        self.phase = Phase.READY
        self.stopping = self._discarding = False
        self.view.settled()
        if self._waiting_model is not None:
            options, self._waiting_model = self._waiting_model, None
            self.load(options)
        elif self._queue:
            self._ask_next()

    def _ask_next(self) -> None:
        self.conversation.ask(self._queue.popleft())
        self.reply = ReplyText()
        self.phase = Phase.REPLYING
        self.view.reply_began()
        self._send(Reply(self.conversation.messages, self._wished()))

    # --- sampling ----------------------------------------------------------------------------------------------

    def _wished(self) -> DecodingOptions:
        """The options, with the seed that was drawn: a conversation has one, as if it had been given at the start."""
        sampling = self.options.sampling
        if sampling is None or sampling.seed is not None:
            return self.options
        return msgspec.structs.replace(self.options, sampling=msgspec.structs.replace(sampling, seed=self._seed))

    def _learn_sampling(self, statistics: Statistics) -> None:
        """Keep a drawn seed for the rest of the conversation."""
        if not statistics.steps:  # nothing was decoded
            return
        if statistics.sampling is not None and statistics.sampling.seed is not None:
            self._seed = statistics.sampling.seed
        self._show_sampling(statistics.sampling)

    def _show_sampling(self, sampling: Sampling | None) -> None:
        if sampling != self.sampling:
            self.sampling = sampling
            self.view.sampling_changed()
