"""With which conversation the chat opens."""

from __future__ import annotations

from typing import NamedTuple


class Start(NamedTuple):
    """A new one, unless one of these is given."""

    latest: bool = False
    """The one in which something was said last."""
    wanted: str | None = None
    """One by its identifier, else the only one that mentions these words; where there are several, or none, a list."""
    system: str | None = None
    """The system prompt that it is to have from now on, an earlier one too; None leaves that as it is."""


NEW = Start()
