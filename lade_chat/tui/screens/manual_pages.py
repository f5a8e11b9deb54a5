"""The manual's pages: Markdown files filled in with the keys in force and the application's lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lade_chat.presentation.metric_help import METRIC_HELP
from lade_chat.presentation.sources import ORIGINS
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.prompt.completion import CompletableCommand
from lade_chat.tui.terminal.key_names import BROWSER_KEYS, KeyNames, displayed

NAMES = (
    "keys",
    "commands",
    "conversations",
    "attachments",
    "settings",
    "sampling",
    "models",
    "lookahead",
    "metrics",
    "web",
    "pipes",
    "pictures",
)
"""In the order in which they are listed; each is a file, and what ``/help`` calls the page."""
_FOLDER = Path(__file__).parent / "manual_text"
_TERM = re.compile(r"^\| ((?:[^|\\\n]|\\.)*[^|\\\s]) \|", re.MULTILINE)
"""The first cell of a table's row: the term that it explains."""


class ManualPage(NamedTuple):
    """``text`` is Markdown."""

    name: str
    text: str

    def holds(self, words: Sequence[str]) -> bool:
        """Return whether the page contains all of the words (lower case)."""
        text = self.text.lower()
        return all(word in text for word in words)

    def is_about(self, words: Sequence[str]) -> bool:
        """Return whether all of the words (lower case) stand in its name, a heading or the head of a table's row."""
        heads = re.findall(r"^#+ (.*)$|^\| \*\*(.*?)\*\* \|", self.text.lower(), re.MULTILINE)
        places = [self.name, *(heading or term for heading, term in heads)]
        return any(all(word in place for word in words) for place in places)


def manual_pages(
    keys: KeyNames, model: ModelInfo | None = None, commands: Sequence[CompletableCommand] = ()
) -> tuple[ManualPage, ...]:
    """Return all pages with the current keys, the loaded model, and a list of the slash commands."""
    lists = {
        "{commands}": _table([(f"/{each.name} {each.takes}".strip(), each.does) for each in commands]),
        "{actions}": _table([(action, keys.first(action)) for action in keys.keys]),
        "{browser_keys}": ", ".join(f"{displayed(key)} is {keys.first(name)}" for name, key in BROWSER_KEYS.items()),
        "{origins}": _table([*ORIGINS.items()]),
        "{metrics}": _table([*METRIC_HELP.items()]),
        "{model}": f"{model.name} runs on {model.device} in {model.dtype}." if model is not None else "",
    }
    return tuple(_page(name, keys, lists) for name in NAMES)


def page_named(pages: Sequence[ManualPage], topic: str) -> ManualPage | None:
    """The page that is called so, or begins so; None if there is none."""
    begun = topic.strip().lower()
    return next((page for page in pages if begun and page.name.startswith(begun)), None)


def _page(name: str, keys: KeyNames, lists: dict[str, str]) -> ManualPage:
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for place, listed in lists.items():
        text = text.replace(place, listed)
    text = re.sub(r"\n{3,}", "\n\n", text)  # where no model is loaded
    return ManualPage(name, _TERM.sub(r"| **\1** |", keys.put_into(text)))


def _table(rows: Sequence[tuple[str, str]]) -> str:
    """A table without headings."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(["| | |", "|---|---|", *(f"| {line} |" for line in lines)])
