"""``lade-chat compare``: questions answered in two ways, side by side, without the chat."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from lade_chat.cli.exit_codes import INTERRUPTED, epilog
from lade_chat.cli.flags.arguments import (
    Exports,
    Json,
    Left,
    Limit,
    Prompt,
    PromptFiles,
    Right,
    ScreenReader,
    SuiteNames,
)
from lade_chat.cli.flags.shared import SharedOptions, with_shared_options
from lade_chat.cli.flags.usage import usage
from lade_chat.cli.running.engine_run import library_output_on_stderr, load, make_engine, run
from lade_chat.cli.running.exports import check_exports, write_exports
from lade_chat.cli.running.output import Collected, PassingLine, details, print_json, status_line, style_of
from lade_chat.cli.running.prompt_input import read_prompt
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError
from lade_chat.export.content import Content
from lade_chat.presentation.colours import ColourView
from lade_chat.presentation.comparison import outcome, sameness
from lade_chat.presentation.methods import LOOKAHEAD, PLAIN, contender, in_force, title
from lade_chat.presentation.metrics import reason_forms, sampling_forms
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelInfo, ModelOptions, Side
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import Suite, bundled_suites, choose

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from lade_chat.engine.process.server import Engine

EPILOG = epilog("""
lade-chat compare "Write a Python function that returns the sum of a list."
lade-chat compare "Count from 3 to 30." --json --dtype float32 | jq .speedup
lade-chat compare "Count from 3 to 30." --export race.svg --export race.cast
lade-chat compare "Count from 3 to 30." --left 7,5,7 --right hf-prompt-lookup-10
lade-chat compare --suite lists,math --limit 5
""")

DEFAULT = (MethodSpec(LOOKAHEAD), MethodSpec(PLAIN))
SLOWER = "Each side's clock runs only during its own steps, so the race is shown slower than life."
_FRAME_LINES = 8
"""Lines of the live view that hold no text: borders, titles, metrics and the note."""


@with_shared_options
def compare(
    context: typer.Context,
    options: SharedOptions,
    prompt: Prompt = None,
    as_json: Json = False,
    export: Exports = None,
    plain: ScreenReader = False,
    left: Left = "lookahead",
    right: Right = "plain",
    suite: SuiteNames = None,
    prompts: PromptFiles = None,
    limit: Limit = None,
) -> None:
    """Answer twice, in two ways, side by side: lookahead against plain decoding, unless --left and --right say else.

    The race is fair: each side has its own cache, and its own clock that stands while the other runs.

    The sides are what --left and --right say, so --no-lookahead changes nothing here.
    """
    sides = contender(left, options.sizes()), contender(right, options.sizes())
    suites = _suites(prompt, suite, prompts, limit)
    if suites is not None:
        if export:
            raise usage("--export is for a single prompt")
        from lade_chat.cli.running.suite_races import compare_suites

        system = options.messages("")[:-1]
        model_and_decoding = options.model(), options.decoding()
        raise typer.Exit(compare_suites(suites, system, *model_and_decoding, sides, as_json=as_json, plain=plain))
    code = run_compare(
        options.messages(read_prompt(prompt, raw=options.raw)),
        options.model(),
        options.decoding(),
        as_json=as_json,
        plain=plain,
        exports=export or (),
        view=options.colours.view,
        method_specs=sides,
    )
    raise typer.Exit(code)


def _suites(prompt: str | None, names: str | None, files: list[Path] | None, limit: int | None) -> list[Suite] | None:
    """Return the suites to race over; None where a single prompt is meant. Raises a usage error, or LadeChatError."""
    if names is None and not files:
        if limit is not None:
            raise usage("--limit is for --suite and --prompts")
        return None
    if prompt is not None:
        raise usage("give a prompt, or --suite and --prompts, not both")
    suites = [suite for path in files or () for suite in read_suites(path)] or bundled_suites()
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    return choose(suites, wanted, limit)


def run_compare(
    messages: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    as_json: bool = False,
    plain: bool = False,
    exports: Sequence[Path] = (),
    view: ColourView = "verified",
    method_specs: tuple[MethodSpec, MethodSpec] = DEFAULT,
    engine: Engine | None = None,
) -> int:
    """Run the race and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Prints two live panes on a terminal, plain text in a pipe or with ``plain``, one object with ``as_json``; the other
    arguments are those of ``run_ask``.
    """
    from rich.console import Console
    from rich.text import Text

    check_exports(exports)
    require_output()
    with status_line(sys.stderr, plain=plain) as line, library_output_on_stderr() as out:
        line.show("starting …")
        engine = engine or make_engine(model_options)
        model = load(engine, model_options, line)
        live = out.isatty() and not as_json and not plain
        console = Console(file=out, force_terminal=True, highlight=False) if live else None
        result = run_race(engine, Compare(messages, options, *method_specs), line, console, view)
        if as_json:
            print_json(result.as_json(model, options), out)
        elif console is not None:
            console.print(result.panes(console), Text(SLOWER, style="dim"))
            console.print("\n".join(result.verdict(model)), markup=False)
        else:
            result.print_plainly(model, out)
        if options.debug:
            _print_details(result)
    sides = tuple(result.sides.values())
    write_exports(exports, Content(messages[-1].content, model, sides, tuple(result.outcome(model)), view))
    return INTERRUPTED if result.cancelled else 0


def run_race(
    engine: Engine,
    command: Compare,
    line: PassingLine | None,
    console: Console | None,
    view: ColourView = "verified",
) -> Result:
    """Run the race to its end, live on ``console`` if there is one; ``line`` shows the progress of the prefill."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    result = Result(command, view)
    live = None
    try:
        for event in run(engine, command):
            if isinstance(event, Prefilling) and live is None:
                if line is not None:
                    line.show_event(event)
            elif isinstance(event, Tokens | ReplyFinished):
                result.sides[event.side].take(event)
                if line is not None:
                    line.clear()
                if console is not None and live is None:
                    live = Live(console=console, auto_refresh=False, transient=True)
                    live.start()
                if console is not None and live is not None:
                    live.update(Group(result.panes(console, fit=True), Text(SLOWER, style="dim")), refresh=True)
            elif isinstance(event, ComparisonFinished):
                result.finished = event
    finally:
        if line is not None:
            line.clear()
        if live is not None:
            live.stop()
    if result.finished is None:
        raise LadeChatError("the race ended without a result")
    return result


class Result:
    """Both sides of a race, so far or at its end."""

    def __init__(self, command: Compare, view: ColourView) -> None:
        self._view = view
        sizes = command.options.sizes
        self.method_specs: dict[Side, MethodSpec] = {
            "left": in_force(command.left, sizes),
            "right": in_force(command.right, sizes),
        }
        self.titles: dict[Side, str] = {
            "left": title(self.method_specs["left"]),
            "right": title(self.method_specs["right"]),
        }
        self.sides: dict[Side, Collected] = {"left": Collected(), "right": Collected()}
        self.finished: ComparisonFinished | None = None

    @property
    def cancelled(self) -> bool:
        return any(side.finish_reason == "cancelled" for side in self.sides.values())

    def as_json(self, model: ModelInfo, options: DecodingOptions) -> dict[str, Any]:
        """``left`` and ``right`` as in ``ask --json`` and the ``method`` of each, then how they compare."""
        assert self.finished is not None
        difference = self.finished.difference
        return {
            **{
                side: {**collected.as_json(model, options), "method": self.method_specs[side].name}
                for side, collected in self.sides.items()
            },
            "speedup": self.finished.speedup if math.isfinite(self.finished.speedup) else None,
            "identical": self.finished.identical,
            "difference": None
            if difference is None
            else {name: getattr(difference, name) for name in difference.__struct_fields__},
        }

    def verdict(self, model: ModelInfo) -> list[str]:
        """The two times, how tokens were drawn, the speed-up, and whether the texts are the same; a line each."""
        width = 2 + max(map(len, self.titles.values()))
        lines = []
        for side, collected in self.sides.items():
            s, name = collected.statistics, f"{self.titles[side]}:"
            reason = reason_forms(s, collected.finish_reason)[-1]
            lines.append(f"{name:{width}}{_metrics(collected)} · {s.tokens_per_step:.1f} tokens/step · {reason}")
        if (sampling := self.sides["left"].statistics.sampling) is not None:
            lines.append(f"sampling: {sampling_forms(sampling)[0]}")
        return [*lines, *self.outcome(model)]

    def outcome(self, model: ModelInfo) -> list[str]:
        """The speed-up, and whether the texts are the same; a line each."""
        assert self.finished is not None
        if self.cancelled:
            return ["stopped before the end, so there is no winner"]
        faster = outcome(self.finished.speedup, self.titles["left"], self.titles["right"])
        return [f"speed-up: {self.finished.speedup:.2f}x ({faster})", sameness(self.finished, model.dtype)]

    def print_plainly(self, model: ModelInfo, out: TextIO) -> None:
        """The two texts under their titles, then the verdict, without a colour."""
        for side, collected in self.sides.items():
            out.write(f"--- {self.titles[side]}\n{collected.text}\n")
        out.write("---\n" + "".join(f"{line}\n" for line in self.verdict(model)))
        out.flush()

    def panes(self, console: Console, *, fit: bool = False) -> Table:
        """The two texts side by side, tinted; with ``fit`` only as much of their ends as the screen holds."""
        from rich.table import Table
        from rich.text import Text

        table = Table(expand=True, show_footer=True)
        width = max(1, (console.width - 7) // 2)
        height = max(1, console.height - _FRAME_LINES) if fit else None
        texts = []
        for side, collected in self.sides.items():
            table.add_column(self.titles[side], footer=Text(_metrics(collected)), ratio=1, width=width)
            texts.append(_tinted(collected, self._view, console, width, height))
        table.add_row(*texts)
        return table


def _tinted(collected: Collected, view: ColourView, console: Console, width: int, height: int | None) -> Text:
    """A side's text wrapped to ``width``, its last ``height`` lines if a height is given."""
    from rich.text import Text

    text = Text()
    for piece in collected.pieces:
        text.append(printable(piece.text), style_of(piece.origin, view, console))
    lines = text.wrap(console, width)
    return Text("\n").join(lines if height is None else lines[-height:])


def _metrics(collected: Collected) -> str:
    s = collected.statistics
    return f"{s.seconds:.2f} s · {s.tokens_per_second:.1f} tok/s · {s.steps} steps"


def _print_details(result: Result) -> None:
    for side, collected in result.sides.items():
        sys.stderr.write(f"{result.titles[side]}\n" + "".join(f"  {line}\n" for line in details(collected.statistics)))
