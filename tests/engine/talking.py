"""Questions to the engine, and what its events say."""

from __future__ import annotations

import msgspec

from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Tokens
from lade_chat.protocol.values import DecodingOptions, Message, Sizes

# Automatic sizes follow from how fast the machine is: nothing to count steps by.
OPTIONS = DecodingOptions(sizes=Sizes(), max_new_tokens=40)


def user(text):
    return (Message("user", text),)


def events_of(engine, text, **changes):
    return list(engine.handle(Job(Reply(user(text), msgspec.structs.replace(OPTIONS, **changes)))))


def pieces_of(events, side="left"):
    return [p for event in events if isinstance(event, Tokens) and event.side == side for p in event.pieces]


def text_of(events, side="left"):
    return "".join(piece.text for piece in pieces_of(events, side))
