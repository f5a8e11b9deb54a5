"""A user's wishes, and the store's answers; the engine's own events are in ``protocol``."""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

import msgspec

from lade_chat.protocol.events import Event as EngineEvent
from lade_chat.protocol.events import Tokens
from lade_chat.protocol.inspection import RankedToken
from lade_chat.protocol.values import DecodingOptions, EarlierReply, Message, MethodSpec, ModelOptions
from lade_chat.store.conversation import Conversation
from lade_chat.store.tree import new_turn_id
from lade_chat.tui.conversations.session import Asked


class Want(Enum):
    """A wish without particulars."""

    CONTINUE = auto()
    TAKE_BACK = auto()
    """Give the newest waiting question back to the prompt, or undo the retry or continuation that it is."""
    STOP = auto()
    """End the reply, race or explanation within one step, or a download; the partial reply is kept."""
    ESCAPE_CLOSED = auto()
    """Esc has closed something: the next press is a first one."""
    SWITCH_LOOKAHEAD = auto()
    PAUSE = auto()
    STEP = auto()
    NEXT_STEP = auto()
    """Take the next step of a reply in slow motion, as the last one has been seen."""
    HOLD = auto()
    """Have a running reply wait, without a word, until ``RELEASE``."""
    RELEASE = auto()
    FORGET_EARLIER = auto()
    """Have replies guessed from no earlier conversation, now and at the start of every conversation."""
    REFRESH_EARLIER = auto()
    """A conversation was deleted or brought back: have replies guessed from those that are left."""
    REOPEN_MODEL = auto()
    RESTART = auto()
    SAVE = auto()
    """Save a running reply, and anything that could not be written before."""


class Intent(msgspec.Struct, frozen=True):
    """A wish with its particulars."""


class Ask(Intent, frozen=True):
    """Answer a text now, or once the model is ready.

    ``instead_of``: a turn whose question it replaces; the turns from there on stay as an alternative. ``draft``: what
    the prompt gets back if no answer comes; by default the text. ``turn``: the turn that stores it while it waits.
    """

    text: str
    instead_of: int | None = None
    draft: str | None = None
    turn: int = msgspec.field(default_factory=new_turn_id)


class AskAgain(Intent, frozen=True):
    """Answer the question of a turn, by default the last, once more; the present reply stays as an alternative."""

    turn: int | None = None


class Revise(Intent, frozen=True):
    """Put a reply of this text beside that of a turn, and have the model go on from it.

    ``ends``: it does not go on. ``draft``: what was typed for it.
    """

    turn: int
    text: str
    ends: bool = False
    draft: str = ""


class RankTokensAt(Intent, frozen=True):
    """Have the model tell what else may stand in a turn's reply behind ``text``, and how likely ``own`` is there."""

    turn: int
    text: str
    own: int
    place: int


class TakeNext(Intent, frozen=True):
    """Stop the running reply after so many steps, and put another beside it that goes on with this token's text."""

    token: RankedToken
    steps: int


class PressEscape(Intent, frozen=True):
    """Esc, with nothing to close: take a message back, else stop the reply; a double press stops everything."""

    has_draft: bool


class ChangePace(Intent, frozen=True):
    """Run the reply faster (1) or slower (-1); faster has a paused one go on at the pace it had, or the slowest."""

    direction: int


class ShowTokens(Intent, frozen=True):
    """Show tokens that slow motion held back."""

    tokens: Tokens


class SetDebug(Intent, frozen=True):
    """Inspect replies, the running one included, and measure the next; or no longer."""

    enabled: bool


class SetOptions(Intent, frozen=True):
    """Decode the next replies so."""

    options: DecodingOptions


class SetReadAhead(Intent, frozen=True):
    """Read ahead while the model is idle, or not."""

    enabled: bool


class ReadAhead(Intent, frozen=True):
    """Have the model read what is typed, with the files that it names and the conversation before it."""

    question: str


class LoadModel(Intent, frozen=True):
    """Load a model: the last one requested unless ``options`` name another. Ends a running reply first."""

    options: ModelOptions | None = None


class NewConversation(Intent, frozen=True):
    """Begin a new conversation; the present one stays in the list, or is deleted."""

    deletes: bool = False


class OpenConversation(Intent, frozen=True):
    """Continue another conversation, with this system prompt if one is given."""

    conversation: Conversation
    system: str | None = None


class Branch(Intent, frozen=True):
    """Have the next question follow this turn, or none; what follows it now stays as an alternative."""

    turn: int | None


class GoBeside(Intent, frozen=True):
    """Go to the alternative of a turn before (-1) or after (1) it."""

    turn: int
    direction: int


class Rename(Intent, frozen=True):
    """Give the conversation a title."""

    title: str


class Instruct(Intent, frozen=True):
    """Change the system prompt of new conversations, and with a ``note`` that says so here too."""

    system: str | None
    note: str = ""


class StartRace(Intent, frozen=True):
    """Race over a text, by default over the last question; once the model is loaded, unless ``draft`` grows."""

    text: str
    draft: str | None


class RaceAgain(Intent, frozen=True):
    """Race once more over the same question, or over a suite; with other methods where they are given."""

    left: MethodSpec | None = None
    right: MethodSpec | None = None
    suite: str = ""


class ExplainTurn(Intent, frozen=True):
    """Explain the answer to ``messages``: the steps of the race over them if ``raced``, else new ones."""

    messages: tuple[Message, ...]
    raced: bool = False
    draft: str | None = None


class Close(Intent, frozen=True):
    """End the chat: a partial reply is kept, broken off by ``error`` if any; an unanswered question stays."""

    error: str = ""


# --- what the store answers ------------------------------------------------------------------------------------
class StoreAnswered(Enum):
    """An answer of the store without particulars."""

    IDLE = auto()
    """The results of all changes have been delivered."""
    MOVED = auto()
    """Another branch of the conversation is open."""
    REVISED = auto()
    """Another reply stands beside an earlier one, and is to go on."""
    RENAMED = auto()


class StoreEvent(msgspec.Struct, frozen=True):
    """An answer of the store with what it found."""


class ReplyStored(StoreEvent, frozen=True):
    """The end of a reply is on the disk, or cannot be written yet. ``lost``: the engine was lost before."""

    asked: Asked
    lost: bool = False


class ReplyWithdrawn(StoreEvent, frozen=True):
    """The turn of a question without an answer is deleted; ``error`` is why there is none, if something failed."""

    asked: Asked
    error: str | None


class ConversationOpened(StoreEvent, frozen=True):
    """Another conversation is open, or a new one; ``draft`` was withdrawn from what waited in the one before."""

    draft: str
    is_new: bool
    system: str | None = None


class EarlierFound(StoreEvent, frozen=True):
    """Earlier replies of a model; with ``forget`` they replace all that was learnt."""

    fingerprint: str
    replies: tuple[EarlierReply, ...]
    forget: bool


Happening: TypeAlias = Want | Intent | StoreAnswered | StoreEvent | EngineEvent
"""Whatever changes the chat's state."""
