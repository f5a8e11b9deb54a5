"""``lade-chat explain``: how lookahead decoding works, shown on steps that the model takes live."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from lade_chat.cli.flags.arguments import ThemeFlag
from lade_chat.cli.flags.options import OF_A_REPLY, SIZES, SharedOptions
from lade_chat.cli.flags.shared import with_shared_options
from lade_chat.cli.running.process_exit import epilog
from lade_chat.cli.running.streams import require_terminal
from lade_chat.errors import LadeChatError
from lade_chat.presentation.sanitize import printable
from lade_chat.settings.catalogue import MODEL_SETTINGS

EPILOG = epilog("""
lade-chat explain
lade-chat explain "Count down from 20 to 1." --model-path ./my-model
""")
_OMITTED = (*OF_A_REPLY, *SIZES, "lookahead_workers", "tensor_parallel")
"""The tutorial fixes the sizes to fit the screen, decodes greedily, and runs in one process."""


@with_shared_options(without=_OMITTED, settings=(*MODEL_SETTINGS, "theme"))
def explain(
    context: typer.Context,
    options: SharedOptions,
    question: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The question to decode.", show_default=False)
    ] = None,
    theme: ThemeFlag = None,
) -> None:
    """Show how lookahead decoding works, on live steps of the model.

    Three short walks, from start to end with the space bar: guesses that settle, n-grams that are collected, guesses
    that are verified; beside each step its attention mask.
    """
    require_terminal("explain")
    from lade_chat.engine.process.client import EngineClient
    from lade_chat.loading.checkpoint import check_files
    from lade_chat.tui.explain.explain_app import ExplainApp
    from lade_chat.tui.explain.explain_screen import QUESTION
    from lade_chat.tui.theme.themes import problem_of

    if problem := problem_of(theme):  # of the settings; a flag's was refused before
        sys.stderr.write(f"warning: {printable(problem)}\n")
    # All sizes are fixed here, so the cost of a step need not be measured.
    model = msgspec.structs.replace(options.model(), step_cost=False)
    check_files(model)
    engine = EngineClient()
    try:
        app = ExplainApp(engine, model, question or QUESTION, theme)
        app.run()
    finally:
        engine.close()
    if app.trouble:
        raise LadeChatError(app.trouble)
    raise typer.Exit(app.return_code or 0)
