"""A reply as it is written, as ``lade-chat ask --export`` keeps it."""

from __future__ import annotations

from pathlib import Path

from assets.pictures.watched import Watched, complain
from lade_chat.export.content import Content, Recording
from lade_chat.export.picture import write_picture
from lade_chat.export.theme import Theme
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import Loaded, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from lade_chat.tui.demo.script import prompts_for


async def reply(folder: Path, model: ModelOptions, engine: Watched, theme: Theme) -> Path:
    """Ask once, and keep the answer as a GIF."""
    await engine.start()
    engine.send(Load(model))
    recording, loaded, prompt = Recording(), None, prompts_for(model).raced
    async for event in engine.events():
        complain([event])
        if isinstance(event, Loaded):
            loaded = event.model
            engine.send(Reply((Message("user", prompt),), DecodingOptions()))
        elif isinstance(event, Tokens | ReplyFinished):
            recording.take(event)
        if isinstance(event, ReplyFinished):
            break
    assert loaded is not None, "a reply came before its model"
    path = folder / "reply.gif"
    write_picture(path, Content(prompt, loaded, (recording,)), theme=theme)
    return path
