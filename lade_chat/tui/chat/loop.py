"""The chat's loop: update the state by a decision, carry out its effects, draw the screen from the state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Concatenate, ParamSpec

from lade_chat.engine.process.client import EngineConnection
from lade_chat.known_models.models_at_hand import remember
from lade_chat.protocol.events import EngineLost, Event, Failed, Loaded, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import Preferences
from lade_chat.store.all_conversations import Store
from lade_chat.tui.chat.chat_state import ChatState, Loads
from lade_chat.tui.chat.decisions.navigation import load_model
from lade_chat.tui.chat.decisions.questions import ask_next
from lade_chat.tui.chat.effects import Change, Effect
from lade_chat.tui.chat.slow_motion import SlowMotion
from lade_chat.tui.chat.update import take_event, update
from lade_chat.tui.conversations.conversation_session import ConversationSession
from lade_chat.tui.conversations.side_bar import SideBar
from lade_chat.tui.conversations.store_worker import SAVED_AGAIN, StoreWorker
from lade_chat.tui.inspector.panel import DebugPanel
from lade_chat.tui.key_map import KeyNames, keys_of
from lade_chat.tui.prompt.editor import PromptEditor
from lade_chat.tui.prompt.unsent import UnsentText
from lade_chat.tui.transcript.transcript import Transcript
from lade_chat.tui.widgets.bars import HeaderBar, StatusBar
from lade_chat.tui.widgets.dialog import SizedScreen

P = ParamSpec("P")


class LoopScreen(SizedScreen[None]):
    """A screen with the chat's state. What is on it is drawn by ``draw``; it changes by ``decide`` and ``handle``."""

    def __init__(
        self,
        store: Store,
        engine: EngineConnection,
        preferences: Preferences,
        model_options: ModelOptions,
        options: DecodingOptions,
        system: str | None,
    ) -> None:
        super().__init__()
        self.engine, self.preferences = engine, preferences
        self.store_worker = StoreWorker(store, self.call_later, self._store_reported, partial(self.decide, ask_next))
        self.unsent = UnsentText(store.path.parent)
        self.conversation = store.begin(system)
        """The open conversation, which changes in the store's thread; the state has it as it was a moment ago."""
        session, loads = ConversationSession(self.conversation.snapshot), Loads(model_options)
        self.state = ChatState(options, options.sampling, session, loads, system, remembers=store.remembers)
        self._drawn = self.state
        self.header = HeaderBar(self.state)
        self.side_bar = SideBar(self.store_worker)
        self.transcript, self.panel, self.status = Transcript(model_options), DebugPanel(self.state), StatusBar()
        self.deleted: list[str] = []
        """Conversations that were deleted since the chat was opened, and can be restored."""
        self.next_search: tuple[str, str | None] = ("", None)
        """The words that the list searches for when it is opened next, and the system prompt that goes with them."""
        self.slow_motion = SlowMotion(self, self.decide)

    def handle(self, event: Event) -> None:
        """Take in an event of the engine."""
        if isinstance(event, ReplyFinished | Failed | EngineLost):
            self.slow_motion.settle()  # what is held back comes before it
        self.decide(take_event, event)

    def decide(self, decision: Callable[Concatenate[Change, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Take a decision of :mod:`.decisions`, do what is to be done, and draw the new state."""
        state = self.state.at(monotonic(), self.conversation.snapshot, store_busy=self.store_worker.busy)
        self.state, effects = update(state, lambda change: decision(change, *args, **kwargs))
        for effect in effects:
            self.perform(effect)
        if self.status.is_attached:  # settings are applied before there is anything on the screen
            before, self._drawn = self._drawn, self.state
            self.draw(before)

    def perform(self, effect: Effect) -> None:
        """Do one thing that has been decided on."""
        raise NotImplementedError

    def draw(self, before: ChatState) -> None:
        """Draw what is other than in the state that was drawn last."""
        raise NotImplementedError

    async def run_engine(self) -> None:
        """Start the engine, and take in its events until it is closed."""
        await self.engine.start()
        self.decide(load_model)
        async for event in self.engine.events():
            self.handle(event)
            if isinstance(event, Loaded) and (last := self.state.loads.last) is not None:
                self.run_worker(partial(remember, self.store_worker.store.path.parent, last[1]), thread=True)

    async def restart_engine(self) -> None:
        """Replace a lost engine, and load the model again."""
        await self.engine.restart()
        self.decide(load_model)

    def _store_reported(self, text: str, is_error: bool) -> None:
        """Show a report of the store; that something is unsaved stands there until everything is saved."""
        if text == SAVED_AGAIN:
            self.transcript.note_instead("unsaved")
            self.status.hint(text)
        elif text == self.store_worker.trouble:
            self.transcript.note_instead("unsaved", text, is_error=is_error)
        else:
            self.transcript.note(text, is_error=is_error)

    # --- its widgets -------------------------------------------------------------------------------------------

    @property
    def prompt(self) -> PromptEditor:
        return self.query_one(PromptEditor)

    @property
    def key_names(self) -> KeyNames:
        return keys_of(self)

    @property
    def draft(self) -> str | None:
        """The text in the prompt; None while something is open above the chat."""
        return self.prompt.text if self.app.screen is self else None

    def hint(self, text: str) -> None:
        """Show a line for a moment."""
        self.status.hint(text)
