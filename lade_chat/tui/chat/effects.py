"""Effects: what the engine, the store or the screen has to do after a change of the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol

from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event, Failed, ReplyFinished, Tokens, TokensRanked
from lade_chat.protocol.values import ModelInfo
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.chat.chat_state import ChatState, Decision, Deferred
from lade_chat.tui.conversations.conversation_session import Asked, ConversationSession, ShownTurn
from lade_chat.tui.race.queue import Races

P = ParamSpec("P")


class Effects(Protocol):
    """All that decisions may have done: each method is an effect, and the screen does it."""

    # --- by the engine and the store -------------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        """Send a command to the engine."""

    def start_engine(self) -> None:
        """Start an engine in place of the lost one."""

    def keep(self, verb: Callable[..., object], arguments: tuple[object, ...], then: Decision | None) -> None:
        """Change the open conversation by ``verb`` with these arguments; ``then`` follows unless that returns False."""

    def open_stored(self, conversation: Conversation | None, draft: str, system: str | None) -> None:
        """Open a conversation, or begin one; ``conversation_opened`` follows, with the draft and the system prompt."""

    def delete(self, conversation: str, title: str) -> None:
        """Delete a conversation from the store."""

    def find_earlier(self, fingerprint: str, forget: bool) -> None:
        """Look up a model's earlier replies."""

    # --- in the transcript and the prompt --------------------------------------------------------------------------

    def say(self, question: str | None) -> None:
        """Show a question, which waits until its reply begins; None continues the last reply."""

    def cut(self, turn: int) -> None:
        """Show nothing from this turn on: it is asked again."""

    def begin_reply(self) -> None:
        """Show that the oldest waiting question is being answered."""

    def grow(self, tokens: Tokens, *, slowly: bool = False) -> None:
        """Show more of the reply: in slow motion step by step."""

    def end_reply(self, finished: ReplyFinished, why: str) -> None:
        """Show that the reply is complete, and ``why`` if it was stopped for something."""

    def fail_reply(self, message: str | None) -> None:
        """Show that the reply broke off; without a message if the reason is shown elsewhere."""

    def turn_kept(self, turn: ShownTurn) -> None:
        """Offer what can be done with the turn that ended, now that it is stored."""

    def show_conversation(self, session: ConversationSession, waiting: tuple[Asked, ...]) -> None:
        """Show the conversation from scratch, and below it what waits."""

    def clear_prompt(self, sent: str) -> None:
        """Empty the prompt, whose history keeps what was sent."""

    def give_back(self, question: str) -> None:
        """Put a question back into an empty prompt."""

    def take_back(self, question: str, *, drops: bool) -> None:
        """Take the last question out of the transcript, and unless it is dropped back into an empty prompt."""

    def note(self, text: str, *, is_error: bool = False) -> None:
        """Add a line to the transcript."""

    def offer(self, text: str) -> None:
        """Show this offer in the transcript, in place of the one before; empty for none."""

    def model_ready(self, model: ModelInfo) -> None:
        """Show the notices of the loaded model."""

    def model_failed(self, message: str, kept: ModelInfo | None) -> None:
        """Say that there is no model, or only the one ``kept``."""

    def engine_gone(self, message: str) -> None:
        """Say that the engine is lost."""

    # --- in the status line, and above the chat --------------------------------------------------------------------

    def refuse(self, text: str) -> None:
        """Show briefly why something cannot be done, as long as that is true. ``{action}`` stands for its key."""

    def hint(self, text: str, holds: Callable[[ChatState, str], bool] | None = None) -> None:
        """Show a line for a moment, or as long as it ``holds`` of the state and the draft."""

    def open_race(self, races: Races) -> None:
        """Open the screen of a race, in place of the one before."""

    def open_explanation(self, model: ModelInfo) -> None:
        """Open the tutorial."""

    def show_above(self, event: Event, races: Races | None = None) -> None:
        """Show an event on the screen of the race, whose queue is given, or of the tutorial."""

    def show_ranked(self, event: TokensRanked | Failed) -> None:
        """Show what else may stand at a place of a reply, or why that cannot be told, where it is asked about."""

    def open_deferred(self, deferred: Deferred) -> None:
        """Carry out what waited for the model, unless something was typed since or is open above the chat."""


class Effect(NamedTuple):
    """A call of one of the ``Effects``, still to be made."""

    method: Callable[..., object]
    arguments: tuple[object, ...]
    named: Mapping[str, object]

    def on(self, screen: Effects) -> None:
        getattr(screen, self.method.__name__)(*self.arguments, **self.named)


class Change:
    """A change of the chat while it is decided: the state so far, and what is to be done."""

    def __init__(self, state: ChatState) -> None:
        self.state = state
        self.effects: list[Effect] = []
        self.frees = False
        """True if the model is free from here on."""

    def set(self, /, **changes: Any) -> None:
        """Replace fields of the state."""
        self.state = replace(self.state, **changes)

    def do(self, effect: Callable[Concatenate[Effects, P], None], *args: P.args, **named: P.kwargs) -> None:
        self.effects.append(Effect(effect, args, named))

    def send(self, command: Command) -> None:
        self.do(Effects.send, command)

    def keep(self, verb: Callable[..., object], *arguments: object, then: Decision | None = None) -> None:
        self.set(store_busy=True)
        self.do(Effects.keep, verb, arguments, then)
