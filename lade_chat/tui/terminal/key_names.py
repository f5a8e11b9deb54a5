"""The keys of each action: changed by the settings, and named in texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from textual.binding import Binding, BindingType
from textual.widget import Widget

from lade_chat.settings.settings import nearest

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


def named(bindings: Iterable[BindingType]) -> list[BindingType]:
    """Return the bindings, each with its action's name as its id unless the action has parameters."""
    return [_named(binding) for binding in bindings]


def default_keys(*classes: type) -> dict[str, str]:
    """Return the actions whose keys can be changed, with their default keys."""
    found: dict[str, str] = {}
    for each in classes:
        for binding in getattr(each, "BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id is not None:
                found[binding.id] = binding.key
    return found


def browser_keys(usual: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of those actions that have others too in a browser."""
    return {action: f"{usual[action]},{key}" for action, key in BROWSER_KEYS.items()}


def keymap_for(wanted: Mapping[str, str], usual: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the keymap to set, and a line for each change that is refused: no such action, or a key in use."""
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in wanted.items():
        if name in usual:
            keymap[name] = keys
        else:
            near = nearest(name, usual)
            problems.append(f"[keys] has no action {name}{f'; did you mean {near}?' if near else ''}")
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


def _named(binding: BindingType) -> BindingType:
    if not isinstance(binding, Binding) or "(" in binding.action or binding.id is not None:
        return binding
    return replace(binding, id=binding.action.removeprefix("app."))
