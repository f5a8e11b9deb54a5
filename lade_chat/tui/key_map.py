"""The key map: the keys of the chat, which the settings change, and their names in texts.

A new key of the chat is a line here, an ``action_…`` of the chat's screen (or of the application), and a line of the
manual's ``keys.md``. Screens above the chat have ``BINDINGS`` of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from textual.binding import Binding, BindingType
from textual.widget import Widget

from lade_chat.settings.effective import nearest
from lade_chat.tui.terminal.textual_private import sent_key

_DISPLAYED = {
    "escape": "Esc",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "backspace": "Backspace",
    "delete": "Del",
    "insert": "Ins",
    "question_mark": "?",
    "slash": "/",
    "backslash": "\\",
    "grave_accent": "`",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
BROWSER_KEYS = {"toggle_lookahead": "f2", "race": "f3", "list_conversations": "f8", "settings": "f12"}
"""Keys beside their own that actions have in a browser, which keeps some keys for itself."""
_PLACE = re.compile(r"\{([a-z_]+)\}")


def _named(bindings: Iterable[Binding]) -> list[BindingType]:
    """Return the bindings, each with its action's name as its id unless the action has parameters."""
    return [each if "(" in each.action else replace(each, id=each.action.removeprefix("app.")) for each in bindings]


CHAT_KEYS: list[BindingType] = _named(
    [
        Binding("ctrl+l", "toggle_lookahead", "Lookahead", priority=True),
        Binding("ctrl+r", "race", "Race", priority=True),
        Binding("escape", "stop", "Stop", priority=True),
        Binding("f6", "restart", "Restart", priority=True),
        Binding("f1", "help", "Help", priority=True),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+d", "toggle_debug", "Debug", priority=True),
        Binding("f4", "turn_debug_page", "Debug page", priority=True, show=False),
        Binding("ctrl+n", "new_conversation", "New", priority=True),
        Binding("ctrl+t", "list_conversations", "Chats", priority=True),
        Binding("ctrl+o", "open_model", "Model", priority=True),
        Binding("ctrl+g", "edit_outside", "Editor", priority=True, show=False),
        Binding("f9", "pause", "Pause", priority=True, show=False),
        Binding("f10", "step_once", "Step", priority=True, show=False),
        Binding("left_square_bracket", "slower", "Slower", priority=True, show=False),
        Binding("right_square_bracket", "faster", "Faster", priority=True, show=False),
        Binding("f7", "toggle_view", "View", priority=True, show=False),
        Binding("f5", "toggle_thoughts", "Thoughts", priority=True, show=False),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("ctrl+end", "page(0)", show=False, priority=True),
    ]
)
APP_KEYS: list[BindingType] = _named(
    [
        Binding("ctrl+s", "settings", "Settings", priority=True, show=False),
        Binding("ctrl+b", "toggle_colours", "Colours", priority=True, show=False),
        Binding("ctrl+p", "command_palette", "Commands", priority=True, show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", priority=True, show=False),
    ]
)
"""In all screens."""

TYPED = ("enter", "space", "backspace")
"""Beside letters and digits, what no message can be written without."""


@dataclass(frozen=True)
class KeyNames:
    """The current keys as a user knows them; ``keys`` maps actions to keys as bindings write them."""

    keys: Mapping[str, str] = field(default_factory=dict)

    def first(self, action: str) -> str:
        """Return the action's main key. Raises KeyError."""
        return displayed(self.keys[action].split(",")[0])

    def put_into(self, text: str) -> str:
        """Replace ``{help}`` by F1. Raises KeyError."""
        return _PLACE.sub(lambda found: self.first(found[1]), text)


class _HasKeys(Protocol):
    key_names: KeyNames


def keys_of(widget: Widget) -> KeyNames:
    """Return the current keys of the widget's application."""
    return cast(_HasKeys, widget.app).key_names


def displayed(key: str) -> str:
    """Return a key as it is printed on a keyboard: Ctrl+L for ``ctrl+l``."""
    return "+".join(_DISPLAYED.get(part, part[:1].upper() + part[1:]) for part in key.strip().split("+"))


def default_keys(*classes: type) -> dict[str, str]:
    """Return the actions whose keys can be changed, with their default keys."""
    bindings = (binding for each in classes for binding in getattr(each, "BINDINGS", ()))
    return {each.id: each.key for each in bindings if isinstance(each, Binding) and each.id is not None}


def keymap_for(wanted: Mapping[str, str], usual: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the keymap, and a line for each change refused: no such action or key, a key in use or for typing."""
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in wanted.items():
        sent = {key: sent_key(key) for key in keys.split(",")}
        unknown = [key for key in sent if sent[key] is None]
        if name not in usual:
            near = nearest(name, usual)
            problems.append(f"[keys] has no action {name}{f'; did you mean {near}?' if near else ''}")
        elif unknown:
            written = "keys are written like ctrl+r, f11, pageup or question_mark"
            problems.append(f"[keys] {name}: there is no key {unknown[0]}; {written}")
        elif typed := [key for key in sent if sent[key] in TYPED or (len(key) == 1 and key.isalnum())]:
            problems.append(f"[keys] {name}: {typed[0]} is needed to write a message: give it another")
        else:
            keymap[name] = ",".join(filter(None, sent.values()))
    in_force = {**usual, **keymap}
    owner = {key: name for name, keys in in_force.items() if name not in keymap for key in keys.split(",")}
    for name, keys in list(keymap.items()):
        taken = [key for key in keys.split(",") if key in owner]
        if taken:
            problems.append(f"[keys] {name}: {taken[0]} belongs to {owner[taken[0]]}; give that another key too")
            del keymap[name]
        else:
            owner.update(dict.fromkeys(keys.split(","), name))
    return keymap, problems
