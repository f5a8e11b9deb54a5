"""A scripted race: lookahead on the left, plain decoding of the same text on the right."""

from __future__ import annotations

from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

PLAIN = tuple((token,) for step in FUNCTION for token in step)


def run_both(engine: ScriptedEngine) -> None:
    engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
    engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
    engine.tell(finished(PLAIN, side="right", lookahead=False))
