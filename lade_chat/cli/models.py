"""``lade-chat models``: the models at hand with their sizes, and short names for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from lade_chat.cli.flags.arguments import Json
from lade_chat.cli.flags.options import SHARED, SharedOptions
from lade_chat.cli.flags.shared import data_folder, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.process_exit import epilog
from lade_chat.errors import LadeChatError, ModelError
from lade_chat.known_models.asked_model import BUNDLED_NAME, why_unusable
from lade_chat.known_models.hub_search import NOTHING_FOUND, search
from lade_chat.known_models.models_at_hand import KnownModel, at_hand, in_folder, is_bundled, merged, short_names
from lade_chat.loading.checkpoint import lasting_path
from lade_chat.paths import bundled_model_path, place
from lade_chat.presentation.sanitize import printable
from lade_chat.settings import file
from lade_chat.settings.effective import Settings

EPILOG = epilog("""
lade-chat models
lade-chat models qwen=Qwen/Qwen2.5-0.5B-Instruct
lade-chat -m qwen
lade-chat models qwen=
lade-chat models --search "qwen instruct"
""")


@with_shared_options(without=SHARED, settings=())
def models(
    context: typer.Context,
    options: SharedOptions,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=PATH_OR_HUB_ID", help="Short names to keep for -m; NAME= removes one."),
    ] = None,
    search_words: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="Search the Hugging Face Hub instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the models at hand, or give one a short name.

    At hand are the bundled one, those here and up to two folders below, those downloaded, those used lately, and the
    GGUF files of Ollama, LM Studio and llama.cpp.
    """
    if assignments and search_words is not None:
        raise usage("--search and NAME=PATH_OR_HUB_ID exclude one another")
    if assignments:
        _name(context.obj, assignments)
    elif search_words is not None:
        if not search_words.strip():
            raise usage("--search is empty: give words of a model's name, as --search 'qwen instruct'")
        found = search(search_words.strip())
        if not found and not as_json:
            raise LadeChatError(NOTHING_FOUND)
        _write(found, as_json=as_json)
    else:
        _list(context.obj, as_json=as_json)


def _name(settings: Settings, assignments: list[str]) -> None:
    """Write the short names to the settings file. Raises typer.BadParameter, SettingsError."""
    names: dict[str, str | None] = {}
    for assignment in assignments:
        name, equals, path = (part.strip() for part in assignment.partition("="))
        if not equals or not name:
            raise typer.BadParameter(f"'{assignment}' is not of the form NAME=PATH_OR_HUB_ID (NAME= removes a name)")
        if not path and name not in settings.aliases:
            raise typer.BadParameter(f"there is no short name {name}")
        try:
            names[name] = lasting_path(path) if path else None
        except ModelError as error:
            raise typer.BadParameter(str(error)) from None
        if reason := why_unusable(path):
            raise typer.BadParameter(reason)
    file.change(settings.path, names, table=file.ALIASES)
    told = (f"{name} is removed" if path is None else f"{name} stands for {path}" for name, path in names.items())
    sys.stderr.write(f"{printable('; '.join(told))} in {printable(str(settings.path))}\n")


def _list(settings: Settings, *, as_json: bool) -> None:
    found = [each for each in at_hand(data_folder(settings)) if not is_bundled(each)]
    bundled = [replace(each, about=f"{each.about}, used without -m") for each in in_folder(bundled_model_path())]
    if as_json:
        _write([*bundled, *found], as_json=True, aliases=dict(settings.aliases))
        return
    named = short_names(settings.aliases)
    others = [*(merged(each, named.pop(place(each.path), each)) for each in found), *named.values()]
    _write([*(replace(each, path=BUNDLED_NAME) for each in bundled), *others])
    if not found and not settings.aliases:
        sys.stdout.write(
            "No others here, downloaded or opened before.\n--model-path takes a folder, GGUF file or Hugging Face id.\n"
        )


def _write(models: Sequence[KnownModel], *, as_json: bool = False, **more: object) -> None:
    if as_json:
        rows = [{"path": each.path, "about": each.about} for each in models]
        sys.stdout.write(json.dumps({"models": rows, **more}) + "\n")
        return
    width = max((len(printable(each.path)) for each in models), default=0)
    for each in models:
        sys.stdout.write(printable(f"{each.path:{width}}  {each.about}") + "\n")
