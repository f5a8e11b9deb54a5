"""The chat of one browser tab, started by the web server with its options in the environment."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from lade_chat.child_processes import limit_spinning
from lade_chat.errors import LadeChatError
from lade_chat.presentation.token_looks import ColourView
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import SettingSource, load

TAB = "_LADE_CHAT_TAB"
"""The environment variable."""


class TabOptions(msgspec.Struct, frozen=True):
    """The options of ``lade-chat web``; None as ``theme`` or ``colours`` means that of the settings."""

    model: ModelOptions
    decoding: DecodingOptions
    system: str | None = None
    theme: str | None = None
    colours: ColourView | None = None
    data_dir: str | None = None
    remember: bool = True
    origins: dict[str, SettingSource] = {}


def main() -> None:
    """Run the chat. Ends the process."""
    limit_spinning()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the server's terminal reaches the server alone
    try:
        sys.exit(_run(msgspec.json.decode(os.environ.pop(TAB).encode(), type=TabOptions)))
    except LadeChatError as error:
        sys.exit(f"error: {error}")


def _run(tab: TabOptions) -> int:
    from lade_chat.cli.running.process_exit import end_in_time
    from lade_chat.engine.process.client import RemoteEngine
    from lade_chat.engine.sharing.address import Address
    from lade_chat.settings.effective import Preferences
    from lade_chat.store.all_conversations import Store
    from lade_chat.tui.app.application import ChatApp

    settings = load()
    theme = settings.get("theme")
    app = ChatApp(
        RemoteEngine(Address.of_environment()),
        tab.model,
        tab.decoding,
        system=tab.system,
        store=Store(Path(tab.data_dir) if tab.data_dir else None, remember=tab.remember),
        preferences=Preferences.of(
            settings, tab.origins, tab.theme or (theme if isinstance(theme, str) else None), tab.colours
        ),
    )
    end_in_time(app.ending, lambda: app.return_code or 0)
    app.run()
    return app.return_code or 0
