"""Output of ``ask`` and ``compare``: metrics, JSON, tinted text and pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len
from rich.style import Style

from lade_chat.export.content import Content, Recording
from lade_chat.presentation.metric_words import speedup_words, summary, window
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.presentation.thought_splitter import Sections, answer_of, sections_of, split_reply
from lade_chat.presentation.token_looks import FEW_COLOURS, LOOKS, MARKS, ColourView, shown_as
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Piece, Sizes, Statistics
from lade_chat.settings.decoding_options import PLAIN_VALUES

if TYPE_CHECKING:
    from rich.console import Console

_COLOURED = {shown: Style(color=look.terminal[0], bgcolor=look.terminal[1]) for shown, look in LOOKS.items()}
_MARKED = {shown: Style.parse(marks) for shown, marks in MARKS.items()}


_METRICS = (
    *("generated_tokens", "thought_tokens", "steps", "tokens_per_step"),
    *("seconds", "tokens_per_second", "verified_share"),
)
"""The statistics of a reply that are reported."""


class Collected(Recording):
    """A reply, or one side of a race, that is printed."""

    def as_json(self, model: ModelInfo, options: DecodingOptions) -> dict[str, Any]:
        """The reply as ``ask --json`` prints it; sizes as given.

        The texts of ``tokens`` join to ``text``, which follows the ``thought`` in ``<think>…</think>`` if there is one;
        a bare text has none.
        ``seed`` and ``sampling`` are null where the likeliest token was always taken.
        """
        s, sizes = self.statistics, options.sizes
        return {
            "text": self.text if options.raw else answer_of(self.text),
            "thought": "" if options.raw else split_reply(self.text).thought,
            "tokens": [{"id": piece.id, "text": piece.text, "origin": piece.origin} for piece in self.pieces],
            **{name: getattr(s, name) for name in _METRICS},
            "finish_reason": self.finish_reason,
            "dropped_messages": self.dropped_messages,
            "lookahead": s.lookahead,
            "automatic": sizes is None,
            **{name: getattr(sizes, name, None) for name in Sizes.__struct_fields__},
            "seed": s.sampling.seed if s.sampling else None,
            "sampling": s.sampling.values() if s.sampling else None,
            "stop": list(options.stop),
            **{name: getattr(options, name) for name in PLAIN_VALUES},
            "model": model.name,
            "device": model.device,
            "dtype": model.dtype,
            **({"tensor_types": dict(model.tensor_types)} if model.tensor_types else {}),
        }


def print_json(value: dict[str, Any], out: TextIO) -> None:
    """Print one object on one line, in ASCII, which survives any terminal's encoding."""
    out.write(json.dumps(value, allow_nan=False) + "\n")
    out.flush()


def details(statistics: Statistics) -> Iterable[str]:
    """Yield the lines that ``--debug`` adds; the last is the SUMMARY."""
    s = statistics
    runs = "  ".join(f"{length}: {count}" for length, count in enumerate(s.accepted_runs) if count)
    yield "speed-up over plain  " + speedup_words(s)
    yield f"tokens per step      {s.tokens_per_step:.2f}"
    yield f"accepted runs        {runs or 'none'}  (length: steps)"
    step_time = f"{s.step_milliseconds:.2f} ms" if s.step_milliseconds else "not measured"
    yield f"step                 {step_time}"
    yield f"tokens per forward   {s.forward_tokens}"
    yield f"candidates           {s.candidates}"
    yield f"window (W × N)       {window(s)}"
    yield f"pool size            {s.pool_size}"
    yield SEPARATOR.join(summary(s))


def write_details(statistics: Statistics, indent: str = "") -> None:
    """Write the details to stderr, wrapped between words if it is a terminal."""
    columns = get_terminal_size().columns if sys.stderr.isatty() else sys.maxsize
    for line in details(statistics):
        shown = fill(line, columns, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
        sys.stderr.write(f"{shown}\n")


def check_exports(paths: Iterable[Path]) -> None:
    """Raise LadeChatError if a picture cannot be written; called before the model is loaded."""
    for path in paths:
        from lade_chat.export.picture import check_picture

        check_picture(path)


def write_exports(paths: Iterable[Path], content: Content) -> None:
    """Write the pictures, and say so if stderr is a terminal. Raises LadeChatError."""
    for path in paths:
        from lade_chat.export.picture import write_picture

        write_picture(path, content)
        if sys.stderr.isatty():
            sys.stderr.write(f"{printable(str(path))} written\n")


def style_of(origin: TokenSource, view: ColourView, console: Console) -> Style | None:
    """Return a token's style on this terminal; None for a plain one."""
    marked = console.no_color or console.color_system in FEW_COLOURS
    return (_MARKED if marked else _COLOURED).get(shown_as(origin, view))


class ThoughtWriter:
    """Streams a reply's thought to stderr, a line break at its end."""

    def __init__(self) -> None:
        self._sections = Sections()
        self._written = 0

    def write(self, text: str, *, final: bool = False) -> None:
        """Take the whole reply so far; with ``final``, nothing follows."""
        was_thinking = self._sections.thinking or not self._sections.parts
        self._sections = sections_of(text, final=final)
        for section in self._sections.parts[:1]:
            if section.kind == "thought" and was_thinking:
                new = text[max(section.start, self._written) : section.end]
                new = new.lstrip("\n") if not self._written else new
                ends = final or not self._sections.thinking
                sys.stderr.write((printable(new) if sys.stderr.isatty() else new) + "\n" * ends)
                sys.stderr.flush()
                self._written = section.end


class TextWriter:
    """Streams a reply to ``out``: by words, tinted and harmless on a terminal, exactly the model's text elsewhere.

    A line break ends it.
    """

    def __init__(self, out: TextIO, view: ColourView) -> None:
        self._out = out
        self._view = view
        from rich.console import Console

        self._console = Console(file=out, force_terminal=True, highlight=False) if out.isatty() else None
        self._at_line_start = True
        self._column = 0
        self._blanks: list[tuple[str, Style | None]] = []
        self._word: list[tuple[str, Style | None]] = []
        """Characters that are not written yet, and the blanks before them."""

    def write(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if self._console is None:
                self._out.write(piece.text)
            else:
                self._tint(printable(piece.text), style_of(piece.origin, self._view, self._console))
            if piece.text:
                self._at_line_start = piece.text.endswith("\n")
        self._out.flush()

    def end_line(self) -> None:
        """Write the last word, and break the line unless the text has."""
        if self._console is not None:
            self._place_word()
        if not self._at_line_start:
            self._out.write("\n")
            self._out.flush()
            self._at_line_start = True

    def _tint(self, text: str, style: Style | None) -> None:
        """Write whole words, and hold back the last one, which the next piece may continue."""
        for character in text:
            is_blank = character in " \t\n"
            if self._word and (is_blank or cell_len(character) > 1):
                self._place_word()
            if character == "\n":
                self._place_word()
                self._print([("\n", None)])  # a tinted line break would colour the rest of its line
                self._column = 0
            else:
                (self._blanks if is_blank else self._word).append((character, style))

    def _place_word(self) -> None:
        """Write the word after its blanks, or after a line break where it would cross the edge."""
        assert self._console is not None
        width = self._console.width
        blanks, word = ("".join(character for character, _ in part) for part in (self._blanks, self._word))
        end = len((" " * self._column + blanks).expandtabs(8)) + cell_len(word)
        if self._column and end > width >= cell_len(word) > 0:
            self._blanks, end = [("\n", None)], cell_len(word)
        self._print(self._blanks + self._word)
        self._column = (end - 1) % width + 1 if end else 0
        self._blanks, self._word = [], []

    def _print(self, characters: list[tuple[str, Style | None]]) -> None:
        from rich.segment import Segment, Segments

        assert self._console is not None
        runs = groupby(characters, key=itemgetter(1))
        segments = [Segment("".join(character for character, _ in run), style) for style, run in runs]
        self._console.print(Segments(segments), end="", soft_wrap=True)


class LineWriter:
    """Streams a reply in whole lines without colours, for screen readers; otherwise like ``TextWriter``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._line = ""

    def write(self, pieces: Iterable[Piece]) -> None:
        *lines, self._line = (self._line + "".join(piece.text for piece in pieces)).split("\n")
        self._write("".join(f"{line}\n" for line in lines))

    def end_line(self) -> None:
        """Write the last line."""
        self._write(f"{self._line}\n" if self._line else "")
        self._line = ""

    def _write(self, text: str) -> None:
        if text:
            self._out.write(printable(text) if self._terminal else text)
            self._out.flush()


def spoken(metrics: str) -> str:
    """Spell out a line of metrics for a screen reader."""
    words = {SEPARATOR: ", ", "tok/s": "tokens per second", "tokens/step": "tokens per step"}
    for sign, word in words.items():
        metrics = metrics.replace(sign, word)
    return metrics
