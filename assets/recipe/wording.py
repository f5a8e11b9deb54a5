"""Phrases kept as text, apart from the code that uses them.

A wording file holds one phrase a line, as `name: phrase`; the lines of one name are one pool, the most usual
first. In a phrase `[one|other]` is a choice, `{x}` a field, and `\\n` breaks the line.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).with_name("texts") / "wording"


def read_wording(skill: str) -> dict[str, tuple[str, ...]]:
    """The skill's pools of phrases by name."""
    pools: dict[str, tuple[str, ...]] = {}
    for line in (_FOLDER / f"{skill}.txt").read_text(encoding="utf-8").splitlines():
        name, colon, phrase = line.partition(":")
        if colon and not line.startswith("#"):
            pools[name] = (*pools.get(name, ()), phrase.removeprefix(" ").replace("\\n", "\n"))
    return pools
