"""Values of the store. Times are seconds since 1970, as from ``time.time``."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from lade_chat.paths import place
from lade_chat.protocol.values import FinishReason, ModelInfo, Piece, Statistics, quantisation_named
from lade_chat.store.piece_codec import unpack

Ending: TypeAlias = FinishReason | Literal["failed"]
"""The end of a reply. A reply without one is still running, or its program was killed."""


class Model(msgspec.Struct, frozen=True):
    """The model of a reply, by its title and by the path to load it again."""

    name: str
    path: str | None = None
    """In the sense of ``ModelOptions.path``: None means the model that ships with the application."""
    device: str = ""
    dtype: str = ""
    fingerprint: str = ""
    """That of ``ModelInfo``."""

    @classmethod
    def of(cls, model: ModelInfo, path: str | None) -> Model:
        """The model as it is kept; the path of a folder means the same in other working directories."""
        return cls(model.name, path and place(path), model.device, model.dtype, model.fingerprint)

    @property
    def quantisation(self) -> str | None:
        """The quantisation, as ``ModelOptions.quantize`` names it."""
        return quantisation_named(self.dtype)

    @property
    def title(self) -> str:
        """Its name, and how it is quantised."""
        return f"{self.name} in {self.quantisation}" if self.quantisation else self.name

    def title_beside(self, other: Model) -> str:
        """Its title, with its precision where the other's is the same without: two files of one model, say."""
        return f"{self.name} in {self.dtype}" if self.title == other.title and self.dtype != other.dtype else self.title

    def is_same(self, other: Model) -> bool:
        """True if both are one model, wherever and however precisely it runs."""
        return (self.name, self.path and place(self.path)) == (other.name, other.path and place(other.path))


class Turn(msgspec.Struct, frozen=True):
    """A question and its reply. Turns form a tree: those of one parent are alternatives to one another."""

    id: int
    parent: int | None
    created: float
    question: str | None
    """None where the reply goes on with that of the parent."""
    model: Model | None = None
    reply: str = ""
    ending: Ending | None = None
    error: str = ""
    """The error of a failed reply, in one line."""
    statistics: Statistics | None = None
    packed: tuple[bytes, ...] = ()
    """The pieces in order, as ``pack`` makes them."""

    def pieces(self) -> tuple[Piece, ...]:
        """The reply token by token; where that was lost, its whole text as one plain piece."""
        return unpack(self.reply, self.packed)[0]

    def step_seconds(self) -> tuple[float, ...]:
        """The reply's clock at the end of each step, to the microsecond; empty where it is not known."""
        return unpack(self.reply, self.packed)[1]


class Record(msgspec.Struct, frozen=True):
    """The attributes of a conversation as a whole."""

    id: str
    created: float
    updated: float
    """The time of the last message."""
    opening: str = ""
    """The first line of the first question."""
    name: str | None = None
    """The title that the user gave."""
    system: str | None = None
    model: Model | None = None
    """The model asked last."""
    leaf: int | None = None
    """The turn that the next question follows."""
    deleted: float | None = None
    chat: bool = True
    """False while nothing was asked in it but on the command line."""

    @property
    def title(self) -> str:
        return self.name or self.opening


class Summary(msgspec.Struct, frozen=True):
    """A conversation in a list."""

    record: Record
    turns: int
    """The questions on the path to the last turn; alternatives do not count."""
    twin: int = 1
    """Its number, from the oldest, among the conversations of the same opening that have no name."""
    later: str = ""
    """If it has such twins, the first question that differs from its opening."""
    excerpt: str = ""
    """Some words around a match; empty without a search, or where the title is the match."""
    is_whole: bool = True
    """False if the words of the search are only parts of words."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def title(self) -> str:
        """A title unlike those of all other conversations, unless the user gave two the same name."""
        number = f" ({self.twin})" if self.twin > 1 else ""
        return f"{self.record.title}{number}{f' · {self.later}' if self.later else ''}"
