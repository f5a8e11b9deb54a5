"""The forms of a list: a line each with a mark, one line with a sign between, some under a key."""

from __future__ import annotations

from assets.recipe import user_words as given
from assets.recipe.words import ALPHABET, read_wording, upper_first

_WORDING = read_wording("lists/shapes")
_LINES, _ROWS, _AROUND = ([line.split(" = ") for line in _WORDING[name]] for name in ("line", "row", "around"))


def shapes(items: list[str], key: str = "", sign: str = "*") -> dict[str, str]:
    """The items in every form; in some under the key or after the sign."""
    cells = [
        {"x": item, "c": upper_first(item), "n": at + 1, "l": ALPHABET[at], "s": sign} for at, item in enumerate(items)
    ]
    found = {name: "\n".join(line.format(**cell) for cell in cells) for name, line in _LINES}
    found |= {name: joint.strip('"').join(items) for name, joint in _ROWS}
    for name, told in _AROUND:
        around, _, form = told.rpartition(": ")
        found[name] = around.format(k=key, x=found[form])
    return found | {"quoted_each": given.quoted(items), "sentence": given.enumerated(items)}
