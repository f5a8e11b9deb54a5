"""The chat's state: frozen values that ``update`` replaces, and the screen draws from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, TypeAlias

from lade_chat.protocol.commands import Prefill
from lade_chat.protocol.events import Loaded, LoadFailed, Loading
from lade_chat.protocol.inspection import Inspection, RankedToken
from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions, Sampling, Statistics
from lade_chat.store.records import Model
from lade_chat.store.tree import Snapshot
from lade_chat.tui.conversations.conversation_session import Asked, ConversationSession
from lade_chat.tui.race.queue import Races

Decision: TypeAlias = Callable[[Any], object]
"""A decision with its arguments, which is given the ``Change`` under way."""
STILL_ANSWERING = "The model is still answering. {stop} stops it."
STILL_LOADING = "The model is still loading."
ALL_THOUGHT = "This reply is all thought: there is no answer."
ENGINE_GONE = "The engine is gone. {restart} starts it again."
NO_MODEL = "No model is loaded. {open_model} opens one."
NO_THINKING_SWITCH = "The chat template of this model has no switch for thinking. /think 512 limits a thought."
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


@dataclass(frozen=True)
class Loads:
    """Load requests, which may overlap: only the last one's result counts."""

    options: ModelOptions
    """Options of the loaded model, or of the last request while there is no model."""
    running: tuple[ModelOptions, ...] = ()
    last: tuple[ModelInfo, ModelOptions] | None = None
    """The model that was loaded last, though another may have been requested since."""
    asked: Mapping[ModelOptions, ModelOptions] = field(default_factory=dict)
    """What was asked for, by the options of each load: a GGUF file cannot have all of it."""

    @property
    def wanted(self) -> ModelOptions:
        """The options to open another model with, those included that the present one cannot have."""
        return self.asked.get(self.options, self.options)

    def ended(self, event: Loaded | LoadFailed) -> Loads:
        """Take in a result. After a failure an earlier model may remain."""
        options, running = (self.running[0], self.running[1:]) if self.running else (self.options, ())
        last = (event.model, options) if isinstance(event, Loaded) else self.last if event.kept else None
        in_force = self.options if running else last[1] if last else options
        return replace(self, options=in_force, running=running, last=last)


@dataclass(frozen=True)
class Answer:
    """A reply from its question until it is stored."""

    asked: Asked
    model: Model
    leaf: int | None
    """The leaf of the conversation before the question."""
    said: bool = False

    @property
    def continues_nothing(self) -> bool:
        """True for a continuation that has said nothing yet: if it ends here, the reply stays as it was."""
        return self.asked.question is None and not self.said


@dataclass(frozen=True)
class Deferred:
    """A wish from when the model was not free, and the draft then: it opens unless something is typed since."""

    decision: Decision
    draft: str | None
    missed: str
    """The line for a user who types when it would open."""


@dataclass(frozen=True)
class ChatState:
    """All that the chat knows at one moment.

    A refusal is the line that tells the user why not, with places for key names; it is empty if nothing is in the way.
    """

    options: DecodingOptions
    sampling: Sampling | None
    """As the engine reported it with the last reply; as asked for before the first."""
    conversation: ConversationSession
    loads: Loads
    system: str | None = None
    """The system prompt of new conversations."""
    store_busy: bool = False
    """True until the results of all changes of the store have been delivered."""
    now: float = 0.0
    """The time in seconds, of a clock that never goes back."""

    phase: Phase = Phase.LOADING
    model: ModelInfo | None = None
    progress: Loading | None = None
    """Of the model that is being loaded."""
    ahead: int = 0
    """Commands of others that an engine carries out first."""
    stopping: bool = False
    after_stop: Decision | None = None
    """Taken once the reply has stopped."""
    stopped_for: str = ""
    """The mark of the reply that is stopped for it."""
    when_free: Deferred | None = None

    paused: bool = False
    """Of the reply that is running; while the chat is ready, of the next one."""
    pace: float | None = None
    """Steps a second in slow motion; None for full speed."""
    paced: float = float("-inf")
    """The time at which a key last changed the pace, or a reply in slow motion ended."""
    escape: tuple[float, float] = (float("-inf"), float("-inf"))
    """The times at which Esc was pressed, and at which it closed something."""

    waiting: tuple[Asked, ...] = ()
    """Questions not asked yet, the oldest first."""
    answer: Answer | None = None
    ending: bool = False
    """True while a reply that said something has no end on the disk."""
    reading: tuple[int, int] | None = None
    """The tokens of the prompt that were read, and all of them, until the first step."""
    dropped: int = 0
    """The messages that the last reply did not get, as they no longer fit."""
    statistics: Statistics | None = None
    inspection: Inspection | None = None
    measuring: bool = False
    """True while figures that a reply lacks may still come."""

    seed: int | None = None
    """The seed drawn for the conversation's first reply, which all later ones use."""
    requested_seed: int | None = None
    """The seed that was asked for when the last command was sent."""
    races: Races = field(default_factory=Races)
    offer: str = ""
    """The offer to open the model that the conversation was held with."""
    offer_pending: bool = False
    """True if a conversation was opened before there was a model."""
    remembers: bool = True
    """True if the engine guesses from earlier conversations too."""
    reads_ahead: bool = True
    read: Prefill | None = None
    """The text that the model has read ahead."""

    @property
    def is_slow(self) -> bool:
        """True while steps are shown one by one."""
        return self.paused or self.pace is not None

    @property
    def has_pace(self) -> bool:
        """True during a slow reply; at full speed the keys that change the pace type."""
        return self.phase is Phase.REPLYING and self.is_slow

    @property
    def next_tokens(self) -> tuple[RankedToken, ...]:
        """The likeliest tokens of a paused reply's next step; empty while they are not known."""
        step, told = self.inspection, self.statistics
        if not self.paused or step is None or told is None or step.step + 1 != told.steps:
            return ()
        return step.likeliest

    @property
    def is_running(self) -> bool:
        """True while there is something to stop."""
        return self.phase in (Phase.REPLYING, Phase.RACING, Phase.EXPLAINING)

    @property
    def messages_waiting(self) -> int:
        """The number of messages that wait for the model."""
        return sum(asked.is_message for asked in self.waiting)

    @property
    def can_ask(self) -> bool:
        """True if the model is free and every change of the conversation has been stored."""
        return self.phase is Phase.READY and self.model is not None and not self.store_busy

    @property
    def stored_model(self) -> Model:
        """The loaded model as the store names it."""
        return Model.of(self.model, self.loads.options.path) if self.model is not None else Model("")

    @property
    def context_used(self) -> int:
        """The tokens that the conversation takes, as the loaded model told them with its last reply; else 0."""
        last = self.conversation.path[-1] if self.conversation.path else None
        told = last.statistics if last is not None and last.model == self.stored_model else None
        return told.context_used if told is not None else 0

    @property
    def fingerprint(self) -> str:
        """That of the loaded model; empty while there is none."""
        return self.model.fingerprint if self.model is not None else ""

    @property
    def situation(self) -> tuple[object, ...]:
        """Everything that a refusal depends on."""
        return self.phase, self.stopping, self.model, self.conversation.id

    def refusal_to_change(self) -> str:
        """The reason that no question can be asked again and the branch cannot be left; empty if they can."""
        if self.phase is Phase.READY:
            return ""
        if self.phase is Phase.LOADING:
            return STILL_LOADING
        if self.phase is Phase.LOST:
            return ENGINE_GONE
        return NO_MODEL if self.phase is Phase.UNLOADED else STILL_ANSWERING

    def refusal_to_switch_thinking(self) -> str:
        """Empty also without a model: the switch then holds for the next one."""
        return "" if self.model is None or self.model.has_thinking_switch else NO_THINKING_SWITCH

    def refusal_to_race(self) -> str:
        if self.model is None or self.phase is not Phase.READY:
            return self.refusal_to_change() or NO_MODEL
        return "" if self.model.lookahead_supported else f"{NO_LOOKAHEAD[:-1]}, so there is nothing to race."

    def refusal_to_explain(self) -> str:
        """Empty also while a model loads or answers: the explanation then waits."""
        if self.model is not None and not self.model.lookahead_supported:
            return f"{NO_LOOKAHEAD[:-1]}, so there is nothing to show."
        return "" if self.phase in (Phase.LOADING, Phase.REPLYING) else self.refusal_to_change()

    def at(self, now: float, snapshot: Snapshot, *, store_busy: bool) -> ChatState:
        """Return the state with the conversation and the store as they are at this time."""
        is_same = snapshot is self.conversation.snapshot
        session = self.conversation if is_same else ConversationSession(snapshot)
        return replace(self, now=now, conversation=session, store_busy=store_busy)
