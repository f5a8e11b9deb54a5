"""Menus over a turn: what can be done with it, and the likeliest tokens at a place of its reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar, NamedTuple

from rich.cells import set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut
from lade_chat.presentation.thought_splitter import CLOSING, split_reply
from lade_chat.protocol.events import Failed, TokensRanked
from lade_chat.protocol.inspection import RankedToken
from lade_chat.protocol.values import Piece
from lade_chat.tui.widgets.dialog import Dialog, DialogBox


class TurnAction(NamedTuple):
    """An action with its key and its label; ``is_offered`` where the turn has a use for it."""

    key: str
    label: str
    act: Callable[[], object]
    is_offered: bool = True
    keeps_focus: bool = False
    """True if the turn keeps the focus, which goes to the prompt after any other action."""


class TurnMenu(Dialog[TurnAction | None]):
    """The menu of a turn: a letter, a click or Enter chooses an action; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close")]

    def __init__(self, actions: Sequence[TurnAction]) -> None:
        super().__init__()
        self._actions = [each for each in actions if each.is_offered]

    def compose(self) -> ComposeResult:
        rows = [Content.assemble((f" {each.key}  ", "bold"), each.label) for each in self._actions]
        with DialogBox("This turn", "Esc closes"):
            yield OptionList(*map(Option, rows), compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._actions[event.option_index])

    def on_key(self, event: Key) -> None:
        for action in self._actions:
            if event.character == action.key:
                event.stop()
                self.dismiss(action)


NAME_CELLS, BAR_CELLS = 20, 20
AROUND = 120
"""Characters of the reply shown before the place, and behind it."""


class TokenMenu(Dialog[tuple[str, RankedToken] | None]):
    """The tokens at a place, which the arrows change. Its result: the text up to there, and the token chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close"),
        Binding("left", "move(-1)", priority=True),
        Binding("right", "move(1)", priority=True),
        Binding("pageup", "move(-10)", priority=True),
        Binding("pagedown", "move(10)", priority=True),
        Binding("home", "move_to(0)", priority=True),
        Binding("end", "move_to(-1)", priority=True),
    ]

    def __init__(
        self,
        pieces: Sequence[Piece],
        places: Sequence[int],
        rank: Callable[[str, int, int], object],
        model: str,
        character: int | None = None,
    ) -> None:
        """``places``: the pieces in whose place another may be chosen, first that of ``character``, else the last.

        ``rank`` asks for the likeliest tokens behind a text: it is given that, the token there, and the place.
        """
        super().__init__()
        self._pieces, self._places, self._rank, self._model = pieces, places, rank, model
        self._at = len(places) - 1
        if character is not None:
            ends = list(accumulate(len(piece.text) for piece in pieces))
            self._at = next((at for at, place in enumerate(places) if ends[place] > character), self._at)
        self._asked: int | None = None
        """The place that was asked about last, until the answer comes."""
        self._tokens: tuple[RankedToken, ...] = ()

    def compose(self) -> ComposeResult:
        places = "← → place · " if len(self._places) > 1 else ""
        with DialogBox("Another token", f"{places}↑ ↓ token · Enter goes on from it · Esc closes"):
            yield Static(id="around", markup=False)
            yield OptionList(compact=True)
            about = f"{printable(self._model)}'s own probabilities, before temperature, top-k and the like"
            yield Static(about, markup=False, classes="about")

    def on_mount(self) -> None:
        self._show_place()

    def action_move(self, direction: int) -> None:
        """Go so many tokens back (below 0) or ahead."""
        self.action_move_to(min(max(self._at + direction, 0), len(self._places) - 1))

    def action_move_to(self, at: int) -> None:
        """Go to a token by its number; -1 is the last."""
        self._at = at % len(self._places)
        self._show_place()

    def show_event(self, event: TokensRanked | Failed) -> None:
        """Show what was asked for, or why it cannot be told."""
        asked, self._asked = self._asked, None
        tokens = self.query_one(OptionList).clear_options()
        if isinstance(event, Failed):
            tokens.add_option(Option(printable(event.message), disabled=True))
        elif event.place != self._place or asked is None:
            self._ask()
        else:
            self._tokens = event.tokens
            own = self._pieces[self._place].id
            for number, token in enumerate(event.tokens):
                can_stand = token.id != own and (bool(token.text) or token.ends)
                tokens.add_option(Option(_row(token, is_own=token.id == own), str(number), disabled=not can_stand))
            tokens.action_first()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss((self._before, self._tokens[int(event.option_id or 0)]))

    @property
    def _place(self) -> int:
        return self._places[self._at]

    @property
    def _before(self) -> str:
        return "".join(piece.text for piece in self._pieces[: self._place])

    def _show_place(self) -> None:
        split, own = split_reply(self._before), self._pieces[self._place].text
        before = (split.thought if split.is_open else split.answer).lstrip("\n")
        behind = "".join(piece.text for piece in self._pieces[self._place + 1 :])
        behind = behind.partition(CLOSING)[0] if split.is_open else behind
        shown = printable(own or " ").replace("\n", "⏎")
        self.query_one("#around", Static).update(
            Content.assemble(
                (printable(before[-AROUND:]), "$foreground-muted"),
                (shown, "reverse"),
                (printable(behind[:AROUND]), "$foreground-muted"),
            )
        )
        if self._asked is None:
            self._ask()

    def _ask(self) -> None:
        self._tokens = ()
        self._asked = self._place
        self._rank(self._before, self._pieces[self._place].id, self._place)


def _row(token: RankedToken, *, is_own: bool) -> Content:
    text = printable(token.text or token.name).replace("\n", "⏎").replace(" ", "·")
    bar = "━" * round(token.probability * BAR_CELLS)
    does = "in the reply" if is_own else "ends it" if token.ends else ""
    return Content.assemble(
        f"{token.rank:>3}  ",
        (set_cell_size(cut(text, NAME_CELLS), NAME_CELLS), "bold"),
        f" {token.probability:6.1%}  ",
        (set_cell_size(bar, BAR_CELLS), "$success"),
        f" {does}",
    )
