"""Clipboard: OSC 52 through the terminal, and the system's clipboard where a tool is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress

from markdown_it import MarkdownIt

PATIENCE_SECONDS = 2.0


def code_blocks(text: str) -> list[str]:
    """Return the contents of a text's fenced code blocks."""
    return [token.content.rstrip("\n") for token in MarkdownIt().parse(text) if token.type == "fence"]


def clipboard_tool() -> list[str] | None:
    """The command that takes text for the system's clipboard; None where the terminal has to do it."""
    tools: list[list[str]] = []
    if sys.platform == "darwin":
        tools = [["pbcopy"]]
    elif sys.platform == "win32":
        tools = [["clip"]]
    elif os.environ.get("WAYLAND_DISPLAY"):
        tools = [["wl-copy"]]
    elif os.environ.get("DISPLAY"):
        tools = [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return next((tool for tool in tools if shutil.which(tool[0])), None)


def to_system_clipboard(text: str) -> None:
    """Copy a text to the system's clipboard if a tool is installed. Blocks: call it in a thread."""
    tool = clipboard_tool()
    if tool is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            tool,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,  # xclip stays behind and would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
