"""The prompt: an argument of the command line, and what comes through a pipe."""

from __future__ import annotations

import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from threading import Timer

from lade_chat.cli.flags.usage_errors import usage
from lade_chat.errors import LadeChatError
from lade_chat.paths import SURROGATES, read_stream
from lade_chat.presentation.attachments import attach
from lade_chat.presentation.metric_words import counted

REPLACEMENT = "\ufffd"
_BYTE_ORDER_MARK = "\ufeff"
NOTICE_SECONDS = 2.0
"""A pipe that is silent for this long gets a line on stderr."""


def read_prompt(prompt: str | None, *, raw: bool) -> str:
    """Return ``prompt``, an empty line and the piped text, or either alone.

    ``-`` as a prompt means the piped (or typed) text alone. Unless ``raw``, ``@notes.txt`` in ``prompt`` attaches a
    file as in the chat, and the piped text is read as such a file is: without a byte order mark, with one character for
    each line break. Line breaks at its end are dropped. Bytes that are not UTF-8 are reported. Raises a usage error, or
    LadeChatError.
    """
    if prompt is None and sys.stdin is not None and sys.stdin.isatty():
        raise usage("a prompt is missing: give one as an argument or through a pipe")
    if sys.stdin is None and prompt in (None, "-"):
        raise usage("a prompt is missing, and standard input is closed")
    piped = ""
    if sys.stdin is not None and (prompt in (None, "-") or not sys.stdin.isatty()):
        piped = _all_of_stdin()
        piped = piped if raw else piped.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n").rstrip("\r\n")
    said = "" if prompt is None or prompt == "-" else prompt
    said, wrong = SURROGATES.subn(REPLACEMENT, said if raw else attach(said))
    if wrong:
        _warn("the prompt is not UTF-8", wrong)
    parts = [part for part in (said, piped) if part.strip()]
    if not parts:
        raise usage("the prompt is empty")
    return "\n\n".join(parts)


def _all_of_stdin() -> str:
    # The caller may have left a pipe open that nothing comes through.
    line = "reading standard input until it ends (< /dev/null gives it none)\n"
    timer = Timer(NOTICE_SECONDS, lambda: sys.stderr.write(line))
    timer.daemon = True
    if not sys.stdin.isatty():
        timer.start()
    try:
        data = read_stream(sys.stdin.buffer, "The piped text", "no model reads so much")
    finally:
        timer.cancel()
    if b"\0" in data or data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise LadeChatError("The piped text is UTF-16 or no text at all: it must be UTF-8, as from iconv -t utf-8.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        _warn(f"the piped text is not UTF-8 (first at byte {error.start})", text.count(REPLACEMENT))
        return text


def _warn(wrong: str, places: int) -> None:
    sys.stderr.write(f"warning: {wrong}: {counted(places, 'place')} in it read as {REPLACEMENT}\n")
