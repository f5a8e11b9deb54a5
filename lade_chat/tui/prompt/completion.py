"""Completion in the prompt: slash commands, their arguments, and paths of files to attach."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.paths import expanded

MAX_COMPLETIONS = 50
_MAX_READ = 5000
"""Limit on the entries of a folder that are read: the list has to be there before the next key."""
_NOT_TEXT = (
    *(".bin", ".gguf", ".gif", ".gz", ".jpeg", ".jpg", ".mp3", ".mp4", ".pdf", ".png", ".pt", ".pyc", ".safetensors"),
    *(".so", ".tar", ".webp", ".zip"),
)
"""Suffixes of files that cannot be attached, and are not offered."""
_PATH = re.compile(r"""(?<!\S)@(?:"([^"\n]*)|([^\s"@][^\s"]*)?)$""")
NAME_WIDTH = 12
MAX_ROWS = 7
OTHER_ROWS = 8
"""Rows that a list leaves: two of the transcript, header, status, a prompt of one line, and footer."""


@dataclass(frozen=True)
class CompletableCommand:
    """A slash command as far as the prompt needs it; optional arguments are in brackets."""

    name: str
    takes: str
    does: str
    _: KW_ONLY
    words: Sequence[str] = ()
    """Arguments that are offered; without them those that ``takes`` has in small letters."""
    takes_path: bool = False

    @property
    def offered(self) -> Sequence[str]:
        written = (each.split()[0] for each in self.takes.strip("[]").split("|") if each[:1].islower())
        return self.words or tuple(written)


class Completion(NamedTuple):
    """``text`` replaces the line from ``start`` to the cursor; ``about`` is shown beside it."""

    start: int
    text: str
    about: str = ""
    final: bool = True
    """False if more can be completed after it."""
    is_command: bool = False
    """True for a command's name, which is run as soon as it is picked."""


def is_typed_whole(typed: str, first: Completion) -> bool:
    """Return True where Enter takes what was typed as it is, unless a completion is picked; ``first`` is the first."""
    if first.is_command or not typed:
        return True
    return not typed.startswith("@") and (typed.endswith("/") or f"{typed}/" == first.text)


def is_command(text: str) -> bool:
    """Return True for a slash command, even after blanks; two slashes begin ordinary text."""
    text = text.lstrip()
    return text.startswith("/") and not text.startswith("//")


def unescaped(text: str) -> str:
    """Return ordinary text, without the first of two leading slashes."""
    return text[1:] if text.startswith("//") else text


def completions(line: str, commands: Sequence[CompletableCommand], *, first_line: bool) -> list[Completion]:
    """Return what can follow ``line``, a line of the prompt up to the cursor."""
    indent = len(line) - len(line.lstrip())
    if first_line and is_command(line) and indent:
        behind = completions(line[indent:], commands, first_line=True)
        return [each._replace(start=each.start + indent) for each in behind]
    if first_line and is_command(line) and not any(character.isspace() for character in line):
        return [
            Completion(0, f"/{command.name}", f"{command.takes} {command.does}".strip(), is_command=True)
            for command in commands
            if command.name.startswith(line[1:].lower())
        ]
    name, _, argument = line.partition(" ")
    command = next((each for each in commands if first_line and line.startswith(f"/{each.name} ")), None)
    if command is not None and command.takes_path and argument.startswith((".", "/", "~")):
        return _paths(argument, len(name) + 1, mention=False)
    if command is not None and (command.offered or command.takes_path):
        # Enter takes a word that was typed whole as it is, though longer ones begin with it.
        words = () if argument in command.offered else command.offered
        matching = [word for word in words if word.startswith(argument)]
        return [Completion(len(name) + 1, word) for word in matching]
    found = _PATH.search(line)
    return _paths(found[1] if found[1] is not None else found[2] or "", found.start()) if found else []


def _paths(typed: str, start: int, *, mention: bool = True) -> list[Completion]:
    folder, _, beginning = typed.rpartition("/")
    shown = f"{folder}/" if "/" in typed else ""
    try:
        with os.scandir(expanded(shown or ".")) as entries:
            matching = (entry for entry in islice(entries, _MAX_READ) if _matches(entry, beginning))
            names = [(entry.name, entry.is_dir()) for entry in matching]
    except (OSError, ValueError):  # no such folder, or not a possible path
        return []
    if mention:
        names = [each for each in names if each[1] or Path(each[0]).suffix.lower() not in _NOT_TEXT]
    return [
        Completion(start, _mention(path) if mention else path, final=not is_folder)
        for name, is_folder in sorted(names, key=lambda each: (not each[1], each[0].lower()))[:MAX_COMPLETIONS]
        for path in [f"{shown}{name}{'/' if is_folder else ''}"]
    ]


def _matches(entry: os.DirEntry[str], beginning: str) -> bool:
    hidden = entry.name.startswith(".") and not beginning.startswith(".")
    plain = entry.name.isprintable() and '"' not in entry.name
    return not hidden and plain and entry.name.lower().startswith(beginning.lower())


def _mention(path: str) -> str:
    """Return the path as it is typed; quotation marks stay open after a folder, so that its files can follow."""
    if not any(character.isspace() for character in path):
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'


class CompletionList(OptionList, can_focus=False):
    """Shown only while there is something to choose; the prompt keeps the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._offered: list[Completion] = []
        self._highlights = True
        self.display = False

    def limit_height(self, screen_rows: int) -> None:
        """Leave the prompt on the screen, however small that is."""
        self.styles.max_height = max(1, min(MAX_ROWS, screen_rows - OTHER_ROWS))

    def offer(self, found: Sequence[Completion], *, highlight: bool = True) -> None:
        """Show these completions, the first highlighted or none yet; hide the list if there are none."""
        offered, self._highlights = (self._offered, self._highlights), highlight
        if (list(found), highlight) == offered:
            return
        self._offered = list(found)
        self.clear_options()
        self.add_options(Option(_row(each)) for each in found)
        self.highlighted = 0 if found and highlight else None
        self.display = bool(found)

    def close(self) -> bool:
        """Hide the list; False if it was hidden already."""
        was_open = self.display
        self.display = False
        return was_open

    def pick(self) -> None:
        """Highlight the first completion if none is, and show the list again if it was closed."""
        self.display = bool(self._offered)
        if self.highlighted is None and self._offered:
            self.highlighted = 0

    @property
    def chosen(self) -> Completion | None:
        """The highlighted completion; None while none is, or the list is hidden."""
        place = self.highlighted
        return self._offered[place] if self.display and place is not None else None


def _row(completion: Completion) -> Content:
    if not completion.about:
        return Content(completion.text)
    return Content.assemble(f"{completion.text:<{NAME_WIDTH}} ", (completion.about, "dim"))
