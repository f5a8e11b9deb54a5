"""``lade-chat explain``: how lookahead decoding works, shown on steps that the model takes for it."""

from __future__ import annotations

import msgspec

from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import check_files
from lade_chat.protocol.values import ModelOptions


def explain(model_options: ModelOptions, question: str | None, theme: str | None) -> int:
    """Open the walks and return the exit code. Raises LadeChatError if there is nothing to show."""
    check_files(model_options.path, allow_pickle=model_options.allow_pickle)
    from lade_chat.engine.process.client import EngineClient
    from lade_chat.tui.explain.app import ExplainApp
    from lade_chat.tui.explain.screen import QUESTION

    engine = EngineClient()
    try:
        # All sizes are fixed here: nothing follows from what a step costs.
        app = ExplainApp(engine, msgspec.structs.replace(model_options, step_cost=False), question or QUESTION, theme)
        app.run()
    finally:
        engine.close()
    if app.trouble:
        raise LadeChatError(app.trouble)
    return app.return_code or 0
