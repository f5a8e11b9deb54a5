"""``lade-chat ask`` as a command: which of its flags go together, and what they ask for."""

from __future__ import annotations

from pathlib import Path

import typer

from lade_chat.cli.flags.arguments import Batch, GoOn, Json, Output, Plain, Prompt, Save
from lade_chat.cli.flags.conversations import DataDir
from lade_chat.cli.flags.settings import is_given
from lade_chat.cli.flags.shared import SharedOptions
from lade_chat.cli.flags.usage import usage
from lade_chat.cli.running.pictures import Exports
from lade_chat.cli.running.prompt_input import read_prompt


def ask(
    context: typer.Context,
    options: SharedOptions,
    prompt: Prompt = None,
    as_json: Json = False,
    export: Exports = None,
    batch: Batch = None,
    output: Output = None,
    continue_latest: GoOn = False,
    save: Save = True,
    data_dir: DataDir = None,
    plain: Plain = False,
) -> None:
    """Ask once and print the answer.

    On a terminal the answer streams, its verified tokens tinted.

    In a pipe it is exactly the model's text, with no line break added; all else goes to stderr.
    """
    if batch is not None:
        if prompt is not None or export or continue_latest:
            raise usage("--batch goes with neither a prompt, --export nor --continue")
        raise typer.Exit(_batch(options, batch, output, as_json=as_json, plain=plain))
    if output is not None:
        raise usage("--output is for --batch; one answer is written with > FILE")
    if continue_latest and (options.raw or not save):
        raise usage("--continue goes with neither --raw nor --no-save")
    question = read_prompt(prompt, raw=options.raw)
    if options.raw or not save:
        raise typer.Exit(_once(options, question, as_json=as_json, plain=plain, export=export))
    system = options.system if not continue_latest or is_given(context, "system") else None
    code = _kept(options, question, data_dir, system, continue_latest, as_json=as_json, plain=plain, export=export)
    raise typer.Exit(code)


def _once(options: SharedOptions, question: str, *, as_json: bool, plain: bool, export: list[Path] | None) -> int:
    from lade_chat.cli.ask import ask

    messages = options.messages(question)
    return ask(
        messages,
        options.model(),
        options.decoding(),
        as_json=as_json,
        plain=plain,
        exports=export or (),
        view=options.colours.view,
    )


def _kept(
    options: SharedOptions,
    question: str,
    data_dir: Path | None,
    system: str | None,
    latest: bool,
    *,
    as_json: bool,
    plain: bool,
    export: list[Path] | None,
) -> int:
    """Ask in a conversation: the latest, or a new one."""
    from lade_chat.cli.ask import ask
    from lade_chat.cli.running.kept_turn import KeptTurn

    kept = KeptTurn(data_dir, question, system, latest=latest)
    error = ""
    try:
        return ask(
            kept.messages,
            options.model(),
            options.decoding(),
            as_json=as_json,
            plain=plain,
            exports=export or (),
            view=options.colours.view,
            kept=kept,
        )
    except Exception as raised:
        error = str(raised)
        raise
    finally:
        kept.close(error)


def _batch(options: SharedOptions, path: Path, output: Path | None, *, as_json: bool, plain: bool) -> int:
    from lade_chat.cli.batch import batch, read_batch

    items = read_batch(path, None if options.raw else options.system)
    return batch(items, output, options.model(), options.decoding(), all_tokens=as_json, plain=plain)
