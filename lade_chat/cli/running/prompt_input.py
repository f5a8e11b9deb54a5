"""What is asked: the words of the command line, and what comes through a pipe."""

from __future__ import annotations

import sys
from threading import Timer

from lade_chat.cli.flags.usage import usage
from lade_chat.presentation.metrics import counted
from lade_chat.tui.prompt.attachments import attach

NO_CHARACTER = "\ufffd"
_PATIENCE = 2.0
"""Seconds after which somebody is told what is waited for."""


def read_prompt(prompt: str | None, *, raw: bool) -> str:
    """``prompt``, an empty line, and what comes through a pipe; either alone where there is no other.

    In ``prompt`` ``@notes.txt`` attaches a file, as in the chat, but not if it is ``raw``. What comes through a pipe
    is left as it is; what is no UTF-8 in it is told on stderr. Raises a usage error, or AttachmentError.

    ``-`` as a prompt stands for what comes through the pipe (or is typed) alone. Line breaks at the end of that are
    left out, unless the bare text is gone on from.
    """
    if prompt is None and sys.stdin is not None and sys.stdin.isatty():
        raise usage("a prompt is missing: give one as an argument or through a pipe")
    if sys.stdin is None and prompt in (None, "-"):
        raise usage("a prompt is missing, and standard input is closed")
    piped = ""
    if sys.stdin is not None and (prompt in (None, "-") or not sys.stdin.isatty()):
        piped = _all_of_stdin()
        piped = piped if raw else piped.rstrip("\r\n")
    said = "" if prompt is None or prompt == "-" else prompt
    said = said if raw else attach(said)
    parts = [part for part in (said, piped) if part.strip()]
    if not parts:
        raise usage("the prompt is empty")
    return "\n\n".join(parts)


def _all_of_stdin() -> str:
    """Whoever started this may have left a pipe open that nothing comes through: then a line says so."""
    line = "reading standard input until it ends (there is none with < /dev/null)\n"
    timer = Timer(_PATIENCE, lambda: sys.stderr.write(line))
    timer.daemon = True
    if not sys.stdin.isatty():
        timer.start()
    try:
        data = sys.stdin.buffer.read()
    finally:
        timer.cancel()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        sys.stderr.write(
            f"warning: what comes through the pipe is no UTF-8 text (first at byte {error.start}):"
            f" {counted(text.count(NO_CHARACTER), 'place')} in it read as {NO_CHARACTER}\n"
        )
        return text
