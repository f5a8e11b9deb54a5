"""Texts for people that are kept in files of their own, a paragraph a line."""

from __future__ import annotations

from pathlib import Path


def texts_beside(module: str, name: str) -> dict[str, str]:
    """Return the texts of a file beside a module, by the name before each; a line that begins with # is a comment."""
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))
