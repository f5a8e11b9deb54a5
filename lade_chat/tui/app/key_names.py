"""Which keys do what: the settings may give an action other ones, by its own name, and texts name those in force."""

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
}
_PLACE = re.compile(r"\{([a-z_]+)(:all)?\}")


@dataclass(frozen=True)
class KeyNames:
    """The keys in force, as people call them; ``keys`` has those of each action as bindings have them."""

    keys: Mapping[str, str] = field(default_factory=dict)

    def first(self, action: str) -> str:
        """The key to name where there is room for one. Raises KeyError."""
        return displayed(self.keys[action].split(",")[0])

    def all(self, action: str) -> str:
        """All of the action's keys. Raises KeyError."""
        return ", ".join(map(displayed, self.keys[action].split(",")))

    def put_into(self, text: str) -> str:
        """``{help}`` becomes F1, ``{toggle_lookahead:all}`` Ctrl+L, F2. Raises KeyError."""
        return _PLACE.sub(lambda found: self.all(found[1]) if found[2] else self.first(found[1]), text)


class _HasKeys(Protocol):
    key_names: KeyNames


def keys_of(widget: Widget) -> KeyNames:
    """The keys in force where this widget is."""
    return cast(_HasKeys, widget.app).key_names


def displayed(key: str) -> str:
    """A key as it stands on a keyboard: ``ctrl+l`` is Ctrl+L."""
    return "+".join(_DISPLAYED.get(part, part[:1].upper() + part[1:]) for part in key.strip().split("+"))


def named(bindings: Iterable[BindingType]) -> list[BindingType]:
    """The bindings, each with its action's name as its id, but for actions that are given something."""
    return [_named(binding) for binding in bindings]


def usual_keys(*classes: type) -> dict[str, str]:
    """The actions that can be given other keys, with the keys that are theirs without."""
    found: dict[str, str] = {}
    for each in classes:
        for binding in getattr(each, "BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id is not None:
                found[binding.id] = binding.key
    return found


def other_keys(wanted: Mapping[str, str], usual: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap to be set, and a line for each wish that cannot be obeyed: no such action, or a key that is taken."""
    keymap: dict[str, str] = {}
    troubles: list[str] = []
    for name, keys in wanted.items():
        if name in usual:
            keymap[name] = keys
        else:
            near = nearest(name, usual)
            troubles.append(f"[keys] has no action {name}{f'; did you mean {near}?' if near else ''}")
    in_force = {**usual, **keymap}
    owner = {key: name for name, keys in in_force.items() if name not in keymap for key in keys.split(",")}
    for name, keys in list(keymap.items()):
        taken = [key for key in keys.split(",") if key in owner]
        if taken:
            troubles.append(f"[keys] {name}: {taken[0]} belongs to {owner[taken[0]]}; give that another key too")
            del keymap[name]
        else:
            owner.update(dict.fromkeys(keys.split(","), name))
    return keymap, troubles


def _named(binding: BindingType) -> BindingType:
    if not isinstance(binding, Binding) or "(" in binding.action or binding.id is not None:
        return binding
    return replace(binding, id=binding.action.removeprefix("app."))
