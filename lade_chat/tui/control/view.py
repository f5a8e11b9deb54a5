"""The chat's state and the view to which the controller publishes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Protocol

from lade_chat.protocol.events import Event, Loading, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Sampling
from lade_chat.tui.conversations.session import OpenConversation, ShownTurn
from lade_chat.tui.conversations.store_worker import Job
from lade_chat.tui.race.queue import Races

STILL_ANSWERING = "The model is still answering. {stop} stops it."
STILL_LOADING = "The model is still loading."
NO_MODEL = "No model is loaded. {open_model} opens one."
NO_LOOKAHEAD = "Lookahead is not available with this model."


class Phase(Enum):
    """Current activity of the engine."""

    LOADING = auto()
    UNLOADED = auto()
    READY = auto()
    REPLYING = auto()
    RACING = auto()
    EXPLAINING = auto()
    LOST = auto()


IDLE_FOOTER = ("toggle_lookahead", "race", "command_palette", "settings", "help", "list_conversations", "quit")
_NO_MODEL_FOOTER = ("open_model", "command_palette", "settings", "help", "list_conversations", "quit")
FOOTERS: Mapping[Phase, Sequence[str]] = {
    Phase.REPLYING: (
        *("stop", "pause", "step_once", "toggle_lookahead", "command_palette"),
        *("help", "quit", "slower", "faster"),
    ),
    Phase.LOADING: _NO_MODEL_FOOTER,
    Phase.UNLOADED: _NO_MODEL_FOOTER,
    Phase.LOST: ("restart", *_NO_MODEL_FOOTER),
}
"""Actions in the footer while the chat is not idle."""


def footer_actions(state: ChatState) -> Mapping[str, str]:
    """Return the actions that the footer offers, the most important first, and other words than their own for some."""
    actions = dict.fromkeys(FOOTERS.get(state.phase, IDLE_FOOTER), "")
    return {**actions, "pause": "Resume"} if state.paused and "pause" in actions else actions


@dataclass(frozen=True)
class ChatState:
    """An immutable snapshot, published whole on every change; the screen renders from it alone.

    A refusal is the line that tells the user why not, with places for key names; it is empty if nothing is in the way.
    """

    options: DecodingOptions
    sampling: Sampling | None
    """As the engine reported it with the last reply; as asked for before the first."""
    conversation: str
    """The identifier of the open conversation."""
    phase: Phase = Phase.LOADING
    model: ModelInfo | None = None
    stopping: bool = False
    paused: bool = False
    """Of the reply that is running; while the chat is ready, of the next one."""
    pace: float | None = None
    """Steps a second in slow motion; None for full speed."""

    @property
    def is_slow(self) -> bool:
        """True while steps are shown one by one."""
        return self.paused or self.pace is not None

    @property
    def has_pace(self) -> bool:
        """True during a slow reply; at full speed the keys that change the pace type."""
        return self.phase is Phase.REPLYING and self.is_slow

    @property
    def is_running(self) -> bool:
        """True while there is something to stop."""
        return self.phase in (Phase.REPLYING, Phase.RACING, Phase.EXPLAINING)

    @property
    def situation(self) -> tuple[object, ...]:
        """Everything that a refusal depends on."""
        return self.phase, self.stopping, self.model, self.conversation

    def refusal_to_ask(self) -> str:
        """Empty also while a model loads or answers: the question then waits."""
        return NO_MODEL if self.phase is Phase.UNLOADED else ""

    def refusal_to_change(self) -> str:
        """The reason that no question can be asked again and the branch cannot be left; empty if they can."""
        if self.phase is Phase.READY:
            return ""
        if self.phase is Phase.LOADING:
            return STILL_LOADING
        if self.phase is Phase.LOST:
            return "The engine is gone. {restart} starts it again."
        return NO_MODEL if self.phase is Phase.UNLOADED else STILL_ANSWERING

    def refusal_to_switch_lookahead(self) -> str:
        """Empty also without a model: the switch then holds for the next one."""
        return "" if self.model is None or self.model.lookahead_supported else NO_LOOKAHEAD

    def refusal_to_race(self) -> str:
        if self.phase is Phase.LOADING:
            return STILL_LOADING
        if self.phase is not Phase.READY or self.model is None:
            return STILL_ANSWERING if self.phase in (Phase.REPLYING, Phase.RACING) else NO_MODEL
        return "" if self.model.lookahead_supported else f"{NO_LOOKAHEAD[:-1]}, so there is nothing to race."

    def refusal_to_explain(self) -> str:
        """Empty also while a model loads or answers: the explanation then waits."""
        if self.model is not None and not self.model.lookahead_supported:
            return f"{NO_LOOKAHEAD[:-1]}, so there is nothing to show."
        return "" if self.phase in (Phase.LOADING, Phase.REPLYING) else self.refusal_to_change()


class StatePublisher:
    """Holder of the current state; the parts of the controller share it."""

    def __init__(self, state: ChatState, publish: Callable[[ChatState], None]) -> None:
        self.state = state
        self._publish = publish

    def change(self, **changes: Any) -> None:
        """Replace fields of the state, and publish it if it differs."""
        state = replace(self.state, **changes)
        if state != self.state:
            self.state = state
            self._publish(state)


class ChatView(Protocol):
    """One call for each thing that happens; the view never queries the controller."""

    @property
    def draft(self) -> str | None:
        """The text in the prompt; None while something is open above the chat."""

    def update(self, state: ChatState) -> None:
        """Render a new state."""

    def loading_began(self) -> None: ...

    def load_progressed(self, progress: Loading) -> None: ...

    def model_ready(self, model: ModelInfo) -> None: ...

    def load_failed(self, message: str, kept: ModelInfo | None) -> None:
        """The model could not be loaded; ``kept`` is the earlier model if it is still loaded."""

    def engine_lost(self, message: str) -> None: ...

    def user_said(self, text: str | None) -> None:
        """A question was accepted; it waits until ``reply_began``. None: the last reply is to be continued."""

    def cut(self, turn: int) -> None:
        """This turn and everything after it are about to be replaced."""

    def reply_began(self) -> None:
        """The oldest waiting question is being answered."""

    def reading(self, done: int, total: int) -> None:
        """``done`` of the prompt's ``total`` tokens have been read."""

    def reply_grew(self, tokens: Tokens) -> None: ...

    def reply_ended(self, finished: ReplyFinished) -> None: ...

    def reply_failed(self, message: str | None) -> None:
        """The reply broke off; None if the reason is shown elsewhere."""

    def turn_kept(self, turn: ShownTurn, conversation: OpenConversation) -> None:
        """The reply that ended last has been stored."""

    def taken_back(self, question: str) -> None:
        """The question that was said last waits no longer; the prompt gets it, unless that holds something else."""

    def give_back(self, question: str) -> None:
        """A question got no answer: the user may want to send it again."""

    def race_began(self, question: str, races: Races) -> None: ...

    def race_event(self, event: Event) -> None: ...

    def explain_began(self, model: ModelInfo) -> None: ...

    def explain_event(self, event: Event) -> None: ...

    def cleared(self) -> None:
        """A new conversation has begun."""

    def conversation_opened(self, conversation: OpenConversation) -> None:
        """Another conversation, or another branch of this one, is open."""

    def failed(self, message: str) -> None:
        """Something failed outside of a reply."""

    def notice(self, text: str) -> Job:
        """Add a line to the transcript; return what takes it back."""

    def refuse(self, text: str) -> None:
        """Show briefly why something cannot be done, for at most as long as that is true.

        ``{action}`` in the text stands for that action's key.
        """

    def hint(self, text: str, holds: Callable[[], bool] | None = None) -> None:
        """Show a line for a moment, or as long as it ``holds``."""
