"""All conversations, those of the command line last: search as you type, resume, rename, delete and bring back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.presentation.sanitize import printable
from lade_chat.store.records import Summary
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.conversations.side_bar import model_name, wide_row
from lade_chat.tui.conversations.store_worker import StoreWorker
from lade_chat.tui.widgets.bars import KeyFooter
from lade_chat.tui.widgets.dialog import Dialog, DialogBox

PAGE = 50
TITLE = "Conversations"


class ConversationList(Dialog[str | None]):
    """The list of conversations; its result is the id of the one to resume. ``deleted`` collects restorable ids."""

    AUTO_FOCUS = "#search"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", priority=True),
        Binding("escape", "give_up", "Cancel", priority=True),
        Binding("enter", "resume", "Resume", priority=True),
        Binding("enter", "keep_title", "Rename", priority=True),
        Binding("f2", "rename", "Rename", priority=True),
        Binding("ctrl+d", "delete", "Delete", priority=True),
        Binding("ctrl+z", "undo", "Undo", priority=True),
        Binding("up", "move('up')", show=False, priority=True),
        Binding("down", "move('down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
    ]

    def __init__(
        self, worker: StoreWorker, here: Conversation, deleted: list[str], changed: Callable[[], None], search: str
    ) -> None:
        """``here``: the open conversation; ``changed`` is called once one was deleted or brought back."""
        super().__init__()
        self._deleted = deleted
        self._changed = changed
        self._worker = worker
        self._here = here
        self._search = search
        self._shown: list[Summary] = []
        self._asked = 0
        self._complete = False
        self._waiting = False
        """True until the list shows the result of the last request."""
        self._then: list[Callable[[], None]] = []
        """Actions that wait for that."""
        self._reported = False
        """True if the last line reports an action since the search was typed."""
        self._renaming: Summary | None = None

    def compose(self) -> ComposeResult:
        with DialogBox(TITLE):
            yield Input(self._search, placeholder="Search titles and texts", compact=True, id="search")
            title = Input(compact=True, id="title")
            title.display = False
            yield title
            yield OptionList(compact=True)
            yield Static(markup=False, classes="line")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._search_store()

    # --- input -------------------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "search":
            self._search_for(event.value)

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self._draw(self._list.highlighted))  # the list has not got its size yet

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_index >= len(self._shown) - 5 and not (self._complete or self._waiting):
            self._search_store(after=self._shown[-1])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("give_up", "keep_title"):
            return self._renaming is not None
        if action in ("resume", "rename", "delete") and not self._waiting and not self._shown:
            return False
        if action == "undo" and not self._deleted:
            return False
        return self._renaming is None or action not in ("dismiss", "resume", "rename", "delete", "undo", "move")

    def action_resume(self) -> None:
        self._when_shown(lambda chosen: self.dismiss(chosen.id))

    def action_rename(self) -> None:
        self._when_shown(self._begin_renaming)

    def action_delete(self) -> None:
        self._when_shown(self._delete)

    def action_keep_title(self) -> None:
        # Through the field's own queue, as it may not have handled the last keys yet.
        self.query_one("#title", Input).call_later(self._rename)

    def action_move(self, direction: str) -> None:
        getattr(self._list, f"action_{'cursor_' if direction in ('up', 'down') else ''}{direction}")()

    # --- actions -----------------------------------------------------------------------------------------------

    def _when_shown(self, act: Callable[[Summary], object]) -> None:
        """Act on the chosen conversation, once the list shows the matches of everything typed so far."""

        def act_on_chosen() -> None:
            if (chosen := self._chosen) is not None:
                act(chosen)

        def read() -> None:
            if not self.is_on_stack:
                return
            self._search_for(self.query_one("#search", Input).value)
            if self._waiting:
                self._then.append(act_on_chosen)
            else:
                act_on_chosen()

        self.query_one("#search", Input).call_later(read)

    def _begin_renaming(self, chosen: Summary) -> None:
        self.query_one("#title", Input).value = printable(chosen.record.title)
        self._show_field(chosen, "A new title, then Enter. Without one, the first question is the title again.")

    def _delete(self, chosen: Summary) -> None:
        self._deleted.append(chosen.id)
        self._waiting = True
        self._worker.change(lambda: self._worker.store.delete(chosen.id), self._search_again)
        self._reported = True
        self._show_line(f"“{printable(chosen.title)}” is deleted. Ctrl+Z brings it back.")

    def action_undo(self) -> None:
        back = self._deleted.pop()
        self._worker.change(lambda: self._worker.store.restore(back), self._search_again)
        self._show_line("Restored.")

    def _rename(self) -> None:
        if (conversation := self._renaming) is None or not self.is_on_stack:
            return
        title = self.query_one("#title", Input).value
        self._waiting = True
        if conversation.id == self._here.id:
            self._worker.change(lambda: self._here.rename(title), self._look_again)
        else:
            self._worker.change(lambda: self._worker.store.rename(conversation.id, title), self._look_again)
        self.action_give_up()

    def action_give_up(self) -> None:
        self._show_field(None, "")

    def _show_field(self, renaming: Summary | None, line: str) -> None:
        """Show the field for a conversation's new title, or that of the search."""
        self._renaming = renaming
        self.query_one(DialogBox).border_title = TITLE if renaming is None else "Rename"
        self.refresh_bindings()
        search, title = self.query_one("#search"), self.query_one("#title")
        search.display, title.display = renaming is None, renaming is not None
        (search if renaming is None else title).focus()
        self._show_line(line)

    # --- results -----------------------------------------------------------------------------------------------

    def _search_for(self, text: str) -> None:
        if text != self._search:
            self._search, self._reported = text, False
            self._list.highlighted = 0 if self._shown else None
            self._show_line("")
            self._search_store()

    def _search_again(self) -> None:
        self._look_again()
        self._changed()

    def _look_again(self) -> None:
        """Look up as many as are shown: the place in the list stays."""
        self._search_store(size=max(len(self._shown), PAGE))

    def _search_store(self, after: Summary | None = None, size: int = PAGE) -> None:
        """Look up so many matches; results of an earlier search are discarded."""
        self._asked += 1
        asked, search = self._asked, self._search

        def show(found: Sequence[Summary]) -> None:
            if asked == self._asked and self.is_on_stack:
                self._show_found(found, after, is_last=len(found) < size)

        def failed() -> None:
            if asked == self._asked and self.is_on_stack:
                self._waiting, self._then = False, []
                self._show_line(self._worker.trouble)

        self._complete, self._waiting = False, True
        self._worker.look_up(lambda: self._worker.store.page(search, after=after, size=size), show, failed)

    def _show_found(self, found: Sequence[Summary], after: Summary | None, *, is_last: bool) -> None:
        place = self._list.highlighted
        self._shown = [*self._shown, *found] if after is not None else list(found)
        self._complete = is_last
        self._draw(place)
        self.refresh_bindings()
        if not self._shown and not self._reported:
            none_yet = "No conversations yet: they are kept from their first question on."
            self._show_line("Nothing found." if self._search.strip() else none_yet)
        self._waiting = False
        while self._then and not self._waiting:
            self._then.pop(0)()

    def _draw(self, place: int | None) -> None:
        width = max(self._list.content_region.width - 2, 20)  # room for the scrollbar
        with self.prevent(OptionList.OptionHighlighted):
            self._list.clear_options()
            here, differ = self._here.id, len(set(map(model_name, self._shown))) > 1
            rows = (wide_row(each, width, self._search, here=each.id == here, differ=differ) for each in self._shown)
            self._list.add_options(Option(row, each.id) for row, each in zip(rows, self._shown, strict=True))
            if self._shown:
                self._list.highlighted = min(place or 0, len(self._shown) - 1)

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _chosen(self) -> Summary | None:
        place = self._list.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    def _show_line(self, text: str) -> None:
        self.query_one(".line", Static).update(Content(text))
