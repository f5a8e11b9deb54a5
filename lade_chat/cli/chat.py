"""``lade-chat`` itself: opens the chat, with the engine in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lade_chat.cli.options import SharedOptions

if TYPE_CHECKING:
    from lade_chat.tui.preferences import Preferences

FAILURE = 1


def open_chat(
    options: SharedOptions, data_dir: Path | None, preferences: Preferences, *, resume: str | None, latest: bool
) -> int:
    """Open the chat and return the exit code."""
    from lade_chat.engine.client import EngineClient
    from lade_chat.store.store import Store
    from lade_chat.tui.app import ChatApp
    from lade_chat.tui.start import Start

    engine, store = EngineClient(), Store(data_dir)
    try:
        chat_app = ChatApp(
            engine,
            options.model(),
            options.decoding(),
            system=options.system,
            debug=options.debug,
            store=store,
            start=Start(latest=latest, wanted=resume),
            preferences=preferences,
        )
        chat_app.run()
    finally:
        engine.close()
    if store.unsaved:
        sys.stderr.write(f"error: not everything was saved: {chat_app.chat_screen.keeper.trouble}\n")
        return FAILURE
    return chat_app.return_code or 0
