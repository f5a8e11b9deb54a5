"""Check for Markdown; cheap to import, unlike the renderer."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_MARKS = re.compile(
    r"^#{1,6} \S|^\s{0,3}([-*+]|\d{1,3}[.)]) +\S|^> |^\|.*\|\s*$|\*\*\S|`[^`\n]+`|\]\(\S+\)", re.MULTILINE
)
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)


def is_markdown(text: str) -> bool:
    """Return whether rendering improves a text and loses nothing (unfenced code would lose its indentation)."""
    outside, fence, fenced = [], "", False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence, fenced = mark[1], True
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            outside.append(line)
    rest = "\n".join(outside)
    has_list = re.search(r"^\s{0,3}([-*+]|\d{1,3}[.)]) +\S", rest, re.MULTILINE)
    if _INDENTED.search(rest) and not has_list:
        return False
    return fenced or _MARKS.search(rest) is not None
