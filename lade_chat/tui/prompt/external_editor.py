"""The prompt's text in the user's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from lade_chat.errors import LadeChatError


def editor_command() -> list[str]:
    """Return the command in $VISUAL or $EDITOR, else an installed editor. Raises LadeChatError if there is none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(named)
    except ValueError:
        raise LadeChatError("$VISUAL or $EDITOR cannot be understood: a quotation mark is not closed.") from None
    if not command:
        command = [next((name for name in ("sensible-editor", "nano", "vi", "notepad") if shutil.which(name)), "")]
    if not shutil.which(command[0]):
        raise LadeChatError(f"There is no editor {command[0] or 'here'}. Set VISUAL or EDITOR.")
    return command


def edit(text: str, command: list[str]) -> str:
    """Have ``text`` edited and return it without trailing line breaks; blocks. Raises LadeChatError."""
    handle, name = tempfile.mkstemp(prefix="lade-chat-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        code = subprocess.run([*command, name], check=False).returncode
        if code:
            raise LadeChatError(f"{command[0]} ended with exit code {code}: the message is as it was.")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError as error:
        raise LadeChatError(f"{command[0]} cannot be run: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            path.unlink()
