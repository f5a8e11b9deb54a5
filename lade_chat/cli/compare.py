"""``lade-chat compare``: questions answered in two ways, side by side, without the chat."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lade_chat.cli.running.engine_run import INTERRUPTED, library_output_on_stderr, load, make_engine, run
from lade_chat.cli.running.output import Collected, PassingLine, details, print_json, status_line, style_of
from lade_chat.cli.running.pictures import check_exports, write_exports
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError
from lade_chat.export.content import Content
from lade_chat.presentation.colours import ColourView
from lade_chat.presentation.comparison import outcome, sameness
from lade_chat.presentation.methods import LOOKAHEAD, PLAIN, in_force, title
from lade_chat.presentation.metrics import reason_forms, sampling_forms
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Race
from lade_chat.protocol.events import Prefilling, RaceFinished, ReplyFinished, Tokens
from lade_chat.protocol.values import Contender, DecodingOptions, Message, ModelInfo, ModelOptions, Side

if TYPE_CHECKING:
    from lade_chat.engine.process.server import Engine

DEFAULT = (Contender(LOOKAHEAD), Contender(PLAIN))
SLOWER = "Each side's clock runs only during its own steps, so the race is shown slower than life."
_FRAME_LINES = 8
"""The lines of the live view that hold no text: borders, titles, figures and the note."""


def compare(
    messages: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    as_json: bool = False,
    plain: bool = False,
    exports: Sequence[Path] = (),
    view: ColourView = "verified",
    contenders: tuple[Contender, Contender] = DEFAULT,
    engine: Engine | None = None,
) -> int:
    """Run the race and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Two live panes on a terminal, plain text in a pipe or with ``plain``, one object with ``as_json``. ``exports``:
    where to keep the race as a picture. ``view``: how tokens are coloured.
    """
    check_exports(exports)
    require_output()
    with status_line(sys.stderr, plain=plain) as line, library_output_on_stderr() as out:
        line.show("starting …")
        engine = engine or make_engine(model_options)
        model = load(engine, model_options, line)
        live = out.isatty() and not as_json and not plain
        console = Console(file=out, force_terminal=True, highlight=False) if live else None
        result = run_race(engine, Race(messages, options, *contenders), line, console, view)
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
    command: Race,
    line: PassingLine | None,
    console: Console | None,
    view: ColourView = "verified",
) -> Result:
    """Run the race to its end, shown live if there is a console; ``line`` tells how the prompt is read."""
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
            elif isinstance(event, RaceFinished):
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

    def __init__(self, command: Race, view: ColourView) -> None:
        self._view = view
        sizes = command.options.sizes
        self.contenders: dict[Side, Contender] = {
            "left": in_force(command.left, sizes),
            "right": in_force(command.right, sizes),
        }
        self.titles: dict[Side, str] = {
            "left": title(self.contenders["left"]),
            "right": title(self.contenders["right"]),
        }
        self.sides: dict[Side, Collected] = {"left": Collected(), "right": Collected()}
        self.finished: RaceFinished | None = None

    @property
    def cancelled(self) -> bool:
        return any(side.finish_reason == "cancelled" for side in self.sides.values())

    def as_json(self, model: ModelInfo, options: DecodingOptions) -> dict[str, Any]:
        """``left`` and ``right`` as in ``ask --json`` and the ``method`` of each, then how they compare."""
        assert self.finished is not None
        difference = self.finished.difference
        return {
            **{
                side: {**collected.as_json(model, options), "method": self.contenders[side].name}
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
            lines.append(f"{name:{width}}{_figures(collected)} · {s.tokens_per_step:.1f} tokens/step · {reason}")
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
        table = Table(expand=True, show_footer=True)
        width = max(1, (console.width - 7) // 2)
        height = max(1, console.height - _FRAME_LINES) if fit else None
        texts = []
        for side, collected in self.sides.items():
            table.add_column(self.titles[side], footer=Text(_figures(collected)), ratio=1, width=width)
            texts.append(_tinted(collected, self._view, console, width, height))
        table.add_row(*texts)
        return table


def _tinted(collected: Collected, view: ColourView, console: Console, width: int, height: int | None) -> Text:
    """A side's text wrapped to ``width``, its last ``height`` lines if a height is given."""
    text = Text()
    for piece in collected.pieces:
        text.append(printable(piece.text), style_of(piece.origin, view, console))
    lines = text.wrap(console, width)
    return Text("\n").join(lines if height is None else lines[-height:])


def _figures(collected: Collected) -> str:
    s = collected.statistics
    return f"{s.seconds:.2f} s · {s.tokens_per_second:.1f} tok/s · {s.steps} steps"


def _print_details(result: Result) -> None:
    for side, collected in result.sides.items():
        sys.stderr.write(f"{result.titles[side]}\n" + "".join(f"  {line}\n" for line in details(collected.statistics)))
