"""The flags and the argument that ``ask`` and its kin share, beside those of the model and the decoding."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lade_chat.presentation.colours import ColourView, view_named


class ColourChoice(StrEnum):
    """The views of ``lade_chat.presentation.colours``, as the command line has them."""

    VERIFIED = "verified"
    SOURCES = "sources"

    @property
    def view(self) -> ColourView:
        return view_named(self.value)


Prompt: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT",
        help="What to ask; @notes.txt in it attaches that text file (@@ for a plain @; not with --raw)."
        " What comes through a pipe follows it after an empty line, or is asked alone.",
        show_default=False,
    ),
]
Plain: TypeAlias = Annotated[
    bool,
    typer.Option("--screen-reader", help="On a terminal: whole lines, no colours, nothing redrawn."),
]
Batch: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--batch",
        metavar="FILE",
        help="Answer each line of FILE (- for stdin), a prompt or an object with prompt or messages, with a JSON line.",
        show_default=False,
    ),
]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="With --batch: where the answers go. Those that are there already are not asked for again.",
        show_default=False,
    ),
]
Save: TypeAlias = Annotated[
    bool, typer.Option("--save/--no-save", help="Keep the turn among the conversations, but for --raw and --batch.")
]
GoOn: TypeAlias = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the latest conversation.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")]
Colours: TypeAlias = Annotated[
    ColourChoice,
    typer.Option("--colours", "--colors", help="Whether verified tokens are coloured alike, or each by its source."),
]
Theme: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The chat's colours; its command palette shows them all.")
]
