"""The line that passes: never wider than the terminal, and there wherever somebody would wait in silence."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Literal, get_args

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from lade_chat.cli.app import main
from lade_chat.cli.running.output import TextWriter, style_of
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.presentation.token_looks import VIEWS, ColourView, meanings, other, shown_as, view_named
from lade_chat.protocol.events import Loading
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece
from lade_chat.tui.demo.demo_app import DemoApp, Recorder

COLUMNS = 40


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_only_compiling_is_told_where_no_terminal_is() -> None:
    log = io.StringIO()
    with PassingLine(log) as line:
        line.show("starting …")
        for stage in ("weights", "kernels", "probe"):
            line.show_event(Loading(stage))
    assert log.getvalue() == "compiling for this processor, the first time only …\n"


@pytest.mark.parametrize("text", ["x" * 200, "模型" * 50, "x" * COLUMNS])
def test_a_line_is_cut_before_the_last_column(terminal: Terminal, text: str) -> None:
    PassingLine(terminal).show(text)
    shown = terminal.getvalue().removeprefix("\r").removesuffix("\x1b[K")
    assert COLUMNS - 3 <= cell_len(shown) <= COLUMNS - 1
    assert shown.endswith("…")
    assert text.startswith(shown[:-1].rstrip())


def test_a_line_that_fits_is_shown_whole(terminal: Terminal) -> None:
    PassingLine(terminal).show("x" * (COLUMNS - 1))
    assert terminal.getvalue() == "\r" + "x" * (COLUMNS - 1) + "\x1b[K"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals")
def test_the_width_is_that_of_the_terminal_which_the_line_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import struct
    import termios

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    reader, writer = os.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 33, 0, 0))
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        PassingLine(out).show("x" * 100)
        told = os.read(reader, 1000).decode()
    os.close(reader)
    assert told.count("x") == 31


def test_a_recording_tells_how_far_it_is(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play(app: DemoApp, **_keywords: object) -> None:
        for _ in range(3):
            app._record()

    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(DemoApp, "run_async", play)
    monkeypatch.setattr(DemoApp, "screen", None)
    monkeypatch.setattr("lade_chat.tui.demo.demo_app.strips_of", lambda screen: [Strip([Segment("x")])])
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["demo", "--record", str(tmp_path / "demo.gif")]) == 0
    shown = re.sub(r"\x1b\[K", "", terminal.getvalue()).split("\r")
    assert [line for line in shown if line.startswith("recording") and line.endswith(" 0 s")]
    assert [line for line in shown if line.startswith("writing ") and "demo.gif" in line]
    assert shown[-1] == ""
    assert "demo.gif" in capsys.readouterr().out


def test_a_recorder_reports_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 12.0])
    monkeypatch.setattr("lade_chat.tui.demo.demo_app.monotonic", lambda: next(clock))
    monkeypatch.setattr("lade_chat.tui.demo.demo_app.strips_of", lambda screen: [Strip([Segment("x")])])
    told: list[float] = []
    recorder = Recorder(80, 24, told.append)
    recorder.film.frames.append(None)  # type: ignore[arg-type]
    recorder.take(None)  # type: ignore[arg-type]
    recorder.take(None)  # type: ignore[arg-type]
    assert told == [5.0, 12.0]


# --- The colours of ``ask`` and ``compare`` on a terminal, by both views, with all colours, sixteen or none

ORIGINS: tuple[TokenSource, ...] = get_args(TokenSource)


@pytest.mark.parametrize(("colours", "no_color"), [("truecolor", False), ("standard", False), ("truecolor", True)])
@pytest.mark.parametrize(("view", "looks"), [("verified", 2), ("sources", 4)])
def test_a_view_has_as_many_looks_as_it_names(
    view: ColourView, looks: int, colours: Literal["truecolor", "standard"], no_color: bool
) -> None:
    console = Console(color_system=colours, force_terminal=True, no_color=no_color)
    written = set()
    for origin in ORIGINS:
        with console.capture() as capture:
            console.print("token", style=style_of(origin, view, console))
        written.add(capture.get())
    assert len(written) == looks == len(meanings(view))
    assert style_of("plain", view, console) is None


def test_what_is_written_has_the_colours_of_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written = {}
    for view in VIEWS:
        out = Terminal()
        TextWriter(out, view).write([Piece(f"{origin} ", origin, 1, 0) for origin in ORIGINS])
        written[view] = out.getvalue()
    assert written["verified"] != written["sources"]
    assert all(origin in text for origin in ORIGINS for text in written.values())


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["to deter", "mine"], "to\ndetermine\n"),
        (["  if a:\n", "    return"], "  if a:\n    return\n"),
        (["ten cells! ", "and  so"], "ten cells!\nand  so\n"),
        (["a wordof", "twelvecells"], "a wordoftwelvecells\n"),
        (["\tab c"], "\tab\nc\n"),
        (["汉字汉字汉", "字 a"], "汉字汉字汉\n字 a\n"),
    ],
)
def test_a_word_that_would_cross_the_edge_begins_the_next_row(
    monkeypatch: pytest.MonkeyPatch, pieces: list[str], shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    writer = TextWriter(out, "verified")
    writer.write([Piece(text, "plain", 1, 0) for text in pieces])
    writer.end_line()
    assert out.getvalue() == shown


def test_views_go_round_and_an_unknown_name_is_the_usual_one() -> None:
    assert [other(view) for view in VIEWS] == ["sources", "verified"]
    assert view_named("sources") == "sources"
    assert view_named(None) == view_named("rainbow") == "verified"
    assert {shown_as(origin, "verified") for origin in ORIGINS} == {"plain", "verified"}
