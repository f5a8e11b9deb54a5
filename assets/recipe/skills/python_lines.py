"""What one line of a small Python function does, in words."""

from __future__ import annotations

import re

_MEANINGS = (
    (r"def (\w+)\(\).*:", "starts the function `{0}`, which takes no arguments."),
    (r"def (\w+)\((.+)\)(?: -> \w+)?:", "starts the function `{0}`, which takes `{1}`."),
    (r"for _ in (.+):", "repeats what is under it once for each element of `{0}`."),
    (r"for (.+) in (.+):", "goes through `{1}` and calls each element `{0}`."),
    (r"while (.+):", "repeats what is under it as long as `{0}` is true."),
    (r"if (.+):", "runs what is under it only if `{0}` is true."),
    (r"elif (.+):", "comes next: it runs what is under it if `{0}` is true."),
    (r"return (.+)", "ends the function and gives back `{0}`."),
    (r"(\w+)\.append\((.+)\)", "puts `{1}` at the end of `{0}`."),
    (r"(\w+) \+= (.+)", "adds `{1}` to `{0}`."),
    (r"(\w+) \*= (.+)", "multiplies `{0}` by `{1}`."),
    (r"([\w, ]+) = (.+)", "gives `{0}` the value `{1}`."),
)


def meaning(line: str) -> str | None:
    """A sentence about the line, which it quotes; None for lines of other kinds."""
    line = line.strip()
    for pattern, words in _MEANINGS:
        if found := re.fullmatch(pattern, line):
            return f"`{line}` {words.format(*found.groups())}"
    return None
