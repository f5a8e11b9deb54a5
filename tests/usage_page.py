"""The document of usage, written from the manual's pages: ``python -m tests.usage_page`` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_screen import ChatScreen
from lade_chat.tui.chat.slash_commands import COMMANDS
from lade_chat.tui.key_map import KeyNames, default_keys
from lade_chat.tui.screens.manual import ManualPage, manual_pages

PAGE = Path(__file__).parents[1] / "assets" / "docs" / "usage.md"
HEAD = """# Using lade-chat

The chat's manual, with its usual keys: F1 opens it in the chat, where it can be searched, and `lade-chat manual` prints
it with the keys in force."""


def usage() -> str:
    """Return the document: the manual's pages, each a section, below links to them."""
    pages = manual_pages(KeyNames(default_keys(ChatScreen, ChatApp)), commands=COMMANDS)
    sections = (re.sub(r"^#", "##", page.text.strip(), flags=re.MULTILINE) for page in pages)
    return "\n\n".join((HEAD, " ·\n".join(map(_link, pages)), *sections)) + "\n"


def _link(page: ManualPage) -> str:
    title = page.text.partition("\n")[0].removeprefix("# ")
    return f"[{title}](#{re.sub(r'[^a-z -]', '', title.lower()).replace(' ', '-')})"


if __name__ == "__main__":
    PAGE.write_text(usage(), encoding="utf-8")
