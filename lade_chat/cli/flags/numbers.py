"""Numbers on the command line: the ranges of the settings, and one sentence for whatever is out of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import typer

from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.kinds import Kind, Number


def setting(name: str) -> Callable[[Any], Any]:
    """A typer parser for the flag of this setting: it takes what the setting takes."""
    return _parser(SETTINGS[name].kind)


def whole(low: int, high: float = math.inf) -> Callable[[Any], Any]:
    """A typer parser for a whole number from ``low`` to ``high``."""
    return _parser(Number(low, high, whole=True))


def _parser(kind: Kind) -> Callable[[Any], Any]:
    """Typer names the flag itself. (Its own ranges let NaN through, and do not repeat what was typed.)"""

    def parse(value: Any) -> Any:
        try:
            return kind.parse(str(value))  # a default comes as it is
        except ValueError as error:
            raise typer.BadParameter(f"must be {error}, not {value}") from None

    return parse
