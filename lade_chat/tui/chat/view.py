"""What a screen must be able to show for ``Chat``."""

from __future__ import annotations

from typing import Protocol

from lade_chat.protocol.events import Event, Loading, ReplyFinished, Tokens
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.app.key_names import KeyNames


class ChatView(Protocol):
    """One call for each thing that happens; none of them asks anything back."""

    @property
    def key_names(self) -> KeyNames:
        """What the keys are called that are in force."""

    def loading_began(self) -> None: ...

    def load_progressed(self, progress: Loading) -> None: ...

    def model_ready(self, model: ModelInfo) -> None: ...

    def load_failed(self, message: str, kept: ModelInfo | None) -> None:
        """The model could not be loaded; ``kept`` is the one that was loaded before and still is."""

    def engine_lost(self, message: str) -> None: ...

    def user_said(self, text: str | None) -> None:
        """A message was taken; it waits until ``reply_began``. None: the last reply is to go on."""

    def cut(self, turn: int) -> None:
        """What was said from this turn on gives way to what is said next."""

    def reply_began(self) -> None:
        """The oldest waiting message is being answered."""

    def reading(self, done: int, total: int) -> None:
        """So much of the prompt has been read."""

    def reply_grew(self, tokens: Tokens) -> None: ...

    def reply_ended(self, finished: ReplyFinished) -> None: ...

    def reply_failed(self, message: str | None) -> None:
        """The reply broke off; None if the reason is told elsewhere."""

    def turn_kept(self) -> None:
        """The reply that ended last is in the store."""

    def give_back(self, question: str) -> None:
        """A question that got no answer: the user may want to send it again."""

    def stopping(self) -> None: ...

    def settled(self) -> None:
        """The engine is free again."""

    def lookahead_changed(self) -> None: ...

    def pace_changed(self) -> None:
        """The running reply is paused, or goes on."""

    def sampling_changed(self) -> None:
        """Another seed, or other settings of the model's own, are in force from now on."""

    def race_began(self, question: str) -> None: ...

    def race_event(self, event: Event) -> None: ...

    def explain_began(self) -> None: ...

    def explain_event(self, event: Event) -> None: ...

    def cleared(self) -> None: ...

    def conversation_opened(self) -> None:
        """The conversation is another, or goes on elsewhere: show it anew."""

    def failed(self, message: str) -> None:
        """Something failed that belongs to no reply."""

    def notice(self, text: str) -> None: ...

    def refuse(self, text: str) -> None:
        """Why something cannot be done just now: told for a moment, and no longer than things stand so."""

    def hint(self, text: str) -> None:
        """A word that goes away by itself."""
