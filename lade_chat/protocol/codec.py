"""Commands and events as lines of JSON."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from lade_chat.paths import SURROGATES
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event

T = TypeVar("T")
_encoder = msgspec.json.Encoder()
_command_decoder: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(value: Command | Event) -> bytes:
    """One line of JSON, newline included. Bytes of a path or an argument that were not UTF-8 are replaced in it."""
    try:
        return _encoder.encode(value) + b"\n"
    except UnicodeEncodeError:  # lone surrogates stand for such bytes
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text).encode() + b"\n"


def decode_command(line: bytes) -> Command:
    """The command on one line; raises msgspec.DecodeError for anything else."""
    return _decode(_command_decoder, line)


def decode_event(line: bytes) -> Event:
    """The event on one line; raises msgspec.DecodeError for anything else."""
    return _decode(_event_decoder, line)


def _decode(decoder: msgspec.json.Decoder[T], line: bytes) -> T:
    try:
        return decoder.decode(line)
    except (UnicodeDecodeError, RecursionError) as error:  # msgspec raises these as they are
        raise msgspec.DecodeError(str(error)) from None
