"""Names for keys, by which the settings may give an action other ones: the action's own name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from textual.binding import Binding, BindingType

from lade_chat.settings.settings import nearest


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
