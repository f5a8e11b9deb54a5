"""The model's turn: tinted text while it streams, folded thoughts, and metrics at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Click, Resize
from textual.widgets import Static

from lade_chat.presentation.metric_words import counted, ended_parts, of_whole, summary
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import StatusPart, pack
from lade_chat.presentation.thought_splitter import nothing_said
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import FinishReason, Piece, Statistics
from lade_chat.store.records import Ending, Turn
from lade_chat.tui.reply.body import ReplyBody
from lade_chat.tui.reply.candidate_tree_view import CandidateStage, CandidateTreeView
from lade_chat.tui.reply.tinted_text import is_markdown
from lade_chat.tui.transcript.turn_view import TurnView
from lade_chat.tui.widgets.metric_lines import MetricLine, explain
from lade_chat.tui.widgets.stack import Stack

if TYPE_CHECKING:
    from lade_chat.tui.reply.markdown_reply import MarkdownReply


SETTLED_SECONDS = 0.2
"""After the end of a reply, until all of its lines have been laid out once."""
FEW = ("tok/s", "tokens/step", "thought", "guesses save nothing")


class PackedLine(Static):
    """Several metrics that all stay, broken into lines only between them."""

    def __init__(self, items: list[str]) -> None:
        super().__init__(markup=False, classes="summary")
        self._items = items
        explain(self, "summary")

    def on_resize(self, event: Resize) -> None:
        self.update(Content(pack(self._items, event.size.width)))


class ReplyTurn(TurnView):
    """A reply on the screen: streams pieces until ``end``, then shows them as Markdown if ``rendered``."""

    speaker = "Model"

    def __init__(self, *, rendered: bool = True, debug: bool = False) -> None:
        self._body = ReplyBody()
        super().__init__(self._body)
        self._statistics = Statistics()
        self._marks: Stack | None = None
        self._marked = 0
        """The states of lookahead in this run of the reply that have been marked."""
        self._lookahead: bool | None = None
        self._rendered = rendered
        self._ended = False
        self._document: MarkdownReply | None = None
        self._former: MarkdownReply | None = None
        """The document before the reply was reopened, which stays until a new one or more of the text is shown."""
        self._checked = 0
        """The tokens of the answer that were tried for Markdown."""
        self._runs: list[Statistics] = []
        """The metrics of the reply until it ended, then of each continuation."""
        self._runs_on = False
        """True if something was said since the last of them."""
        self._metrics: MetricLine | None = None
        self._parts: list[StatusPart] = []
        """All metrics, shown while the turn has the focus; else a few, and why it ended if that is unusual."""
        self._few: list[StatusPart] = []
        self._summary: PackedLine | None = None
        self._nothing: Static | None = None
        self._debug = debug
        self._tree: CandidateTreeView | None = None
        self._column = 0
        """The text's end before the step that the tree shows."""

    def add(self, pieces: Iterable[Piece], statistics: Statistics) -> None:
        """Show more of the reply, and mark where lookahead was switched."""
        self._mark_switches(statistics)
        self._statistics, self._runs_on = statistics, True
        self._drop_former()
        self._body.extend(pieces)
        self._measure_thought([*self._runs, statistics])
        self._show_document()

    def end(self, reason: FinishReason, statistics: Statistics, why: str = "") -> None:
        """Show what was kept back, the metrics, in debug mode the SUMMARY, and ``why`` the reply was stopped."""
        self._conclude([*self._runs, statistics], reason, why, summarised=self._debug)
        # Textual may keep the height that a turn had before lines were added below a text that had just grown.
        self.set_timer(SETTLED_SECONDS, self._body.answer.lay_out)

    def _measure_thought(self, runs: Sequence[Statistics]) -> None:
        if (thought := self._body.thought) is not None:
            thought.measure(sum(run.thought_tokens for run in runs), sum(run.thought_seconds for run in runs))

    def show_step(self, inspection: Inspection, stage: CandidateStage) -> None:
        """Show a step's candidates where the text ends."""
        if self._tree is None:
            self._tree = CandidateTreeView()
            self._body.add(self._tree, after=self._body.answer)
        if stage is CandidateStage.PROPOSED or not inspection.candidates:
            self._column = self._body.answer.end_column
        self._tree.show(inspection, stage, self._column)

    def hide_steps(self) -> None:
        """Show the text alone."""
        if self._tree is not None:
            self._body.discard(self._tree)
            self._tree = None

    def reopen(self) -> None:
        """Reopen an ended reply: further tokens are appended to it."""
        self._ended, self._marked, self._checked = False, 0, 0
        self._former, self._document = self._document, None
        self._show_document()
        if self._document is None:
            self._drop_former()
        self._show_lines(False)
        self._body.reopen()
        if self._nothing is not None:
            self._body.discard(self._nothing)
            self._nothing = None

    def restore(self, turns: Sequence[Turn]) -> bool:
        """Show a stored reply with its continuations and metrics; False if it failed without any text."""
        for turn in turns:
            self._marked = 0
            if turn.statistics is not None:  # otherwise it is unknown how it was decoded
                self._mark_switches(turn.statistics)
                self._statistics = turn.statistics
            self._body.extend(turn.pieces())
        runs = [turn.statistics for turn in turns if turn.statistics is not None]
        self._conclude(runs, turns[-1].ending, turns[-1].error)
        return any(turn.reply or turn.ending not in (None, "failed") for turn in turns)

    def break_off(self) -> None:
        """End an interrupted reply: its text stays, with the metrics so far."""
        self._finish()
        if self._runs_on and self.text:
            self._runs.append(self._statistics)
            self._show_reply_metrics("failed")

    def open_thoughts(self, wanted: bool) -> None:
        self._body.open_thoughts(wanted)

    @property
    def text(self) -> str:
        """All that was said."""
        return self._body.text

    def on_click(self, event: Click) -> None:
        """Offer another token at the word that the right button was pressed on."""
        in_document = self._document.place_of if self._document is not None else None
        if event.button == 3:
            place = self._body.place_at(event.screen_x, event.screen_y, in_document)
            if place is not None:
                self.post_message(self.MenuWanted(self, place))

    def on_focus(self) -> None:
        self._show_metrics(whole=True)

    def on_blur(self) -> None:
        self._show_metrics(whole=self._debug)

    def set_debug(self, enabled: bool) -> None:
        """Show all metrics, or only those that matter to who reads."""
        self._debug = enabled
        self._show_metrics(whole=enabled or self.has_focus)

    def _show_metrics(self, *, whole: bool) -> None:
        if self._metrics is not None:
            self._metrics.show(self._parts if whole else self._few)

    def _show_lines(self, wanted: bool) -> None:
        for line in (self._metrics, self._summary):
            if line is not None:
                line.display = wanted

    def _conclude(self, runs: list[Statistics], ending: Ending | None, why: str, *, summarised: bool = False) -> None:
        """Show the whole of an ended reply; of one without a text, that the model said nothing."""
        self._finish()
        self._runs = runs
        self._measure_thought(runs)
        if nothing := nothing_said(self.text, ending, sum(run.generated_tokens for run in runs)):
            self._nothing = Static(f"({nothing})", markup=False, classes="mark")
            self._body.add(self._nothing, after=self._body.answer)
        self._show_reply_metrics(ending, why, summarised=summarised)

    def _show_reply_metrics(self, ending: Ending | None, why: str = "", *, summarised: bool = False) -> None:
        """Show the metrics of the whole reply, in place of those before it was continued."""
        for line in (self._metrics, self._summary):
            if line is not None:
                self._body.discard(line)
        self._metrics = self._summary = None
        self._runs_on = False
        if not self._runs:
            return
        statistics = of_whole(self._runs)
        self._parts = ended_parts(statistics, ending, why, lookahead=not statistics.lookahead)
        self._few = [each for each in self._parts if each.metric in FEW] + self._parts[-1:] * (ending != "eos")
        self._metrics = MetricLine(classes="metrics")
        self._body.add(self._metrics)
        self._show_metrics(whole=self._debug or self.has_focus)
        if summarised:
            self._summary = PackedLine(summary(statistics))
            self._body.add(self._summary)

    def _mark_switches(self, statistics: Statistics) -> None:
        states, on = [], statistics.lookahead
        for tokens in reversed((self._statistics.generated_tokens, *statistics.switches)):
            states.append((tokens, on))
            on = not on
        for tokens, on in states[::-1][self._marked :]:
            if self._lookahead is not None and on is not self._lookahead:
                self._mark(f"lookahead switched {'ON' if on else 'OFF'} after {counted(tokens, 'token')}")
            self._lookahead = on
        self._marked = len(states)

    def _mark(self, text: str) -> None:
        """Add a line below the text, which may still grow."""
        if self._marks is None:
            self._marks = Stack()
            self._body.add(self._marks)
        self._marks.add(Static(Content(printable(text)), markup=False, classes="mark"))

    def _finish(self) -> None:
        self.hide_steps()
        self._body.end()
        self._show_lines(True)
        self._ended = True
        self._show_document()

    def show_rendered(self, wanted: bool) -> None:
        """Show it as Markdown, or token by token; of a running reply the blocks that have ended."""
        self._rendered = wanted
        if self._document is not None:
            self._document.display = wanted and self._document.on_screen > 0
            self._body.answer.cover(self._document.on_screen if wanted else 0)
        self._show_document()

    def _show_document(self) -> None:
        """Render the finished blocks of an answer that is Markdown."""
        answer = self._body.answer
        count = len(answer.tokens) if self._ended else answer.closed
        if count == self._checked or not self._rendered:
            return
        self._checked = count
        if not is_markdown("".join(text for text, _ in answer.tokens[:count])):
            self._drop_document()
            return
        if self._document is None:
            from lade_chat.tui.reply.markdown_reply import MarkdownReply  # 50 ms that the first paint need not wait for

            self._document = MarkdownReply(self._cover_rendered)
            self._document.display = False  # until something of it is there
            self._body.add(self._document, before=answer)
        self._document.extend(answer.tokens[self._document.taken : count])

    def _cover_rendered(self, count: int) -> None:
        """Hide the answer's first ``count`` tokens, which its Markdown document now shows."""
        if self._document is not None and self._rendered:
            self._drop_former()
            self._document.display = True
            self._body.answer.cover(count)

    def _drop_document(self) -> None:
        self._former, self._document = self._document, None
        self._drop_former()

    def _drop_former(self) -> None:
        if self._former is not None:
            self._former.display = False  # removing many blocks takes some frames
            self._body.discard(self._former)
            self._former = None
            self._body.answer.cover(0)
