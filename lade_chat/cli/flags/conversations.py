"""``--resume``, ``--continue`` and ``--data-dir``: with which conversation the chat opens, and where they are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


OF_THE_CHAT = {"resume": "--resume", "continue_latest": "--continue", "data_dir": "--data-dir", "theme": "--theme"}
"""The chat's own parameters and their flags. A command that has one of them too takes it from before itself."""


def with_value_of_resume(arguments: Sequence[str], commands: Collection[str] = ()) -> list[str]:
    """The arguments, with an empty value for a ``--resume`` that has none: the parser wants one.

    A command's name is a value if nothing follows, and else the command.
    """
    given = list(arguments)
    for place, argument in enumerate(given):
        if argument == "--":
            break
        behind = given[place + 1 :]
        if argument == "--resume" and (
            not behind or behind[0].startswith("-") or (behind[0] in commands and len(behind) > 1)
        ):
            given[place] = "--resume="
    return given
