"""The first page over a race: its steps, one a line, around the one that wrote the most."""

from __future__ import annotations

from functools import partial

from textual.content import Content

from lade_chat.protocol.tutorial import Raced
from lade_chat.tui.explain.page import MUTED, Page, Room, counted
from lade_chat.tui.inspector.view import shown
from lade_chat.tui.theme.tint import style_of

TITLE = "The race, step by step"


def raced_pages(walk: Raced) -> list[Page]:
    """Return the page, which ends with the step that the next pages explain."""
    other = f"{walk.other.capitalize()} took {counted(walk.other_steps, 'run')} of the model"
    took = f"{other}, {walk.method} {len(walk.steps)}."
    if walk.stopped:
        took = f"The race was stopped; over what both had written: {took[:1].lower()}{took[1:]}"
    most = max(map(len, walk.steps), default=0)
    if most > 1:
        says = f"{took} Each line is one run, called a step, and what it wrote; tinted tokens were guesses."
        says += f" The longest step (▸) wrote {most} tokens."
    else:
        says = f"{took} No guess here was worth a check, so each run wrote one token."
    return [Page(TITLE, says, partial(_steps, walk))]


def _steps(walk: Raced, room: Room) -> list[Content]:
    first = max(0, min(walk.best - 1 - room.height // 2, len(walk.steps) - room.height))
    lines = list[Content]()
    for number, tokens in enumerate(walk.steps[first : first + room.height], start=first + 1):
        is_best = number == walk.best and len(tokens) > 1
        label = (f"{number:>4} {'▸' if is_best else ' '} ", "bold" if is_best else MUTED)
        cells = [part for token in tokens for part in ((shown(token.text), style_of(token.origin)), (" ", ""))]
        lines.append(Content.assemble(label, *cells).truncate(room.width, ellipsis=True))
    return lines
