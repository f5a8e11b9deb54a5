"""Settings of an open chat: read, applied, and kept for next time, written in the store's thread.

A setting of the chat alone is an entry in `lade_chat/settings/catalogue.py` and one in ``CHAT_SETTINGS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.catalogue import SETTINGS, Value, as_text
from lade_chat.settings.decoding_options import NAMES as OPTIONS
from lade_chat.settings.decoding_options import SAMPLING_FIELDS, with_option
from lade_chat.settings.effective import Preferences
from lade_chat.settings.file import SettingsError
from lade_chat.tui.chat.decisions import controls
from lade_chat.tui.chat.decisions.navigation import instruct
from lade_chat.tui.chat.effects import Change
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.conversations.store_worker import StoreTask
from lade_chat.tui.screens.settings import Changes, SettingsScreen
from lade_chat.tui.theme.colouring import view_of

SYSTEM_WORDS = ("off", "save")
"""Words that cannot be the name of a system prompt."""
OPTIONS_SHOWN = ("max_new_tokens", "think", "max_thought_tokens", "lookahead", "debug")


@dataclass(frozen=True)
class ChatSetting:
    """A setting that only the open chat has: how to read it there, and how to change it."""

    value: Callable[[LoopScreen], Value]
    change: Callable[[LoopScreen, Value], None]


CHAT_SETTINGS: dict[str, ChatSetting] = {
    "read_ahead": ChatSetting(
        lambda screen: screen.state.reads_ahead,
        lambda screen, value: screen.decide(Change.set, reads_ahead=bool(value)),
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


def change_chat_settings(screen: LoopScreen, values: Mapping[str, Value | None]) -> None:
    """Apply those of ``values`` that are the chat's own settings; None restores the default."""
    for name, setting in CHAT_SETTINGS.items():
        if name in values:
            given, default = values[name], SETTINGS[name].default
            assert default is not None
            setting.change(screen, default if given is None else given)


def values_in_force(screen: LoopScreen) -> dict[str, str]:
    """Return each setting's present value, as the settings screen shows it."""
    state = screen.state
    options, sampling = state.options, state.sampling
    values: dict[str, Value | None] = {
        "theme": screen.app.theme,
        "colours": view_of(screen),
        "system": state.system,
        **{name: getattr(options, name) for name in OPTIONS_SHOWN},
        **{name: setting.value(screen) for name, setting in CHAT_SETTINGS.items()},
        "sampling": "greedy" if sampling is None else "model" if sampling.from_model else None,
    }
    if sampling is not None:
        values |= {name: getattr(sampling, name) for name in SAMPLING_FIELDS}
    return {name: as_text(value).replace("\n", " | ") for name, value in values.items() if value is not None}


def settings_screen(screen: LoopScreen) -> SettingsScreen:
    """Return the settings screen, with what the loaded model has no use for disabled."""
    refusal = screen.state.refusal_to_switch_thinking()
    refusals = {"think": ("this model has no switch", refusal)} if refusal else {}
    return SettingsScreen(screen.preferences, values_in_force(screen), refusals)


def apply_changes(screen: LoopScreen, changes: Changes, prompts: Mapping[str, str]) -> None:
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


def keep(screen: LoopScreen, values: Mapping[str, Value | None], then: StoreTask = lambda: None) -> None:
    """Keep settings; ``then`` is called once they are saved."""
    kept = screen.preferences
    before = {name: kept.file_values.get(name) for name in values}
    screen.preferences = kept.with_values(values)
    _save(screen, partial(kept.save, values), then, lambda now: now.with_values(before))


def keep_prompt(screen: LoopScreen, name: str, text: str) -> None:
    """Keep a system prompt by its name, and say so once it is saved."""
    kept = screen.preferences
    screen.preferences = kept.with_prompt(name, text)
    offer_names(screen)
    hint = partial(screen.hint, f"Saved: /system {name}, or --system {name}, sets this prompt.")
    _save(screen, partial(kept.save_prompt, name, text), hint, lambda now: replace(now, prompts=kept.prompts))


def offer_names(screen: LoopScreen) -> None:
    """Have the prompt complete the names that the settings give to models and system prompts."""
    screen.prompt.offer("model", *screen.preferences.aliases)
    screen.prompt.offer("system", *SYSTEM_WORDS, *screen.preferences.prompts)


def _save(screen: LoopScreen, write: StoreTask, then: StoreTask, undone: Callable[[Preferences], Preferences]) -> None:
    """Write, then call ``then``; where that fails, take the change back and say why."""

    def work() -> str:
        try:
            write()
        except SettingsError as error:
            return str(error)
        return ""

    def done(problem: str) -> None:
        if not problem:
            then()
            return
        screen.preferences = undone(screen.preferences)
        offer_names(screen)
        screen.transcript.note(problem, is_error=True)

    screen.store_worker.look_up(work, done)
