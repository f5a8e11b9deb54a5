"""``lade-chat compare --suites``: a race for every prompt of a suite, with a running score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from lade_chat.cli.exit_codes import INTERRUPTED
from lade_chat.cli.running.comparison_lines import ComparisonResult, run_comparison
from lade_chat.cli.running.engine_run import loaded_engine
from lade_chat.cli.running.output import print_json
from lade_chat.cli.running.streams import require_output
from lade_chat.presentation.comparison import Score, sameness, winner
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelInfo, ModelOptions

if TYPE_CHECKING:
    from lade_chat.engine.process.command_server import JobEngine
    from lade_chat.suites.prompts import Suite

QUESTION_COLUMNS = 34


def compare_suites(
    suites: Sequence[Suite],
    system: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    method_specs: tuple[MethodSpec, MethodSpec],
    *,
    as_json: bool = False,
    screen_reader: bool = False,
    engine: JobEngine | None = None,
) -> int:
    """Race over every first turn and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Every race starts from empty tables. A line a race on stdout and the score below, or one object with ``as_json``.
    """
    score, races = Score(), list[dict[str, Any]]()
    questions = [(suite.name, question.turns[0]) for suite in suites for question in suite.questions]
    result = None
    require_output()
    with loaded_engine(model_options, engine, screen_reader=screen_reader) as (engine, model, line, out):
        for number, (name, question) in enumerate(questions, start=1):
            line.show(f"race {number}/{len(questions)}" + (f" · {score.line()}" if score.races else ""))
            messages = (*system, Message("user", question))
            result = run_comparison(engine, Compare(messages, options, *method_specs, fresh=True), None, None)
            if result.cancelled:
                break
            _count(score, result)
            races.append({"suite": name, "prompt": question, **_without_texts(result, model, options)})
            if not as_json:
                line.clear()
                if number == 1:
                    _print_heading(out, result)
                _print(out, name, question, result, model)
        line.clear()
        if as_json:
            print_json({"races": races, "score": _as_json(score)}, out)
        elif result is not None:
            out.write("".join(f"{text}\n" for text in score.lines(*result.titles.values())))
            out.flush()
    return INTERRUPTED if result is not None and result.cancelled else 0


def _count(score: Score, result: ComparisonResult) -> None:
    assert result.finished is not None
    score.add(result.finished, result.sides["left"].statistics, result.sides["right"].statistics)


def _print_heading(out: TextIO, result: ComparisonResult) -> None:
    out.write(f"left: {result.titles['left']} · right: {result.titles['right']}\n")
    out.write(f"{'suite':<11} {'prompt':<{QUESTION_COLUMNS}} {'left':>7} {'right':>7} tok/s  speed-up\n")


def _print(out: TextIO, name: str, question: str, result: ComparisonResult, model: ModelInfo) -> None:
    """One race on one line; a second one where the texts differ. Sides that count as even have no speed-up."""
    assert result.finished is not None
    suite, shown = (" ".join(printable(text).split()) for text in (name, question))
    shown = shown if len(shown) <= QUESTION_COLUMNS else f"{shown[: QUESTION_COLUMNS - 1]}…"
    left, right = (side.statistics for side in result.sides.values())
    speedup = result.finished.speedup
    told = "even" if winner(speedup, (left, right)) is None else f"{speedup:.2f}x"
    out.write(
        f"{suite:<11} {shown:<{QUESTION_COLUMNS}} {left.tokens_per_second:7.1f} {right.tokens_per_second:7.1f} tok/s"
        f"  {told:>8}\n"
    )
    if not result.finished.identical:
        out.write(f"{'':11} {sameness(result.finished, model.dtype)}\n")
    out.flush()


def _without_texts(result: ComparisonResult, model: ModelInfo, options: DecodingOptions) -> dict[str, Any]:
    race = result.as_json(model, options)
    for side in result.sides:
        del race[side]["tokens"]
    return race


def _as_json(score: Score) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(score)
    return {**fields, "speedup": score.speedup}
