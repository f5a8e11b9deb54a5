"""Reads the settings in force in an open chat, and applies changes to them.

A setting of the chat alone is an entry in `lade_chat/settings/catalogue.py` and one in ``CHAT_SETTINGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.catalogue import SETTINGS, Value, as_text
from lade_chat.settings.decoding_options import NAMES as OPTIONS
from lade_chat.settings.decoding_options import SAMPLING_FIELDS, with_option
from lade_chat.tui.chat.decisions import controls
from lade_chat.tui.chat.decisions.navigation import instruct
from lade_chat.tui.chat.screen import ChatScreen
from lade_chat.tui.screens.settings import Changes, SettingsScreen


@dataclass(frozen=True)
class ChatSetting:
    """A setting that only the open chat has: how to read it there, and how to change it."""

    value: Callable[[ChatScreen], Value]
    change: Callable[[ChatScreen, Value], None]


CHAT_SETTINGS: dict[str, ChatSetting] = {
    "read_ahead": ChatSetting(
        lambda screen: screen.state.reads_ahead,
        lambda screen, value: screen.decide(controls.set_read_ahead, bool(value)),
    ),
    "open_thoughts": ChatSetting(
        lambda screen: screen.transcript.thoughts_open,
        lambda screen, value: screen.transcript.open_thoughts(bool(value)),
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
    state = screen.state
    options, sampling = state.options, state.sampling
    values: dict[str, Value | None] = {
        "theme": theme,
        "colours": colours,
        "system": state.system,
        "max_new_tokens": options.max_new_tokens,
        "think": options.think,
        "max_thought_tokens": options.max_thought_tokens,
        "lookahead": options.lookahead,
        "debug": options.debug,
        **{name: setting.value(screen) for name, setting in CHAT_SETTINGS.items()},
        "sampling": "greedy" if sampling is None else "model" if sampling.from_model else None,
    }
    if sampling is not None:
        values |= {name: getattr(sampling, name) for name in SAMPLING_FIELDS}
    return {name: as_text(value).replace("\n", " | ") for name, value in values.items() if value is not None}


def settings_screen(screen: ChatScreen, themes: list[str], theme: str, colours: str) -> SettingsScreen:
    """Return the settings screen, with what the loaded model has no use for disabled."""
    refusal = screen.state.refusal_to_switch_thinking()
    refusals = {"think": ("this model has no switch", refusal)} if refusal else {}
    return SettingsScreen(screen.preferences, themes, values_in_force(screen, theme, colours), refusals)


def apply_changes(screen: ChatScreen, changes: Changes, prompts: Mapping[str, str]) -> None:
    """Apply changes from the next reply on; the system prompt, or its name, from the next conversation on."""
    options = screen.state.options
    # "sampling" comes first, as it replaces the values that the others set; a temperature of 0 ends them all.
    for name in sorted(changes, key=lambda name: (name != "sampling", name == "temperature")):
        value = changes[name]
        if name in OPTIONS:
            options, _report = with_option(options, name, "" if value is None else as_text(value))
    if options != screen.state.options:
        screen.decide(controls.set_options, options)
    lookahead = changes.get("lookahead", options.lookahead)
    if (DecodingOptions().lookahead if lookahead is None else lookahead) is not options.lookahead:
        screen.decide(controls.switch_lookahead)
    change_chat_settings(screen, changes)
    if "system" in changes:
        system = changes["system"]
        screen.decide(instruct, prompts.get(system, system) if isinstance(system, str) else None)
