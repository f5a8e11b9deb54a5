"""Sends the loaded model's earlier replies to the engine, whose draft tables learn from them."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command, Remember
from lade_chat.protocol.values import EarlierReply
from lade_chat.tui.conversations.store_worker import StoreWorker


class EarlierReplies:
    """Looks them up in the store and sends them to the engine; the text of a reply does not depend on them."""

    def __init__(self, worker: StoreWorker, send: Callable[[Command], None], fingerprint: Callable[[], str]) -> None:
        """``fingerprint`` returns that of the loaded model; empty while there is none."""
        self._worker = worker
        self._send = send
        self._fingerprint = fingerprint
        self._off = not worker.store.remembers

    def send(self, *, forget: bool = False) -> None:
        """Send the latest replies; with ``forget`` they replace all that was learnt, as after a deletion."""
        store, mark = self._worker.store, self._fingerprint()

        def found(replies: tuple[EarlierReply, ...]) -> None:
            if mark == self._fingerprint() and (replies or forget):
                self._send(Remember(mark, replies, forget))

        if self._off and forget and mark:
            self._send(Remember(mark, forget=True))
        elif mark and not self._off:
            self._worker.look_up(lambda: store.earlier_replies(mark), found)

    def turn_off(self) -> None:
        """Have the engine forget all texts, now and at the start of every conversation."""
        self._off = True
        self.send(forget=True)

    def conversation_changed(self) -> None:
        """If turned off, have the engine forget the previous conversation."""
        if self._off:
            self.send(forget=True)
