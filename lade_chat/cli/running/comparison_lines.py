"""A race run to its end on the command line: both sides live, as text, or as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lade_chat.cli.running.engine_run import run
from lade_chat.cli.running.output import Collected, style_of
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.errors import LadeChatError
from lade_chat.presentation.methods import in_force, title
from lade_chat.presentation.metric_words import counted, reason_forms, sampling_forms
from lade_chat.presentation.race_outcome import STOPPED, lead, outcome, sameness, unverified, winner
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.token_looks import ColourView
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, MethodSpec, ModelInfo, Side

if TYPE_CHECKING:
    from lade_chat.engine.process.command_server import JobEngine

SLOWER = "Each side's clock runs only during its own steps, so the race takes longer than the clocks say."
_FRAME_LINES = 8
"""Lines of the live view that hold no text: borders, titles, metrics and the note."""


def run_comparison(
    engine: JobEngine,
    command: Compare,
    line: PassingLine | None,
    console: Console | None,
    view: ColourView = "verified",
) -> ComparisonResult:
    """Run the race to its end, live on ``console`` if there is one; ``line`` shows the progress of the prefill."""
    result = ComparisonResult(command, view)
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


class ComparisonResult:
    """Both sides of a race, so far or at its end."""

    def __init__(self, command: Compare, view: ColourView) -> None:
        self._view = view
        methods: dict[Side, MethodSpec] = {"left": command.left, "right": command.right}
        self.method_specs = {side: in_force(method, command.options.sizes) for side, method in methods.items()}
        self.titles = {side: title(method) for side, method in self.method_specs.items()}
        self.sides = {side: Collected() for side in methods}
        self.finished: ComparisonFinished | None = None

    @property
    def cancelled(self) -> bool:
        return any(side.finish_reason == "cancelled" for side in self.sides.values())

    def as_json(self, model: ModelInfo, options: DecodingOptions) -> dict[str, Any]:
        """Both sides as in ``ask --json``, with the ``method`` of each, then how they compare if both ended."""
        assert self.finished is not None
        speedup, ended = self.finished.speedup, not self.cancelled
        return {
            **{
                side: {**collected.as_json(model, options), "method": self.method_specs[side].name}
                for side, collected in self.sides.items()
            },
            "speedup": speedup if ended and math.isfinite(speedup) else None,
            "identical": self.finished.identical if ended else None,
            "difference": msgspec.to_builtins(self.finished.difference) if ended else None,
        }

    def verdict(self, model: ModelInfo) -> list[str]:
        """The two times, how tokens were drawn, the speed-up, and whether the texts are the same; a line each."""
        width = 2 + max(map(len, self.titles.values()))
        lines = []
        for side, collected in self.sides.items():
            s, name = collected.statistics, f"{self.titles[side]}:"
            reason = reason_forms(s, collected.finish_reason)[-1]
            lines.append(f"{name:{width}}{_metrics(collected)} of {s.tokens_per_step:.1f} tokens · {reason}")
        if (sampling := self.sides["left"].statistics.sampling) is not None:
            lines.append(f"sampling: {sampling_forms(sampling)[0]}")
        return [*lines, *self.outcome(model)]

    def outcome(self, model: ModelInfo) -> list[str]:
        """The speed-up, and whether the texts are the same, or who led a race that was stopped; a line each."""
        assert self.finished is not None
        titles, sides = list(self.titles.values()), [each.statistics for each in self.sides.values()]
        if self.cancelled:
            finished = [each.finish_reason != "cancelled" for each in self.sides.values()]
            return [STOPPED, lead(titles, sides, finished, stopped=True)]
        speedup = self.finished.speedup
        faster = outcome(speedup, self.titles["left"], self.titles["right"], sides=sides)
        has_winner = winner(speedup, sides) is not None
        return [
            f"speed-up: {speedup:.2f}x ({faster})" if has_winner else f"no speed-up: {faster}",
            *unverified(titles, sides),
            sameness(self.finished, model.dtype),
        ]

    def print_plainly(self, model: ModelInfo, out: TextIO) -> None:
        """The two texts under their titles, then the verdict, without a colour."""
        for side, collected in self.sides.items():
            text = printable(collected.text) if out.isatty() else collected.text
            out.write(f"--- {self.titles[side]}\n{text}\n")
        out.write("---\n" + "".join(f"{line}\n" for line in self.verdict(model)))
        out.flush()

    def panes(self, console: Console, *, fit: bool = False) -> Table:
        """The two texts side by side, tinted; with ``fit`` only as much of their ends as the screen holds."""
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
    text = Text()
    for piece in collected.pieces:
        text.append(printable(piece.text), style_of(piece.origin, view, console))
    lines = text.wrap(console, width)
    return Text("\n").join(lines if height is None else lines[-height:])


def _metrics(collected: Collected) -> str:
    s = collected.statistics
    return f"{s.seconds:.2f} s · {s.tokens_per_second:.1f} tok/s · {counted(s.steps, 'step')}"
