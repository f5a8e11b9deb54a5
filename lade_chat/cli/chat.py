"""``lade-chat`` itself: opens the chat, with the engine in a process of its own."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lade_chat.cli.flags.shared import SharedOptions

if TYPE_CHECKING:
    from lade_chat.tui.app.preferences import Preferences

FAILURE = 1


def open_chat(
    options: SharedOptions,
    data_dir: Path | None,
    preferences: Preferences,
    *,
    resume: str | None,
    latest: bool,
    engine: str | None = None,
) -> int:
    """Open the chat and return the exit code. ``engine``: ``module:factory`` of another engine than the chat's."""
    from lade_chat.cli.running.shutdown import end_in_time
    from lade_chat.engine.process.client import EngineClient
    from lade_chat.store.store import Store
    from lade_chat.tui.app.application import ChatApp
    from lade_chat.tui.conversations.conversation_session import Start

    client, store = EngineClient(engine), Store(data_dir)
    try:
        chat_app = ChatApp(
            client,
            options.model(),
            options.decoding(),
            system=options.system,
            debug=options.debug,
            store=store,
            start=Start(latest, resume, options.system if preferences.origins.get("system") == "flag" else None),
            preferences=preferences,
        )
        end_in_time(chat_app.ending, lambda: chat_app.return_code or 0)
        chat_app.run()
    finally:
        client.close()
    if store.unsaved:
        with suppress(OSError):  # the terminal may be what is gone
            sys.stderr.write(f"error: not everything was saved: {chat_app.chat_screen.store_worker.trouble}\n")
        return FAILURE
    return chat_app.return_code or 0
