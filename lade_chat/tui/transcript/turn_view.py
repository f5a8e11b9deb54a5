"""One turn of the conversation: the speaker in a narrow column, the text beside it, a long one folded.

A turn is made of few widgets: every line break in a running reply lays out all of them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from lade_chat.presentation.attachments import parted
from lade_chat.presentation.metric_words import counted
from lade_chat.presentation.sanitize import printable
from lade_chat.tui.conversations.conversation_session import ShownTurn
from lade_chat.tui.widgets.stack import Blank, Stack

MAX_ROWS = 10
"""Longer messages are folded."""
ROW = 100
"""About so many characters stand in a row."""
SHOWN_LINES, SHOWN_CHARACTERS = 3, 300
"""Lines and characters shown of a folded message's beginning."""
LAST_CHARACTERS = 200
"""Characters shown of its last line, which often is the question about what was pasted above it."""


class MessageText(Vertical):
    """The typed text as it is, with one clickable line per attached file."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._typed, self._files = parted(question)

    def compose(self) -> ComposeResult:
        typed = printable(self._typed)
        is_long = sum(1 + len(line) // ROW for line in typed.splitlines()) > MAX_ROWS
        yield folded_message(typed) if is_long else Static(Content(typed), markup=False)
        for file in self._files:  # a line each, or the file below it
            head = f"{printable(file.name)} · {counted(len(file.text.splitlines()), 'line')}"
            whole = Content(f"▾ {head}\n{printable(file.text)}")
            yield Folded(Content(f"▸ {head}"), whole, classes="file")


class Folded(Static):
    """A text shown in part; a click or ``toggle`` opens all of it."""

    def __init__(self, part: Content, whole: Content, classes: str = "") -> None:
        super().__init__(part, markup=False, classes=classes)
        self._shown, self._other = part, whole

    def on_click(self) -> None:
        if self.screen.get_selected_text() is None:
            self.toggle()

    def toggle(self) -> None:
        """Open it, or fold it again."""
        self._shown, self._other = self._other, self._shown
        self.update(self._shown)


def folded_message(text: str) -> Folded:
    """Return the beginning and the last line of a long message, or all of it."""
    lines = text.rstrip().splitlines() or [""]
    head, tail = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARACTERS], lines[-1][-LAST_CHARACTERS:]
    more = len(lines) - SHOWN_LINES - 1
    rest = counted(more, "more line") if more > 0 else counted(len(text) - len(head + tail), "more character")
    muted = "$foreground-muted"
    part = Content.assemble(head, (f"\n▸ {rest}\n", muted), tail)
    return Folded(part, Content.assemble(text, ("\n▾ fold", muted)))


class Alternatives(Static):
    """``‹ 2 of 3 ›``, to be clicked on."""

    def __init__(self, shown: ShownTurn) -> None:
        before, after = (Style.from_meta({"@click": f"screen.go_beside({shown.turn.id}, {each})"}) for each in (-1, 1))
        super().__init__(
            Content.assemble(("‹", before), f" {shown.place} of {shown.count} ", ("›", after)), markup=False
        )


class TurnView(Horizontal, Blank, can_focus=True):
    """A turn: the speaker's name on the left, ``said`` on the right. Focused by Shift+Tab or a click on the name."""

    FOCUS_ON_CLICK = False  # whoever clicks to select text goes on typing
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "screen.step(-1)", "Up"),
        Binding("down", "screen.step(1)", "Down"),
        Binding("enter", "menu", "What to do with it"),
        Binding("left", "alternative(-1)", "Alternatives", key_display="←→"),
        Binding("right", "alternative(1)", show=False),
        Binding("space", "unfold", "Open or fold", priority=True),
    ]
    speaker = ""

    @dataclass
    class MenuWanted(Message):
        """The user wants to do something with this turn, or to have another token at a place of its reply."""

        turn: TurnView
        place: int | None = None

    def __init__(self, said: Widget) -> None:
        super().__init__()
        self.said = said
        self.said.add_class("said")
        self.kept: ShownTurn | None = None
        """The turn as the store has it, as soon as its reply has ended."""

    def compose(self) -> ComposeResult:
        yield Speaker(self.speaker, classes="speaker", markup=False)
        yield self.said

    def keep(self, shown: ShownTurn) -> None:
        """Attach the stored turn, once this one has ended."""
        self.kept = shown

    def action_menu(self) -> None:
        self.post_message(self.MenuWanted(self))

    async def action_alternative(self, direction: int) -> None:
        if self.kept is not None:
            await self.run_action(f"screen.go_beside({self.kept.turn.id}, {direction})")

    def action_unfold(self) -> None:
        """Open or fold a long message, and its files."""
        for folded in self.query(Folded):
            folded.toggle()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Alternatives are offered only where there are some, and opening where something is folded."""
        if action == "unfold":
            return bool(self.query(Folded))
        return action != "alternative" or (self.kept is not None and self.kept.count > 1)


class Speaker(Static):
    """A click on it opens the turn's menu."""

    def on_click(self, event: Click) -> None:
        if isinstance(self.parent, TurnView):
            event.stop()
            self.parent.action_menu()


class UserTurn(TurnView):
    """The user's exact message; a dim word below it while it waits for the model."""

    speaker = "You"

    def __init__(self, text: str, *, waiting: bool = True) -> None:
        self._stack = Stack()
        super().__init__(self._stack)
        self._stack.add(MessageText(text))
        self._waiting: Static | None = None
        self._alternatives: Alternatives | None = None
        if waiting:
            self._waiting = Static(markup=False)
            self._stack.add(self._waiting)

    def wait(self, *, is_last: bool) -> None:
        """Tell that it waits; the last of those that do can be taken back."""
        if self._waiting is not None:
            words = "waits for the model · Up takes it back" if is_last else "waits for the model"
            self._waiting.update(Content.styled(words, "$foreground-muted italic"))

    def answered(self) -> None:
        """Show that the question waits no longer."""
        if self._waiting is not None:
            self._stack.discard(self._waiting)
            self._waiting = None

    def keep(self, shown: ShownTurn) -> None:
        super().keep(shown)
        if self._alternatives is not None:
            self._stack.discard(self._alternatives)
            self._alternatives = None
        if shown.count > 1:
            self._alternatives = Alternatives(shown)
            self._stack.add(self._alternatives)
