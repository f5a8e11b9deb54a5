"""What can be completed in a prompt: a slash command and what may follow it, or the path of a file to attach."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lade_chat.tui.chat.commands import is_command, matching
from lade_chat.tui.chat.set_option import NAMES as OPTIONS
from lade_chat.tui.screens.manual_pages import NAMES as TOPICS
from lade_chat.tui.theme.palettes import NAMES as THEMES

MOST = 50
_MOST_READ = 5000
"""Entries of a folder that are looked at: the list has to be there before the next key."""
_PATH = re.compile(r"""(?<!\S)@(?:"([^"\n]*)|([^\s"@][^\s"]*)?)$""")


_ARGUMENTS = {
    "/help": TOPICS,
    "/copy": ("code", "all"),
    "/system": ("off",),
    "/set": OPTIONS,
    "/theme": THEMES,
    "/lookahead": ("on", "off"),
}
"""The words that can follow a command."""


class Completion(NamedTuple):
    """``text`` goes in place of what stands from ``start`` to the cursor; ``about`` is told beside it."""

    start: int
    text: str
    about: str = ""
    final: bool = True
    """Whether nothing is left to be completed after it."""


def completions(line: str, *, first_line: bool) -> list[Completion]:
    """What can follow ``line``, a line of the prompt up to the cursor."""
    if first_line and is_command(line) and not any(character.isspace() for character in line):
        return [
            Completion(0, f"/{command.name}", f"{command.takes} {command.does}".strip())
            for command in matching(line[1:])
        ]
    command, blank, begun = line.partition(" ")
    if first_line and blank and command in _ARGUMENTS:
        fitting = [word for word in _ARGUMENTS[command] if word.startswith(begun)]
        return [Completion(len(command) + 1, word) for word in fitting if word != begun]
    if first_line and blank and command == "/model":
        return _paths(begun, len(command) + 1, mention=False) if begun.startswith((".", "/", "~")) else []
    found = _PATH.search(line)
    return _paths(found[1] if found[1] is not None else found[2] or "", found.start()) if found else []


def _paths(begun: str, start: int, *, mention: bool = True) -> list[Completion]:
    folder, _, beginning = begun.rpartition("/")
    shown = f"{folder}/" if "/" in begun else ""
    try:
        with os.scandir(Path(shown or ".").expanduser()) as entries:
            names = [(entry.name, entry.is_dir()) for entry in islice(entries, _MOST_READ) if _fits(entry, beginning)]
    except (OSError, RuntimeError):  # no such folder, or no such user's home
        return []
    return [
        Completion(start, _mention(path) if mention else path, final=not is_folder)
        for name, is_folder in sorted(names, key=lambda each: (not each[1], each[0].lower()))[:MOST]
        for path in [f"{shown}{name}{'/' if is_folder else ''}"]
    ]


def _fits(entry: os.DirEntry[str], beginning: str) -> bool:
    hidden = entry.name.startswith(".") and not beginning.startswith(".")
    plain = entry.name.isprintable() and '"' not in entry.name
    return not hidden and plain and entry.name.lower().startswith(beginning.lower())


def _mention(path: str) -> str:
    """The path as it is typed; a folder's quotation stays open, so that its files can follow."""
    if not any(character.isspace() for character in path):
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'
