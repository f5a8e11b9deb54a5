"""``--resume``, ``--continue`` and ``--data-dir``: with which conversation the chat opens, and where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Resume: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="[ID_OR_TEXT]",
        help="Go on with an earlier conversation: by its identifier or by words in it; without these, from the list.",
        show_default=False,
    ),
]
Continue: TypeAlias = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the latest conversation.")]
DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="FOLDER",
        file_okay=False,
        help="Keep conversations here; without it, where the platform keeps a user's data.",
        show_default=False,
    ),
]


def with_value_of_resume(arguments: Sequence[str]) -> list[str]:
    """The arguments, with an empty value for a ``--resume`` that has none: the parser wants one."""
    given = list(arguments)
    for place, argument in enumerate(given):
        if argument == "--":
            break
        if argument == "--resume" and (place + 1 == len(given) or given[place + 1].startswith("-")):
            given[place] = "--resume="
    return given
