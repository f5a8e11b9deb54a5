"""The prompt: Enter sends, Shift+Enter, Alt+Enter and Ctrl+J break the line, Up and Down recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual.events import Key, Paste, Resize
from textual.message import Message
from textual.reactive import var

from lade_chat.presentation.sanitize import printable
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.prompt.completion import CompletableCommand, CompletionList, completions, is_typed_whole
from lade_chat.tui.prompt.kept_texts import FoldedPastes, PromptHistory
from lade_chat.tui.prompt.shell_area import ShellArea
from lade_chat.tui.theme.colouring import show_legend

MAX_ROWS = 10
"""Rows of the prompt, its border included."""
ROWS_WITH_BORDER = 7
"""Rows of the screen from which on there is room for that: three, and header, transcript, status line and keys."""
_KEYS = "Enter sends, Ctrl+J breaks the line"
PLACEHOLDERS = (f"Say something. {_KEYS}", _KEYS, "Enter sends")
"""The longest that fits one line."""


class PromptEditor(ShellArea):
    """The text area for messages, at most a third of the screen; recalls earlier ones until the text is edited."""

    editing: var[int | None] = var[int | None](None)
    """The turn that is being edited: its question, or its reply if ``edits_reply``."""
    _more_below = False
    edits_reply = False
    _unedited = ""
    """What is being edited, as it was."""

    @dataclass
    class Submitted(Message):
        """The user wants to send ``text``."""

        text: str

    @dataclass
    class Folded(Message):
        """A long paste stands there as a marker."""

    @dataclass
    class TakeBackWanted(Message):
        """The user wants to edit the message that waits for the model."""

    def __init__(self, commands: Sequence[CompletableCommand], completions: CompletionList) -> None:
        """``completions``: the list that the screen shows for this prompt."""
        super().__init__(highlight_cursor_line=False, placeholder=PLACEHOLDERS[0])
        self.cursor_blink = False  # else an idle chat draws twice a second
        self._commands, self._completions = commands, completions
        self.has_waiting: Callable[[], bool] = lambda: False
        """Returns True while a message waits that can be taken back."""
        self.leaves: Callable[[str], bool] = lambda key: False
        """Returns True for a key that an empty prompt leaves to the screen."""
        self.earlier = PromptHistory()
        self._pastes = FoldedPastes()

    def on_mount(self) -> None:
        show_legend(self)

    def on_resize(self, event: Resize) -> None:
        room = event.size.width - 1  # the cursor's, at the end of a line
        self.placeholder = next((each for each in PLACEHOLDERS if len(each) <= room), PLACEHOLDERS[-1])

    def offer(self, command: str, *words: str) -> None:
        """Complete a command's argument with these words."""
        self._commands = [replace(each, words=words) if each.name == command else each for each in self._commands]

    def limit_height(self, screen_rows: int) -> None:
        """Limit the height to a third of the screen, border included, but leave at least one line visible.

        On a screen of fewer rows than the chat's lines take with it, there is no border.
        """
        is_flat = screen_rows < ROWS_WITH_BORDER
        self.set_class(is_flat, "-flat")
        self.styles.max_height = 1 if is_flat else max(3, min(MAX_ROWS, screen_rows // 3))

    def revise(self, turn: int, text: str, *, is_reply: bool = False) -> None:
        """Edit a question, or a reply: the next message replaces it. Esc cancels. Up recalls a draft afterwards."""
        self.drop_draft()
        self.put(text)
        self._unedited = self.text
        self.editing, self.edits_reply = None, is_reply
        self.editing = turn
        self.focus()

    def clear_all(self) -> None:
        """Empty the prompt; the next message is a new question."""
        self.editing, self._unedited = None, ""
        self.put("")

    def end_editing(self) -> None:
        """Edit nothing any more: what was typed stays as a draft, and what only stood there to be edited is gone."""
        if self.editing is not None and not self.is_typed:
            self.clear_all()
        self.editing = None

    def drop_draft(self) -> bool:
        """Clear the draft, which Up recalls, and end the editing; False if there is neither."""
        if not self.text and self.editing is None:
            return False
        if self.is_typed:
            dropped = self.message
            self.remember(dropped)
            self.take_back(dropped, drops=True)
        self.clear_all()
        return True

    @property
    def is_typed(self) -> bool:
        """True if there is a text that is not merely what is being edited."""
        return bool(self.text.strip()) and self.text != self._unedited

    def remember(self, text: str) -> None:
        """Add a message to the history, from which its long pastes come back folded."""
        self.earlier.add(self._pastes.refold(text))

    def watch_editing(self) -> None:
        does = "has the reply go on from here" if self.edits_reply else "asks this instead"
        text = f"editing: Enter {does}, {{stop}} gives it up"
        below = "↓ more below · Ctrl+End" if self._more_below else None
        self.border_title = below if self.editing is None else keys_of(self).put_into(text)

    def tell_below(self, is_more: bool) -> None:
        """Tell that the conversation goes on below what is shown of it, and the key that leads there."""
        self._more_below = is_more
        self.watch_editing()

    def put(self, text: str) -> None:
        """Replace the text, its long pastes folded again, cursor at its end."""
        self.load_text(self._pastes.refold(text))
        self.move_cursor(self.document.end)

    def take_back(self, text: str, *, drops: bool) -> None:
        """Put a waiting message back into an empty prompt, as if recalled from the history, unless one ``drops`` it.

        A draft is left alone.
        """
        self.earlier.take_back(self._pastes.refold(text))
        if text and not drops and not self.text:
            self.put(text)
            self.earlier.recall_last(self.text)

    def complete(self, *, send: bool = False) -> bool:
        """Insert the highlighted completion; False if there is none, or with ``send`` once a command is complete."""
        chosen = self._completions.chosen
        if chosen is None:
            return False
        row, column = self.cursor_location
        typed = self.document.get_line(row)[chosen.start : column]
        if send and typed == chosen.text:
            return False
        after = "" if not chosen.final or send else " "
        self.replace(chosen.text + after, (row, chosen.start), (row, column))
        return not (send and chosen.is_command)

    def offer_completions(self) -> None:
        """List what can follow the text before the cursor."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        # A recalled message is complete, and Up recalls the next one.
        recalled = self.earlier.is_recalled(self.text)
        at_end = not recalled and (column == len(line) or line[column : column + 1].isspace())
        found = completions(line[:column], self._commands, first_line=row == 0) if at_end else []
        whole = bool(found) and is_typed_whole(line[found[0].start : column], found[0])
        self._completions.offer(found, highlight=not whole)

    def on_key(self, event: Key) -> None:
        choices = self._completions if self._completions.display else None
        match event.key:
            case "tab":  # the focus stays in the prompt
                if not self.open_paste():
                    self._completions.pick()
                    self.complete()
            case "enter":
                if choices is None or not self.complete(send=True):
                    self.post_message(self.Submitted(self.message))
            case "up" if choices is not None:
                choices.action_cursor_up()
            case "down" if choices is not None:
                choices.action_cursor_down()
            case "shift+enter" | "alt+enter" | "ctrl+j":
                self.insert("\n")
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        event.text = self._pasted(event.text)
        event.stop()

    def action_paste(self) -> None:
        """Paste what was copied last in this application."""
        self.replace(self._pasted(self.app.clipboard), *self.selection, maintain_selection_offset=False)

    def _pasted(self, text: str) -> str:
        """Return a paste as it stands here: a long one folded to a marker; the message has the whole of it."""
        text = without_controls(text)
        marker = self._pastes.fold(text)
        if marker is not None:
            self.post_message(self.Folded())
        return text if marker is None else marker

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return (bool(self.text) or not self.leaves(key)) and super().check_consume_key(key, character)

    @property
    def message(self) -> str:
        """The text with every folded paste opened."""
        return self._pastes.unfold(self.text)

    def open_paste(self) -> bool:
        """Open the folded paste at the cursor; False if there is none."""
        row, column = self.cursor_location
        fold = self._pastes.at(self.document.get_line(row), column)
        if fold is not None:
            self.replace(fold.pasted, (row, fold.start), (row, fold.end))
        return fold is not None

    def action_delete_left(self) -> None:
        """Delete a character; the whole marker of a folded paste."""
        if not self.delete_marker():
            super().action_delete_left()

    def action_delete_word_left(self) -> None:
        """Delete a word; the whole marker of a folded paste."""
        if not self.delete_marker():
            super().action_delete_word_left()

    def delete_marker(self) -> bool:
        """Delete the marker of a folded paste before the cursor; False if there is none, or something is selected."""
        row, column = self.cursor_location
        fold = self._pastes.at(self.document.get_line(row)[:column], column)
        if fold is None or not self.selection.is_empty:
            return False
        self.delete((row, fold.start), (row, column))
        return True

    def action_cursor_up(self, select: bool = False) -> None:
        if not select and not self.text and self.has_waiting():
            self.post_message(self.TakeBackWanted())
        elif select or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if select or not self._recall(+1):
            super().action_cursor_down(select)

    def _recall(self, direction: int) -> bool:
        """Show an earlier or later prompt; False if the key should move the cursor instead."""
        recalled = self.earlier.recall(direction, self.text)
        if recalled is not None:
            self.put(recalled)
        return recalled is not None


def without_controls(text: str) -> str:
    """Return the text with line ends made ``\\n``, and without control characters other than tab."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in lines if printable(character) == character)
