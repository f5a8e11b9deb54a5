"""SavedTables: what a file of draft tables holds."""

from __future__ import annotations

from typing import Any

import msgspec


class SavedTables(msgspec.Struct, forbid_unknown_fields=True, tag="lade draft tables"):
    """Every table's entries by its origin, for one vocabulary, and the weights of the acceptance model.

    The n-grams of the lookahead branch and the size of its window are not among them: both start anew.
    """

    version: int
    vocabulary: int
    entries: dict[str, Any]
    acceptance: list[float]
