"""``lade-chat manual``: the chat's manual as Markdown, with the keys in force."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lade_chat.cli.flags.options import SHARED, SharedOptions
from lade_chat.cli.flags.shared import with_shared_options
from lade_chat.cli.running.process_exit import epilog
from lade_chat.errors import UsageError

EPILOG = epilog("""
lade-chat manual keys
lade-chat manual | less
""")


@with_shared_options(without=SHARED, settings=())
def manual(
    context: typer.Context,
    options: SharedOptions,
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="One page: keys, commands, models …")] = None,
) -> None:
    """Print the manual that F1 opens, or one page of it, as Markdown."""
    from lade_chat.tui.app.application import ChatApp
    from lade_chat.tui.chat.chat_screen import ChatScreen
    from lade_chat.tui.chat.slash_commands import COMMANDS
    from lade_chat.tui.key_map import KeyNames, default_keys, keymap_for
    from lade_chat.tui.screens.manual import NAMES, manual_pages, page_named

    usual = default_keys(ChatScreen, ChatApp)
    keys = KeyNames({**usual, **keymap_for(context.obj.keys, usual)[0]})
    pages = manual_pages(keys, commands=COMMANDS)
    page = page_named(pages, topic) if topic is not None else None
    if topic is not None and page is None:
        raise UsageError(f"The manual has no page '{topic}'. Choose from: {', '.join(NAMES)}.")
    sys.stdout.write("\n\n".join(each.text.strip() for each in ([page] if page else pages)) + "\n")
