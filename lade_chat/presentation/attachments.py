"""A question and the files that go with it, told apart again: each file stands below the text, between fences."""

from __future__ import annotations

import re
from typing import NamedTuple

from lade_chat.presentation.metrics import counted

_FILE = re.compile(r"\n\nFile ([^\n]+):\n(`{3,})\n(.*?\n)?\2(?=\n\nFile |\Z)", re.DOTALL)


class Attachment(NamedTuple):
    """A file's name as it was typed, and its text."""

    name: str
    text: str


def parted(question: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return what was typed and the files that were attached to it."""
    found = list(_FILE.finditer(question))
    if not found or "".join(match.group() for match in found) != question[found[0].start() :]:
        return question, ()
    files = tuple(Attachment(match[1], (match[3] or "").removesuffix("\n")) for match in found)
    return question[: found[0].start()], files


def folded(question: str) -> str:
    """Return the question with a line for each file in place of its text."""
    typed, files = parted(question)
    return "\n".join([typed, *(f"[{file.name} · {counted(len(file.text.splitlines()), 'line')}]" for file in files)])
