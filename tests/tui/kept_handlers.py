"""Handlers of messages that are looked up once for every kind of widget and message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.message import Message
from textual.message_pump import MessagePump


class KeptHandlers:
    """The handlers that a widget has for a message; ``of`` takes the place of ``MessagePump._get_dispatch_methods``.

    Those that ``@on`` chooses by the sender are looked up as ever.
    """

    def __init__(self) -> None:
        self._look_up = MessagePump._get_dispatch_methods
        self._kept: dict[tuple[type, str, type], list[tuple[type, Any]] | None] = {}

    def of(self, pump: MessagePump, name: str, message: Message) -> Iterator[tuple[type, Any]]:
        key = (type(pump), name, type(message))
        if key not in self._kept:
            self._kept[key] = _handlers(*key)
        if (handlers := self._kept[key]) is None:
            yield from self._look_up(pump, name, message)
            return
        for owner, handler in handlers:
            if message._no_default_action:
                break
            yield owner, handler.__get__(pump, owner)


def _handlers(widget: type, name: str, message: type) -> list[tuple[type, Any]] | None:
    found = []
    for owner in widget.__mro__:
        if not owner.__dict__.get("_decorated_handlers", {}).keys().isdisjoint(message.__mro__):
            return None
        handler = owner.__dict__.get(f"_{name}") or owner.__dict__.get(name)
        if handler is not None and not getattr(handler, "_textual_on", None):
            found.append((owner, handler))
    return found
