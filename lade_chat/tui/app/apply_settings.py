"""Changed settings, obeyed by a chat that is open already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.kinds import as_text
from lade_chat.tui.chat.set_option import NAMES, with_option

if TYPE_CHECKING:
    from lade_chat.tui.chat.screen import ChatScreen
    from lade_chat.tui.screens.settings import Changes


def settle(screen: ChatScreen, changes: Changes) -> None:
    """Have these count from the next reply on; the system prompt counts from the next conversation on."""
    options = screen.chat.options
    # What the others go over comes first.
    for name in sorted(changes, key=lambda name: name != "sampling"):
        value = changes[name]
        if name in NAMES:
            options, _told = with_option(options, name, "" if value is None else as_text(value))
    if options != screen.chat.options:
        screen.chat.set_options(options)
    wanted = changes.get("lookahead", options.lookahead)
    if (DecodingOptions().lookahead if wanted is None else wanted) is not options.lookahead:
        screen.chat.toggle_lookahead()
    if "system" in changes:
        system = changes["system"]
        screen.chat.conversation.system = system if isinstance(system, str) else None
