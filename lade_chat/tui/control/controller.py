"""The chat's controller: it loads models, asks the questions that wait, and interprets the engine's events."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command, Load, Reply
from lade_chat.protocol.events import EngineLost, Event, Failed, Loaded, LoadFailed, Loading, ReplyFinished, Tokens
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions
from lade_chat.tui.control.explanations import Explanations
from lade_chat.tui.control.model_loads import ModelLoads
from lade_chat.tui.control.navigation import ConversationNavigation
from lade_chat.tui.control.questions import Questions
from lade_chat.tui.control.race_controller import RaceController
from lade_chat.tui.control.reply_controller import ReplyController
from lade_chat.tui.control.reply_controls import ReplyControls
from lade_chat.tui.control.sampling import ConversationSampling, seeds_of
from lade_chat.tui.control.view import ChatState, ChatView, Phase, StatePublisher
from lade_chat.tui.control.when_free import WhenFree
from lade_chat.tui.conversations.earlier_replies import EarlierReplies
from lade_chat.tui.conversations.question_queue import QuestionQueue
from lade_chat.tui.conversations.session import ConversationSession
from lade_chat.tui.conversations.store_worker import Job, StoreWorker
from lade_chat.tui.prompt.read_ahead import ReadAhead


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
        self._sampling = ConversationSampling(view, self._publisher)
        self.loads = ModelLoads(model_options)
        self.controls = ReplyControls(view, self._publisher, send)
        self._queue = QuestionQueue(self.conversation)
        self.questions = Questions(self, view, self.conversation, self._publisher, self._queue)
        self._reply = ReplyController(view, self.conversation, self.show_conversation)
        self._when_free = WhenFree(view)
        self.races = RaceController(
            view, self.conversation, self._publisher, send, self._sampling.effective, self._when_free
        )
        self.explanations = Explanations(view, self._publisher, send, self._when_free)
        self.ahead = ReadAhead(self._publisher, self.conversation, send, self._sampling.effective)
        self.navigation = ConversationNavigation(self, view, self.conversation, self._publisher, self.loads)
        self._when_ready: Job | None = None
        self.earlier = EarlierReplies(store_worker, send, lambda: self.model.fingerprint if self.model else "")
        store_worker.when_idle(self.ask_next)

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
        return self.loads.options

    # --- requests ----------------------------------------------------------------------------------------------

    def load(self, options: ModelOptions | None = None) -> None:
        """Load a model: the last one requested unless ``options`` names another. Ends a running reply first."""
        if options is not None:
            self.loads.options = options
            self.navigation.model_requested()
        if self.state.is_running:
            self.stop_then(self.load)
        elif self.phase is Phase.LOST:
            self.restart()
        else:
            self.loads.begin()
            self._publisher.change(phase=Phase.LOADING, model=None)
            self._send(Load(self.model_options))
            self._view.loading_began()

    def restart(self) -> None:
        """Start a new engine in place of a lost one; the model is then loaded again by ``load``."""
        if self.phase is Phase.LOST:
            self._publisher.change(phase=Phase.LOADING)
            self._view.loading_began()
            self._restart()

    @property
    def can_ask(self) -> bool:
        """True if the model is free and every change of the conversation has been stored."""
        return self.phase is Phase.READY and self.model is not None and not self._store_worker.busy

    def set_options(self, options: DecodingOptions) -> None:
        """Set how the next replies are decoded."""
        self._publisher.change(options=options)
        self._sampling.reset()

    @property
    def has_waiting(self) -> bool:
        """True while a question waits to be asked."""
        return bool(self._queue)

    @property
    def is_stopping(self) -> bool:
        """True while something waits for the running job to stop."""
        return self._when_ready is not None

    def stop_all(self) -> None:
        """Stop the running job, and drop the waiting questions."""
        self._when_free.forget()
        self.questions.drop_all()
        self.controls.stop()

    def stop_then(self, call: Job) -> None:
        """Stop the running job, then call ``call``."""
        self._when_ready = call
        self.controls.stop()

    # --- the engine's events -----------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        if isinstance(event, Tokens | ReplyFinished) and self.phase in (Phase.RACING, Phase.REPLYING):
            self._sampling.learn(event.statistics)
        match event:
            case Loading():
                self._view.load_progressed(event)
            case Loaded() | LoadFailed():
                self._load_ended(event)
            case EngineLost(message):
                self._lose_engine(message)
            case _ if self.phase is Phase.RACING:
                if self.races.handle(event):
                    self._ready()
                    self.races.begin_next()
            case _ if self.phase is Phase.REPLYING:
                self._reply.handle(event, self._ready)
            case Explained() | ExplainFinished() | Failed() if self.phase is Phase.EXPLAINING:
                self._view.explain_event(event)
                if not isinstance(event, Explained):
                    self._ready()
            case Failed(message):
                self._view.failed(message)

    def _load_ended(self, event: Loaded | LoadFailed) -> None:
        if not self.loads.end(event):
            return
        model = self.loads.model
        self._publisher.change(model=model)
        if isinstance(event, LoadFailed):
            self._view.load_failed(event.message, model)
        elif model is not None:
            self._view.model_ready(model)
            self._sampling.reset()
            self.navigation.model_loaded()
            self.earlier.send()
        if model is None:
            self._publisher.change(phase=Phase.UNLOADED)
        else:
            self._ready()

    def _lose_engine(self, message: str) -> None:
        before = self.phase
        self.loads.lose()
        self._when_ready = None
        self._publisher.change(phase=Phase.LOST, model=None, stopping=False, paused=False, pace=None)
        self._reply.lose()
        if before is Phase.RACING:
            self._view.race_event(EngineLost(message))
        if before is Phase.EXPLAINING:
            self._view.explain_event(EngineLost(message))
        self._view.engine_lost(message)

    def _ready(self) -> None:
        self.controls.become_ready()
        call, self._when_ready = self._when_ready, None
        if call is not None:
            call()
        if self.phase is Phase.READY:
            self._when_free.open()
        self.ask_next()

    def ask_next(self) -> None:
        """Ask the oldest question that waits, if that is possible now."""
        if not self._queue or not self.can_ask or self._queue.clear_way():
            return  # deleting what is in the way ends with another call
        asked = self._queue.next()
        self._publisher.change(phase=Phase.REPLYING)
        others = self.conversation.other_replies(asked)
        options = self._sampling.effective(seeds_of(others))
        self._send(Reply(self.conversation.messages_for(asked), options, self.state.paused))
        self._reply.begin(asked, self.loads.stored)
        self._queue.store()
        self.navigation.withdraw_offer()
        self._sampling.report_asking_again(others, options, self.loads.stored)

    # --- the conversation --------------------------------------------------------------------------------------

    def withdraw_waiting(self) -> str:
        return self._queue.withdraw()

    def show_conversation(self) -> None:
        """Have the view show the conversation from scratch."""
        self._view.conversation_opened(self.conversation.as_open(self._queue.questions, without=self._queue.turns))

    def conversation_changed(self) -> None:
        """Adapt the sampling to the conversation that is open now."""
        self.earlier.conversation_changed()
        self._reply.forget_dropped()
        self._sampling.begin(self.conversation.last_statistics)
        self._publisher.change(conversation=self.conversation.current.id)
        self._sampling.reset()

    def forget_returned(self) -> None:
        self._reply.forget_returned()

    def keep_returned(self) -> None:
        self._reply.keep_returned()

    @property
    def would_lose(self) -> bool:
        """True if something that cannot be written would be lost with the chat."""
        store = self._store_worker.store
        return store.unsaved and (store.would_lose or self._reply.has_returned)

    def close(self, error: str = "") -> None:
        """End the chat: a partial reply is kept, broken off by ``error`` if any, an unanswered question stays."""
        if self.phase is Phase.REPLYING:
            self._reply.close(error)
        self._queue.store_all()
        self.keep_returned()
        self._store_worker.close()

    def tick(self) -> None:
        """Save a running reply, and anything that could not be written before; called every ``SAVE_SECONDS``."""
        if self.phase is Phase.REPLYING or self._store_worker.store.unsaved:
            self.conversation.save()
