"""A conversation as a document: its present path in Markdown, or all that the store keeps in lines of JSON.

The first line of JSON is of type ``conversation``; each one after it, of type ``turn``, is a turn, its parent before
it. Turns are numbered from 1, moments are seconds since 1970, and each piece is its text, origin, token and step.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec
from markdown_it import MarkdownIt

from lade_chat.presentation.metric_words import ended_parts, of_whole
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.presentation.thought_splitter import answer_of
from lade_chat.protocol.values import Statistics
from lade_chat.store import tree
from lade_chat.store.piece_codec import UNKNOWN_ID
from lade_chat.store.records import Turn
from lade_chat.store.saved_conversation import Conversation

_BLOCKS = MarkdownIt("commonmark").disable(["inline", "text_join"])
"""Tells blocks only."""


def to_markdown(conversation: Conversation) -> str:
    """The document, with a line break at its end."""
    about = conversation.about
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(about.created))
    blocks = [f"# {about.title or 'New conversation'}", f"*{written}*"]
    if about.system:
        blocks += ["**System**", _closed(about.system)]
    path = conversation.path
    for first, last in tree.wholes(path):
        parts = path[first:last]
        if (question := parts[0].question) is not None:
            blocks += ["---", "**You**", _closed(question)]
        name = f" ({parts[0].model.name})" if parts[0].model else ""
        reply = _closed(answer_of("".join(part.reply for part in parts)))
        blocks += [f"**Model**{name}", reply, f"*{_metrics(parts)}*"]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _metrics(parts: Sequence[Turn]) -> str:
    """The metrics of a whole reply, its continuations included, and how it ended."""
    runs, last = [part.statistics for part in parts if part.statistics is not None], parts[-1]
    shown = [part.forms[0] for part in ended_parts(of_whole(runs) if runs else Statistics(), last.ending, last.error)]
    if last.ending == "failed":
        shown[-1] = f"failed: {last.error}"
    return SEPARATOR.join(shown)


def _closed(text: str) -> str:
    """The text, with a code block closed that it left open: what follows is not code."""
    text = text.strip("\n")
    if "```" not in text and "~~~" not in text:
        return text
    last = _BLOCKS.parse(f"{text}\n\n.")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def to_jsonl(conversation: Conversation) -> Iterator[str]:
    """The conversation with all alternatives, line by line, without line breaks."""
    about, turns = conversation.about, conversation.turns
    numbers: dict[int | None, int] = {turn.id: number for number, turn in enumerate(turns, 1)}
    head = {
        "type": "conversation",
        "version": 1,
        "created": about.created,
        "updated": about.updated,
        "title": about.title,
        "system": about.system,
        "last": numbers.get(about.leaf),  # the turn that the next question follows
    }
    yield msgspec.json.encode(head).decode()
    for turn in turns:
        line = {
            "type": "turn",
            "number": numbers[turn.id],
            "created": turn.created,
            "parent": numbers.get(turn.parent),
            "question": turn.question,
            "reply": turn.reply,
            "ending": turn.ending,
            "error": turn.error,
            "model": turn.model,
            "statistics": turn.statistics,
            "pieces": tuple(piece for piece in turn.pieces() if piece.id != UNKNOWN_ID),
            "step_seconds": turn.step_seconds(),
        }
        yield msgspec.json.encode({name: value for name, value in line.items() if value not in (None, "", ())}).decode()
