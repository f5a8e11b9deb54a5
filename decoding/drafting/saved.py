"""SavedTables: what a file of draft tables holds."""

from __future__ import annotations

from typing import Any

import msgspec


class SavedTables(msgspec.Struct, forbid_unknown_fields=True, tag="lade draft tables"):
    version: int
    vocabulary: int
    entries: dict[str, Any]
    acceptance: list[float]
