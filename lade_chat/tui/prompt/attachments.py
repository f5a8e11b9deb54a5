"""Text files attached to a question: ``@notes.txt`` in the text attaches the file.

The model gets, and the store keeps, the text as typed with each file between fences below it;
``lade_chat.presentation.attachments`` separates them again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import Attachment

MAX_ATTACHMENT_BYTES = 256 * 1024
"""Larger files would take minutes to prefill."""
_MENTION = re.compile(r"""(?<!\S)@(?:"([^"\n]+)"|(\S+))""")
_LITERAL = re.compile(r"(?<!\S)@@")


class AttachmentError(LadeChatError):
    """A file cannot be attached."""


def attach(typed: str) -> str:
    """Return the text with the files that it mentions. Raises AttachmentError.

    ``@`` before a name that is no file and does not look like one (no dot or slash) is left alone;
    ``@@`` stands for ``@``.
    """
    names = dict.fromkeys(quoted or _without_punctuation(name) for quoted, name in _MENTION.findall(typed))
    files = [Attachment(name, text) for name in names if (text := _text_of(name)) is not None]
    return _LITERAL.sub("@", typed) + "".join(_block(file) for file in files)


def _without_punctuation(name: str) -> str:
    """Return the name without the punctuation of the sentence that it ends, unless a file has that name."""
    bare = name.rstrip(".,;:!?)]}'\"")
    return name if os.path.lexists(os.path.expanduser(name)) else bare


def _text_of(name: str) -> str | None:
    """Return the file's text; None if the name is not meant as a file."""
    if not name or name.startswith("@"):
        return None
    path = Path(name).expanduser()
    escape = f"Write @@{name} to send the words as they are."
    try:
        if path.is_dir():
            raise AttachmentError(f"{name} is a folder: attach a file in it. {escape}")
        if path.exists() and not path.is_file():
            raise AttachmentError(f"{name} is a pipe or a device, not a file: pipe it in (… | lade-chat ask). {escape}")
        if not path.is_file():
            if not re.search(r"[./~]", name):
                return None
            raise AttachmentError(f"There is no file {name}. {escape}")
        if path.stat().st_size > MAX_ATTACHMENT_BYTES:
            raise AttachmentError(f"{name} is too large to attach: {MAX_ATTACHMENT_BYTES // 1024} KiB at most.")
        data = path.read_bytes()
    except OSError as error:
        raise AttachmentError(f"{name} cannot be read: {error.strerror or error}.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise AttachmentError(f"{name} cannot be attached: it is not a text file in UTF-8.")
    return text.replace("\r\n", "\n")


def _block(file: Attachment) -> str:
    """Return the file between fences longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", file.text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if file.text.endswith("\n") or not file.text else "\n"
    return f"\n\nFile {file.name}:\n{fence}\n{file.text}{end}{fence}"
