"""Descriptions of the settings' values for users, and where each value comes from."""

from __future__ import annotations

from collections.abc import Mapping

from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.kinds import Switch, as_text
from lade_chat.settings.preferences import Preferences
from lade_chat.tui.control.sampling import SAMPLING_FIELDS

AS_THE_MODEL_SAYS = "as the model says"
_CHOICES = {
    "sampling": {"greedy": "greedy", "model": AS_THE_MODEL_SAYS},
    "colours": {"verified": "alike", "sources": "by source"},
}
_NOTHING = {
    "sampling": "by the values below",
    "temperature": "1",
    "seed": "drawn anew",
    "system": "none",
    "stop": "none",
}
_DEFAULTS = {
    **{name: as_text(getattr(DecodingOptions(), name)) for name in ("lookahead", "debug", "max_new_tokens")},
    **{name: as_text(setting.default) for name, setting in SETTINGS.items() if setting.default is not None},
    "sampling": "greedy",
    "colours": "verified",
}


class SettingWords:
    """``in_force`` has each setting's present value as text, wherever it comes from."""

    def __init__(self, preferences: Preferences, in_force: Mapping[str, str]) -> None:
        self._preferences, self._in_force = preferences, {**_DEFAULTS, **in_force}
        if "sampling" not in in_force:
            del self._in_force["sampling"]

    def value(self, name: str) -> str:
        """Return the value in force; where there is none, what happens without one."""
        if name in self._in_force:
            return choice_words(name, self._in_force[name])
        sampling = self._in_force.get("sampling")
        if name in SAMPLING_FIELDS and sampling == "greedy":
            return "not used: greedy"
        if name in SAMPLING_FIELDS and name != "seed" and sampling == "model":
            return AS_THE_MODEL_SAYS
        return _NOTHING.get(name, "off")

    def source(self, name: str) -> str:
        """Return where the value in force comes from; empty where there is none."""
        value, kept = self._in_force.get(name), self._preferences.file_values.get(name)
        if value is None:
            return ""
        if self._preferences.overruled(name):
            return "from a flag" if self._preferences.origins[name] == "flag" else f"from {SETTINGS[name].variable}"
        if kept is not None and as_text(kept).replace("\n", " | ") == value:
            return "from this file"
        if name in SAMPLING_FIELDS and self._in_force.get("sampling") == "model":
            return AS_THE_MODEL_SAYS
        return "by default" if name == "theme" or value == _DEFAULTS.get(name) else "set in this chat"

    def now(self, name: str) -> str:
        """Return value and source in a few words, for a field of nothing else."""
        return f"{self.value(name)} · {source}" if (source := self.source(name)) else self.value(name)


def choice_words(name: str, value: str) -> str:
    """Return a value of a setting as a user reads it."""
    if isinstance(SETTINGS[name].kind, Switch):
        return "on" if value == "true" else "off"
    return _CHOICES.get(name, {}).get(value, value)
