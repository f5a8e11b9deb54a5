"""Flags and arguments beside those of the model and the decoding, and the parsers of numbers."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lade_chat.errors import LadeChatError, UsageError
from lade_chat.loading.precision import check_device, check_quantisation
from lade_chat.precision_names import check_precision
from lade_chat.settings.catalogue import SETTINGS, Kind, Number


def whole(low: int, high: float = math.inf) -> Callable[[Any], Any]:
    """Return a typer parser for a whole number from ``low`` to ``high``."""
    return _parser(Number(low, high, whole=True))


def flag(help_text: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """Return a field of ``SharedOptions`` with a flag of its name, or of these."""
    return dataclasses.field(default=default, metadata={"flag": typer.Option(*names, help=help_text, **settings)})


def number(setting: str, help_text: str, *names: str, default: int | None = None) -> Any:
    """Return a field with a flag that accepts the numbers of a setting."""
    kind = SETTINGS[setting].kind
    metavar = "INT" if isinstance(kind, Number) and kind.whole else "FLOAT"
    return flag(help_text, *names, default=default, metavar=metavar, parser=_parser(kind))


def _checked(check: Callable[[str], object]) -> Callable[[Any], Any]:
    """Return a typer parser for what ``check`` does not refuse with a LadeChatError; the value stays as given."""

    def parse(value: Any) -> Any:
        try:
            check(str(value))
        except LadeChatError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    return parse


def _check_theme(name: str) -> None:
    from lade_chat.tui.theme.themes import problem_of  # takes half a second: it knows Textual's

    if problem := problem_of(name):
        raise UsageError(problem)


dtype, device, quantisation = _checked(check_precision), _checked(check_device), _checked(check_quantisation)
"""Parsers of the names of number formats, devices and quantisations."""
theme = _checked(_check_theme)
PARSERS = {"dtype": dtype, "device": device, "theme": theme}
"""Parsers of settings whose valid names are listed elsewhere than in the catalogue."""


def _parser(kind: Kind) -> Callable[[Any], Any]:
    # Typer names the flag. Its own ranges let NaN through and do not repeat the value.
    def parse(value: Any) -> Any:
        try:
            return kind.parse(str(value))  # a default comes as it is
        except ValueError as error:
            raise typer.BadParameter(f"must be {error}, not {value}") from None

    return parse


def file_path(value: Any) -> Path:
    """A typer parser for a file's path: an empty one, as of an unset variable, would be the working folder."""
    if not str(value):
        raise typer.BadParameter("the path is empty")
    return Path(value)


def folder_path(value: Any) -> Path:
    """A typer parser for a folder's path."""
    path = file_path(value)
    if os.path.isfile(path):
        raise typer.BadParameter(f"{path} is a file, not a folder")
    return path


def listed(text: str | None, flag: str) -> list[str]:
    """Split names at commas; empty if the flag was not given."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise typer.BadParameter(f"'{text}' names nothing: leave {flag} out for the default", param_hint=flag)
    return names


PromptFlag: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="PROMPT",
        help="The question; @notes.txt in it attaches that text file (@@ for a plain @; not with --raw)."
        " Piped text follows it after an empty line, or is the question.",
    ),
]
ScreenReader: TypeAlias = Annotated[
    bool, typer.Option("--screen-reader", help="On a terminal: whole lines, no colours, nothing redrawn.")
]
_REMEMBERED = "Guess from what this model said in earlier conversations: faster, and the text is the same."
RememberFlag: TypeAlias = Annotated[bool, typer.Option("--remember/--no-remember", help=_REMEMBERED)]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")]
_PICTURES = "Also save a picture: .html, .svg, .cast, .gif or .png; repeatable."
Exports: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--export", metavar="FILE", parser=file_path, help=_PICTURES)
]
ThemeFlag: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", parser=theme, help="The chat's colours; its command palette lists them.")
]

_FOLDER = "Keep conversations here; by default, in the platform's folder for user data."
DataDir: TypeAlias = Annotated[Path | None, typer.Option(metavar="FOLDER", parser=folder_path, help=_FOLDER)]
Limit: TypeAlias = Annotated[int | None, typer.Option(metavar="INT", parser=whole(1), help="Most prompts of a suite.")]


def with_value_of_resume(arguments: Sequence[str], commands: Collection[str] = ()) -> list[str]:
    """Return the arguments with an empty value for a bare ``--resume``, since the parser wants a value.

    A command's name is the value if nothing follows it, else the command.
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
