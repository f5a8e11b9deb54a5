"""Effects: what the engine, the store or the screen has to do after a change of the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event, Failed, ReplyFinished, Tokens, TokensRanked
from lade_chat.protocol.values import ModelInfo
from lade_chat.store.conversation import Conversation
from lade_chat.tui.chat.chat_state import ChatState, Decision, Deferred
from lade_chat.tui.conversations.conversation_session import Asked, ConversationSession, ShownTurn
from lade_chat.tui.race.queue import Races


class Effect(msgspec.Struct, frozen=True):
    """One thing to be done."""


# --- by the engine and the store -------------------------------------------------------------------------------
class Send(Effect, frozen=True):
    """Send a command to the engine."""

    command: Command


class StartEngine(Effect, frozen=True):
    """Start an engine in place of the lost one."""


class Keep(Effect, frozen=True):
    """Have the open conversation change: ``verb`` with these arguments; ``then`` follows unless it returns False."""

    verb: Callable[..., object]
    arguments: tuple[object, ...] = ()
    then: Decision | None = None


class OpenStored(Effect, frozen=True):
    """Open a conversation, or begin one; ``conversation_opened`` follows, with the draft and the system prompt."""

    conversation: Conversation | None
    draft: str
    system: str | None = None


class Delete(Effect, frozen=True):
    """Delete a conversation from the store."""

    conversation: str
    title: str


class FindEarlier(Effect, frozen=True):
    """Look up a model's earlier replies."""

    fingerprint: str
    forget: bool


# --- in the transcript and the prompt --------------------------------------------------------------------------
class Say(Effect, frozen=True):
    """Show a question, which waits until its reply begins; None continues the last reply."""

    question: str | None


class Cut(Effect, frozen=True):
    """Show nothing from this turn on: it is asked again."""

    turn: int


class BeginReply(Effect, frozen=True):
    """Show that the oldest waiting question is being answered."""


class Grow(Effect, frozen=True):
    """Show more of the reply: in slow motion step by step."""

    tokens: Tokens
    slowly: bool = False


class EndReply(Effect, frozen=True):
    """Show that the reply is complete, and ``why`` if it was stopped for something."""

    finished: ReplyFinished
    why: str = ""


class FailReply(Effect, frozen=True):
    """Show that the reply broke off; without a message if the reason is shown elsewhere."""

    message: str | None


class TurnKept(Effect, frozen=True):
    """Offer what can be done with the turn that ended, now that it is stored."""

    turn: ShownTurn


class ShowConversation(Effect, frozen=True):
    """Show the conversation from scratch, and below it what waits."""

    session: ConversationSession
    waiting: tuple[Asked, ...]


class ClearPrompt(Effect, frozen=True):
    """Empty the prompt, whose history keeps what was sent."""

    sent: str


class GiveBack(Effect, frozen=True):
    """Put a question back into an empty prompt; ``is_last`` takes the last one out of the transcript."""

    question: str
    is_last: bool = False


class Note(Effect, frozen=True):
    """Add a line to the transcript."""

    text: str
    is_error: bool = False


class Offer(Effect, frozen=True):
    """Show this offer in the transcript, in place of the one before; empty for none."""

    text: str


class ModelReady(Effect, frozen=True):
    """Show the notices of the loaded model."""

    model: ModelInfo


class ModelFailed(Effect, frozen=True):
    """Say that there is no model, or only the one ``kept``."""

    message: str
    kept: ModelInfo | None


class EngineGone(Effect, frozen=True):
    """Say that the engine is lost."""

    message: str


# --- in the status line, and above the chat --------------------------------------------------------------------
class Refuse(Effect, frozen=True):
    """Show briefly why something cannot be done, as long as that is true. ``{action}`` stands for that action's key."""

    text: str


class Hint(Effect, frozen=True):
    """Show a line for a moment, or as long as it ``holds`` of the state and the draft."""

    text: str
    holds: Callable[[ChatState, str], bool] | None = None


class OpenRace(Effect, frozen=True):
    """Open the screen of a race, in place of the one before."""

    races: Races


class OpenExplanation(Effect, frozen=True):
    """Open the tutorial."""

    model: ModelInfo


class ShowAbove(Effect, frozen=True):
    """Show an event on the screen of the race, whose queue is given, or of the tutorial."""

    event: Event
    races: Races | None = None


class ShowRanked(Effect, frozen=True):
    """Show what else may stand at a place of a reply, or why that cannot be told, where it is asked about."""

    event: TokensRanked | Failed


class OpenDeferred(Effect, frozen=True):
    """Carry out what waited for the model; nothing is opened above what is being typed, nor above anything else."""

    deferred: Deferred


class Change:
    """A change of the chat while it is decided: the state so far, and what is to be done."""

    def __init__(self, state: ChatState) -> None:
        self.state = state
        self.effects: list[Effect] = []
        self.frees = False
        """True if the model is free from here on."""

    def set(self, **changes: Any) -> None:
        """Replace fields of the state."""
        self.state = replace(self.state, **changes)

    def do(self, *effects: Effect) -> None:
        self.effects += effects
        if any(isinstance(effect, Keep | FindEarlier) for effect in effects):
            self.set(store_busy=True)

    def send(self, command: Command) -> None:
        self.do(Send(command))
