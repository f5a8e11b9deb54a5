"""Text files attached to a question: ``@notes.txt`` in what is typed, and the file in a fenced block below it."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from lade_chat.errors import LadeChatError
from lade_chat.paths import decode_text, expanded
from lade_chat.presentation.metric_words import counted

MAX_BYTES = 256 * 1024
"""The largest attachment: prefilling more would take minutes."""
_MENTION = re.compile(r"""(?<!\S)@(?:"([^"\n]+)"|(\S+))""")
_LITERAL = re.compile(r"(?<!\S)@@")
_FILE = re.compile(r"\n\nFile ([^\n]+):\n(`{3,})\n(.*?\n)?\2(?=\n\nFile |\Z)", re.DOTALL)


class Attachment(NamedTuple):
    """A file's name as it was typed, and its text."""

    name: str
    text: str


def attach(typed: str) -> str:
    """Return the question with the files that it mentions. Raises LadeChatError.

    ``@name`` stays if no such file exists and it does not look like one (a dot, a slash); ``@@`` becomes ``@``.
    """
    names = dict.fromkeys(quoted or _without_signs(name) for quoted, name in _MENTION.findall(typed))
    files = [Attachment(name, text) for name in names if (text := _text_of(name)) is not None]
    return _LITERAL.sub("@", typed) + "".join(_block(file) for file in files)


def _without_signs(name: str) -> str:
    """Strip punctuation that ends a sentence from the name, unless a file is called so."""
    bare = name.rstrip(".,;:!?)]}'\"")
    return name if os.path.lexists(expanded(name)) else bare


def _text_of(name: str) -> str | None:
    """Return the file's text; None if the name does not mean a file."""
    if not name or name.startswith("@"):
        return None
    path = expanded(name)
    hint = f"Write @@{name} to send the words as they are."
    try:
        if path.is_dir():
            raise LadeChatError(f"{name} is a folder: attach a file in it. {hint}")
        if path.exists() and not path.is_file():
            raise LadeChatError(f"{name} is a pipe or a device, not a file: pipe it in (… | lade-chat ask). {hint}")
        if not path.is_file():
            if not re.search(r"[./~]", name):
                return None
            raise LadeChatError(f"There is no file {name}. {hint}")
        if path.stat().st_size > MAX_BYTES:
            raise LadeChatError(f"{name} is too large to attach: {MAX_BYTES // 1024} KiB at most.")
        data = path.read_bytes()
    except OSError as error:
        raise LadeChatError(f"{name} cannot be read: {error.strerror or error}.") from None
    try:
        return decode_text(data).replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise LadeChatError(f"{name} cannot be attached: it is not a text file in UTF-8.") from None


def _block(file: Attachment) -> str:
    """Fence the file's text, with a fence longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", file.text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if file.text.endswith("\n") or not file.text else "\n"
    return f"\n\nFile {file.name}:\n{fence}\n{file.text}{end}{fence}"


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
