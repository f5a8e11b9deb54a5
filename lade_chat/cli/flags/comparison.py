"""The flags of ``compare``: who races whom, and over which prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lade_chat.cli.flags.numbers import whole
from lade_chat.cli.flags.usage import usage
from lade_chat.presentation.methods import NAMES, contender
from lade_chat.protocol.values import Contender, Sizes
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import BUNDLED, Suite, bundled_suites, choose

_METHODS = f"{', '.join(NAMES)}; or W,N,G, as 7,5,7"

Left: TypeAlias = Annotated[
    str, typer.Option("--left", metavar="METHOD", help=f"How the left side decodes: {_METHODS}.", show_default=True)
]
Right: TypeAlias = Annotated[
    str, typer.Option("--right", metavar="METHOD", help="How the right side decodes.", show_default=True)
]
SuiteNames: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="A,B,…",
        help=f"In place of a prompt: race over suites of them, of {', '.join(BUNDLED)}, or those of --prompts.",
        show_default=False,
    ),
]
PromptFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--prompts", metavar="FILE", help="Race over the prompts of FILE, as bench reads it.", show_default=False
    ),
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option("--limit", metavar="INT", parser=whole(1), help="Most prompts of a suite.", show_default=False),
]


def contenders(left: str, right: str, sizes: Sizes | None) -> tuple[Contender, Contender]:
    """Who races whom. Raises LadeChatError for a method that there is not."""
    return contender(left, sizes), contender(right, sizes)


def suites_of(prompt: str | None, names: str | None, files: list[Path] | None, limit: int | None) -> list[Suite] | None:
    """The suites to race over; None where a single prompt is meant. Raises a usage error, or LadeChatError."""
    if names is None and not files:
        if limit is not None:
            raise usage("--limit is for --suite and --prompts")
        return None
    if prompt is not None:
        raise usage("give a prompt, or --suite and --prompts, not both")
    suites = [suite for path in files or () for suite in read_suites(path)] or bundled_suites()
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    return choose(suites, wanted, limit)
