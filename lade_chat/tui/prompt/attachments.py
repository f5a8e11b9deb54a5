"""Text files that go with a question: ``@notes.txt`` in what is typed attaches the file.

What the model gets, and the store keeps, is the text as it was typed and below it each file between fences;
``lade_chat.presentation.attachments`` tells both apart again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import Attachment

MOST_BYTES = 256 * 1024
"""More is no question: models of today would take minutes to read it."""
_MENTION = re.compile(r"""(?<!\S)@(?:"([^"\n]+)"|(\S+))""")
_LITERAL = re.compile(r"(?<!\S)@@")


class AttachmentError(LadeChatError):
    """A file cannot be attached."""


def attach(typed: str) -> str:
    """What is asked: the text with the files that it mentions. Raises AttachmentError.

    ``@`` and a name that is no file and does not look like one (a dot, a slash) stays as it is, and so does what
    begins with ``@@``, which loses one ``@``.
    """
    names = dict.fromkeys(quoted or _without_signs(name) for quoted, name in _MENTION.findall(typed))
    files = [Attachment(name, text) for name in names if (text := _text_of(name)) is not None]
    return _LITERAL.sub("@", typed) + "".join(_block(file) for file in files)


def _without_signs(name: str) -> str:
    """The name without the full stop, or the like, of the sentence that it ends; unless there is such a file."""
    bare = name.rstrip(".,;:!?)]}'\"")
    return name if os.path.lexists(os.path.expanduser(name)) else bare


def _text_of(name: str) -> str | None:
    """The file's text; None where the name does not mean one."""
    if not name or name.startswith("@"):
        return None
    path = Path(name).expanduser()
    way_on = f"Write @@{name} to send the words as they are."
    try:
        if path.is_dir():
            raise AttachmentError(f"{name} is a folder: attach a file in it. {way_on}")
        if path.exists() and not path.is_file():
            raise AttachmentError(f"{name} is a pipe or a device, not a file: pipe it in (… | lade-chat ask). {way_on}")
        if not path.is_file():
            if not re.search(r"[./~]", name):
                return None
            raise AttachmentError(f"There is no file {name}. {way_on}")
        if path.stat().st_size > MOST_BYTES:
            raise AttachmentError(f"{name} is too large to attach: {MOST_BYTES // 1024} KiB at most.")
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
    """The file between fences longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", file.text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if file.text.endswith("\n") or not file.text else "\n"
    return f"\n\nFile {file.name}:\n{fence}\n{file.text}{end}{fence}"
