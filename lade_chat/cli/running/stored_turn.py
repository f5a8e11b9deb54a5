"""The turn of ``ask`` in the conversation store; ``--continue`` appends it to the latest conversation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lade_chat.cli.running.streams import is_output_error
from lade_chat.errors import LadeChatError
from lade_chat.known_models.models_at_hand import remember
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Remember
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Message, ModelInfo, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError
from lade_chat.store.records import Model

ELSEWHERE = "--data-dir FOLDER names another folder"


class StoredTurn:
    """One question and its reply in a conversation. A failure to save is reported once on stderr and ends nothing."""

    def __init__(
        self, data_dir: Path | None, question: str, system: str | None, *, latest: bool, remember: bool = True
    ) -> None:
        """Begin a conversation, or open the latest one. Raises LadeChatError if it cannot be read."""
        self._store = Store(data_dir, remember=remember, chat=False)
        try:
            found = self._store.latest() if latest else None
        except StoreError as error:
            raise LadeChatError(f"The latest conversation cannot be continued: {error.reason} {ELSEWHERE}.") from None
        if latest and found is None:
            sys.stderr.write("There is no conversation to continue yet: this begins one.\n")
        self._conversation = found or self._store.begin(system)
        if found is not None and system is not None:
            self._try(lambda: found.instruct(system))
        self._question = question
        self._problem = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation up to and including the question."""
        system, before = self._conversation.about.system, self._conversation.messages
        first = (Message("system", system),) if system and not before else ()
        return (*first, *before, Message("user", self._question))

    def begin(self, model: ModelInfo, options: ModelOptions) -> None:
        """Save the question, put the model among the recent ones, and tell if another one held the conversation."""
        about, before = Model.of(model, options.path), self._conversation.about.model
        if before is not None and before.name and not before.is_same(about):
            sys.stderr.write(
                f"The conversation was held with {printable(before.title_beside(about))}; "
                f"{printable(about.title_beside(before))} answers.\n"
            )
        self._try(lambda: self._conversation.ask(self._question, about))
        remember(self._store.path.parent, options)

    def earlier_replies(self, model: ModelInfo) -> Remember | None:
        """Return the command that lets the engine guess from what this model said before; None if there is nothing."""
        with suppress(StoreError):  # it would only have been faster
            if replies := self._store.earlier_replies(model.fingerprint):
                return Remember(model.fingerprint, replies)
        return None

    def take(self, event: Tokens | ReplyFinished) -> None:
        if isinstance(event, Tokens):
            self._try(lambda: self._conversation.grow(event))
        else:
            self._try(lambda: self._conversation.finish(event))

    def __enter__(self) -> StoredTurn:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End a reply that is still running, withdraw a question without an answer, and report what was not saved."""
        # A reader that has left, such as head, or a full disk behind > breaks the reply off; it is not why it failed.
        failed = isinstance(error, Exception) and not (isinstance(error, OSError) and is_output_error(error))
        if self._conversation.is_running:
            self._try(lambda: self._conversation.break_off(str(error) if failed else ""))
            self._try(self._conversation.withdraw)
        self._try(self._store.close)
        unsaved = f"This turn is not saved: {self._problem} {ELSEWHERE}, --no-save saves nothing."
        for line in (*self._store.notices, *([unsaved] if self._problem else [])):
            sys.stderr.write(f"warning: {printable(line)}\n")

    def _try(self, save: Callable[[], object]) -> None:
        try:
            save()
        except StoreError as error:
            self._problem = self._problem or error.reason
