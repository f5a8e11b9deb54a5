"""A conversation as a Markdown document: what was said on its present path, and how fast."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from lade_chat.presentation.metrics import SEPARATOR, ended_parts, of_whole
from lade_chat.presentation.thoughts import answer_of
from lade_chat.protocol.values import Statistics
from lade_chat.store import tree
from lade_chat.store.conversation import Conversation
from lade_chat.store.values import Turn

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


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
    shown = [part.forms[0] for part in ended_parts(of_whole(runs) if runs else Statistics(), last.ending)]
    if last.ending == "failed":
        shown[-1] = f"failed: {last.error}"
    return SEPARATOR.join(shown)


def _closed(text: str) -> str:
    """The text, with a code block closed that it left open: what follows is not code."""
    fence = ""
    for line in text.splitlines():
        if (found := _FENCE.fullmatch(line)) is None:
            continue
        marks, rest = found.groups()
        if not fence:
            fence = marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    text = text.strip("\n")
    return f"{text}\n{fence}" if fence else text
