"""Reads the settings in force in an open chat, and applies changes to them.

A setting of the chat alone is an entry in `lade_chat/settings/catalogue.py` and one in ``CHAT_SETTINGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.kinds import Value, as_text
from lade_chat.tui.chat.screen import ChatScreen
from lade_chat.tui.control.sampling import NAMES as OPTIONS
from lade_chat.tui.control.sampling import SAMPLING_FIELDS, with_option
from lade_chat.tui.screens.settings import Changes


@dataclass(frozen=True)
class ChatSetting:
    """A setting that only the open chat has: how to read it there, and how to change it."""

    value: Callable[[ChatScreen], Value]
    change: Callable[[ChatScreen, Value], None]


CHAT_SETTINGS: dict[str, ChatSetting] = {
    "read_ahead": ChatSetting(
        lambda screen: screen.chat.ahead.enabled,
        lambda screen, value: setattr(screen.chat.ahead, "enabled", value),
    ),
    "sidebar": ChatSetting(
        lambda screen: screen.side_bar.wanted,
        lambda screen, value: setattr(screen.side_bar, "wanted", value),
    ),
}


def change_chat_settings(screen: ChatScreen, values: Mapping[str, Value | None]) -> None:
    """Apply those of ``values`` that are the chat's own settings; None restores the default."""
    for name, setting in CHAT_SETTINGS.items():
        if name in values:
            given, default = values[name], SETTINGS[name].default
            assert default is not None
            setting.change(screen, default if given is None else given)


def values_in_force(screen: ChatScreen, theme: str, colours: str) -> dict[str, str]:
    """Return each setting's present value, as the settings screen shows it."""
    chat = screen.chat
    options, sampling = chat.options, chat.state.sampling
    values: dict[str, Value | None] = {
        "theme": theme,
        "colours": colours,
        "system": chat.conversation.system,
        "max_new_tokens": options.max_new_tokens,
        "lookahead": options.lookahead,
        "debug": options.debug,
        **{name: setting.value(screen) for name, setting in CHAT_SETTINGS.items()},
        "sampling": "greedy" if sampling is None else "model" if sampling.from_model else None,
    }
    if sampling is not None:
        values |= {name: getattr(sampling, name) for name in SAMPLING_FIELDS}
    return {name: as_text(value).replace("\n", " | ") for name, value in values.items() if value is not None}


def apply_changes(screen: ChatScreen, changes: Changes, prompts: Mapping[str, str]) -> None:
    """Apply changes from the next reply on; the system prompt, or its name, from the next conversation on."""
    chat = screen.chat
    options = chat.options
    # "sampling" comes first, as it replaces the values that the others set; a temperature of 0 ends them all.
    for name in sorted(changes, key=lambda name: (name != "sampling", name == "temperature")):
        value = changes[name]
        if name in OPTIONS:
            options, _report = with_option(options, name, "" if value is None else as_text(value))
    if options != chat.options:
        chat.set_options(options)
    lookahead = changes.get("lookahead", options.lookahead)
    if (DecodingOptions().lookahead if lookahead is None else lookahead) is not options.lookahead:
        chat.controls.toggle_lookahead()
    change_chat_settings(screen, changes)
    if "system" in changes:
        system = changes["system"]
        chat.conversation.system = prompts.get(system, system) if isinstance(system, str) else None
