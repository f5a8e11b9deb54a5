"""First pages: token, step, and the reason to guess at all."""

from __future__ import annotations

from textual.content import Content

from lade_chat.protocol.tutorial import Beginning
from lade_chat.tui.explain.page import MUTED, Page, Room
from lade_chat.tui.inspector.view import shown

TITLE = "What this is about"


def beginning_pages(walk: Beginning, model: str) -> list[Page]:
    """``model``: what answers, in a few words."""

    def question(room: Room) -> list[Content]:
        return [
            Content.styled("You ask:", MUTED),
            *_wrapped([shown(token) for token in walk.question], room),
            Content(""),
            Content.styled(f"{len(walk.question)} tokens · a dot stands for a blank, ↵ for a line break", MUTED),
        ]

    def answerer(room: Room) -> list[Content]:
        return [
            *question(room),
            Content(""),
            Content.assemble(("Answering: ", MUTED), model),
            Content.styled("What you will see are steps that it has just taken.", MUTED),
        ]

    return [
        Page(
            TITLE,
            "A language model writes tokens: words, or pieces of words."
            " Plain decoding takes a step for every token, and a step is a run of the whole model.",
            question,
        ),
        Page(
            TITLE,
            "A step over ten tokens takes a large model little longer than a step over one."
            " So lookahead decoding guesses tokens to come, and has several guesses checked in each step.",
            answerer,
        ),
    ]


def _wrapped(tokens: list[str], room: Room) -> list[Content]:
    """Tokens with bars between them, broken into lines."""
    lines, line = list[str](), ""
    for token in tokens:
        grown = f"{line} │ {token}" if line else token
        if line and len(grown) > room.width:
            lines.append(line)
            grown = token
        line = grown
    return [Content(each) for each in (*lines, line)]
