"""The chat's controller: it takes requests, queues questions, and interprets the engine's events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from lade_chat.protocol.commands import Command, Explain, Load, Reply
from lade_chat.protocol.control import Inspect, Pause, Resume, SetLookahead, StepOnce, Stop
from lade_chat.protocol.events import (
    EngineLost,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    Prefilling,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.protocol.values import DecodingOptions, Message, ModelInfo, ModelOptions, Statistics
from lade_chat.store.values import Turn
from lade_chat.tui.chat.model_loads import ModelLoads
from lade_chat.tui.chat.navigation import ConversationNavigation
from lade_chat.tui.chat.race_controller import RaceController
from lade_chat.tui.chat.reply_controller import ReplyController
from lade_chat.tui.chat.sampling import ConversationSampling, seeds_of
from lade_chat.tui.chat.view import ChatState, ChatView, Phase, StatePublisher
from lade_chat.tui.conversations.session import Asked, ConversationSession
from lade_chat.tui.conversations.store_worker import Job, StoreWorker

SAME_TEXT = "Greedy decoding gives the same text to the same question. /set temperature 0.8 draws another."


class Chat:
    """Turns requests into commands for the engine, and the engine's events into calls of a view."""

    def __init__(
        self,
        view: ChatView,
        store_worker: StoreWorker,
        send: Callable[[Command], None],
        restart: Callable[[], None],
        model_options: ModelOptions,
        options: DecodingOptions,
        system: str | None = None,
    ) -> None:
        self._view = view
        self._store_worker = store_worker
        self._send = send
        self._restart = restart
        self.conversation = ConversationSession(store_worker, system)
        state = ChatState(options, options.sampling, self.conversation.current.id)
        self._publisher = StatePublisher(state, view.update)
        self._sampling = ConversationSampling(options.sampling)
        self._loads = ModelLoads(model_options)
        self._queue: deque[Asked] = deque()
        self._reply = ReplyController(view, self.conversation, self.show_conversation)
        self.races = RaceController(view, self.conversation, self._publisher, send, self._effective_options)
        self.navigation = ConversationNavigation(self, view, self.conversation, self._publisher, self._loads)
        self._when_ready: Job | None = None
        self._dropped = 0
        store_worker.when_idle(self._ask_next)

    @property
    def state(self) -> ChatState:
        """The state that was published last."""
        return self._publisher.state

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def options(self) -> DecodingOptions:
        return self.state.options

    @property
    def model(self) -> ModelInfo | None:
        return self.state.model

    @property
    def model_options(self) -> ModelOptions:
        """Options of the loaded model; of the last request while there is none."""
        return self._loads.options

    # --- requests ----------------------------------------------------------------------------------------------

    def load(self, options: ModelOptions | None = None) -> None:
        """Load a model: the last one requested unless ``options`` names another. Ends a running reply first."""
        if options is not None:
            self._loads.options = options
            self.navigation.model_requested()
        if self.state.is_running:
            self.stop_then(self.load)
        elif self.phase is Phase.LOST:
            self.restart()
        else:
            self._loads.begin()
            self._publisher.change(phase=Phase.LOADING, model=None)
            self._send(Load(self.model_options))
            self._view.loading_began()

    def restart(self) -> None:
        """Start a new engine in place of a lost one; the model is then loaded again by ``load``."""
        if self.phase is Phase.LOST:
            self._publisher.change(phase=Phase.LOADING)
            self._view.loading_began()
            self._restart()

    def submit(self, text: str, instead_of: int | None = None, *, draft: str | None = None) -> bool:
        """Ask ``text`` now, or once the model is ready. False if it was refused; the view shows why.

        Args:
            text: the question, with the text of its files.
            instead_of: a turn whose question this replaces; the turns from there on stay as an alternative.
            draft: what the prompt gets back if no answer comes; by default ``text``.
        """
        refusal = self.state.refusal_to_ask() if instead_of is None else self.state.refusal_to_change()
        if self._when_ready is not None:
            refusal = "One moment: the reply is being stopped."
        elif not text.strip():
            refusal = "Nothing to send yet: type a message first."
        if refusal:
            self._view.refuse(refusal)
            return False
        self._reply.forget_returned()
        self._take(Asked(text, instead_of, draft=draft))
        if self.phase is Phase.LOST:
            self.restart()
        return True

    def retry(self, turn: int | None = None) -> None:
        """Ask the question of ``turn`` (by default the last) again; the present reply stays as an alternative."""
        self._ask_again(self.conversation.again(turn), "Nothing to ask again yet: type a message first.")

    def continue_reply(self) -> None:
        """Have the last reply continued, as after the token limit."""
        self._ask_again(self.conversation.more(), "There is no reply to continue yet.")

    def _ask_again(self, asked: Asked | None, missing: str) -> None:
        refusal = missing if asked is None else self.state.refusal_to_change()
        if asked is None or refusal:
            self._view.refuse(refusal)
        else:
            self._take(asked)

    def _take(self, asked: Asked) -> None:
        if asked.instead_of is not None:
            self._view.cut(asked.instead_of)
        if asked.question is not None and asked.instead_of is None and not self._can_ask:
            asked = self.conversation.enqueue(asked.question, asked.draft)
        self._queue.append(asked)
        self._view.user_said(asked.question)
        self._ask_next()

    @property
    def _can_ask(self) -> bool:
        """True if the model is free and every change of the conversation has been stored."""
        return self.phase is Phase.READY and self.model is not None and not self._store_worker.busy

    def toggle_lookahead(self) -> None:
        """Switch lookahead, also during a reply."""
        if refusal := self.state.refusal_to_switch_lookahead():
            self._view.refuse(refusal)
            return
        enabled = not self.options.lookahead
        if self.phase in (Phase.READY, Phase.REPLYING):
            self._send(SetLookahead(enabled))
        self._publisher.change(options=msgspec.structs.replace(self.options, lookahead=enabled))

    def set_options(self, options: DecodingOptions) -> None:
        """Set how the next replies are decoded."""
        self._publisher.change(options=options)
        self._reset_sampling()

    def set_debug(self, enabled: bool) -> None:
        """Switch the inspection of replies, the running one included, and the measurement of the next."""
        if self.phase in (Phase.READY, Phase.REPLYING):
            self._send(Inspect(enabled))
        self._publisher.change(options=msgspec.structs.replace(self.options, debug=enabled))

    def pause(self, *, step: bool = False) -> None:
        """Pause or resume the reply; with ``step`` pause it, or have a paused one take a single step."""
        if self.phase is not Phase.REPLYING or self.state.stopping:
            self._view.refuse("There is no reply to pause just now.")
        elif step and self.state.paused:
            self._send(StepOnce())
        else:
            paused = not self.state.paused
            self._send(Pause() if paused else Resume())
            self._publisher.change(paused=paused)

    def stop(self) -> None:
        """End the reply, race or explanation within one step; the partial reply is kept."""
        if self.state.is_running and not self.state.stopping:
            self._send(Stop())
            self._publisher.change(stopping=True)

    def stop_then(self, call: Job) -> None:
        """Stop what is running, then call."""
        self._when_ready = call
        self.stop()

    def explain(self, question: str) -> None:
        """Have the engine take steps over ``question`` that show how lookahead decoding works."""
        if (refusal := self.state.refusal_to_explain()) or self.model is None:
            self._view.refuse(refusal)
            return
        self._publisher.change(phase=Phase.EXPLAINING)
        self._send(Explain((Message("user", question),)))
        self._view.explain_began(self.model)

    # --- the engine's events -----------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        match event:
            case Loading():
                self._view.load_progressed(event)
            case Loaded() | LoadFailed():
                self._load_ended(event)
            case EngineLost(message):
                self._lose_engine(message)
            case _ if self.phase is Phase.RACING:
                self._handle_race(event)
            case _ if self.phase is Phase.REPLYING:
                self._handle_reply(event)
            case Explained() | ExplainFinished() | Failed() if self.phase is Phase.EXPLAINING:
                self._view.explain_event(event)
                if not isinstance(event, Explained):
                    self._ready()
            case Failed(message):
                self._view.failed(message)

    def _handle_race(self, event: Event) -> None:
        ended = self.races.handle(event)
        if isinstance(event, Tokens | ReplyFinished):
            self._learn_sampling(event.statistics)
        if ended:
            self._ready()
            self.races.begin_next()

    def _handle_reply(self, event: Event) -> None:
        match event:
            case ReplyStarted():
                self._report_dropped(event.dropped_messages)
                self._view.reading(event.reused_tokens, event.prompt_tokens)
            case Prefilling():
                self._view.reading(event.done, event.total)
            case Tokens():
                self._learn_sampling(event.statistics)
                self._reply.grow(event)
            case ReplyFinished():
                self._learn_sampling(event.statistics)
                self._reply.finish(event, self._ready)
            case Failed():
                self._reply.fail(event.message, self._ready)

    def _load_ended(self, event: Loaded | LoadFailed) -> None:
        if not self._loads.end(event):
            return
        model = self._loads.model
        self._publisher.change(model=model)
        if isinstance(event, LoadFailed):
            self._view.load_failed(event.message, model)
        elif model is not None:
            self._view.model_ready(model)
            self._reset_sampling()
            self.navigation.model_loaded()
        if model is None:
            self._publisher.change(phase=Phase.UNLOADED)
        else:
            self._ready()

    def _lose_engine(self, message: str) -> None:
        before = self.phase
        self._loads.lose()
        self._when_ready = None
        self._publisher.change(phase=Phase.LOST, model=None, stopping=False, paused=False)
        self._reply.lose()
        if before is Phase.RACING:
            self._view.race_event(EngineLost(message))
        if before is Phase.EXPLAINING:
            self._view.explain_event(EngineLost(message))
        self._view.engine_lost(message)

    def _report_dropped(self, count: int) -> None:
        if count > self._dropped:
            messages = "message no longer fits" if count == 1 else f"{count} messages no longer fit"
            self._view.notice(f"The oldest {messages} and {'was' if count == 1 else 'were'} left out.")
        self._dropped = count

    def _ready(self) -> None:
        self._publisher.change(phase=Phase.READY, stopping=False, paused=False)
        call, self._when_ready = self._when_ready, None
        if call is not None:
            call()
        self._ask_next()

    def _ask_next(self) -> None:
        """Ask the oldest question that waits, if that is possible now."""
        if not self._queue or not self._can_ask:
            return
        asked = self._queue.popleft()
        self._publisher.change(phase=Phase.REPLYING)
        others = self.conversation.other_replies(asked)
        options = self._sampling.applied_to(self.options, seeds_of(others))
        self._send(Reply(self.conversation.messages_for(asked), options))
        self._reply.begin(asked, self._loads.stored)
        if others:
            self._report_repetition(others, options)

    def _report_repetition(self, others: Sequence[Turn], options: DecodingOptions) -> None:
        """Name the seed of a question asked again, or say that its answer can only be the same."""
        if not self._sampling.is_greedy(options):
            if options.sampling is not None and options.sampling.seed is not None:
                self._view.hint(f"Asked again with seed {options.sampling.seed}.")
        elif any(turn.ending == "eos" and turn.model == self._loads.stored for turn in others):
            self._view.notice(SAME_TEXT)

    # --- the conversation --------------------------------------------------------------------------------------

    def withdraw_waiting(self) -> str:
        """Take back the questions that wait, such as while a conversation is being looked up; return their text."""
        text = "\n".join(asked.typed for asked in self._queue if asked.typed is not None)
        for asked in reversed(self._queue):
            self.conversation.take_back(asked)
        self._queue.clear()
        return text

    def show_conversation(self) -> None:
        """Have the view show the conversation from scratch."""
        waiting = {asked.turn for asked in self._queue}
        shown = self.conversation.as_open(tuple(asked.question for asked in self._queue), without=waiting)
        self._view.conversation_opened(shown)

    def conversation_changed(self) -> None:
        """Adapt the sampling to the conversation that is open now."""
        self._dropped = 0
        self._sampling.begin(self.conversation.last_statistics)
        self._publisher.change(conversation=self.conversation.current.id)
        self._reset_sampling()

    def keep_returned(self) -> None:
        """Store the question that was given back, unanswered: the conversation is being left."""
        self._reply.keep_returned()

    def close(self) -> None:
        """End the chat: a partial reply is kept, a question without any stays unanswered."""
        if self.phase is Phase.REPLYING and self._reply.text:
            self.conversation.break_off("", lambda: None)
        self.keep_returned()
        self._store_worker.close()

    def tick(self) -> None:
        """Save a running reply, and anything that could not be written before; called once a second."""
        if self.phase is Phase.REPLYING or self._store_worker.store.unsaved:
            self.conversation.save()

    # --- sampling ----------------------------------------------------------------------------------------------

    def _effective_options(self) -> DecodingOptions:
        return self._sampling.applied_to(self.options)

    def _reset_sampling(self) -> None:
        self._sampling.current = self._effective_options().sampling
        self._publisher.change(sampling=self._sampling.current)

    def _learn_sampling(self, statistics: Statistics) -> None:
        self._sampling.learn(statistics)
        self._publisher.change(sampling=self._sampling.current)
