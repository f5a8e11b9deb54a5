"""Split of a long conversation that never separates a question from its reply."""

from __future__ import annotations

from collections.abc import Sequence

from lade_chat.store.tree import wholes
from lade_chat.store.values import Turn


def split(turns: Sequence[Turn], most: int) -> tuple[Sequence[Turn], Sequence[Turn]]:
    """The last ``most`` turns and those before them; a few more, rather than a reply torn apart."""
    place = max((first for first, _ in wholes(turns) if first <= max(len(turns) - most, 0)), default=0)
    return turns[:place], turns[place:]
