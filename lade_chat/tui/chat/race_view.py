"""The screens of a race above the chat: the race, its menu, and the name of its picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.screen import Screen

from lade_chat.export.content import Content
from lade_chat.export.recording import Recording
from lade_chat.protocol.events import Event
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.chat.saving import default_name, save_picture
from lade_chat.tui.control.view import ChatState
from lade_chat.tui.conversations.store_worker import Job
from lade_chat.tui.race.menu import RaceChoice, RaceMenu
from lade_chat.tui.race.queue import Races
from lade_chat.tui.race.screen import RaceScreen
from lade_chat.tui.screens.picture_name import PictureName
from lade_chat.tui.theme.colouring import view_of


class RaceView:
    """Opens screens above ``screen``, and passes on what the user does there."""

    def __init__(
        self, screen: Screen[None], stop: Job, again: Callable[..., None], explain: Callable[..., None]
    ) -> None:
        self._screen = screen
        self._stop, self._again, self._explain = stop, again, explain
        self._race: RaceScreen | None = None

    def begin(self, question: str, races: Races, state: ChatState) -> None:
        """Show a new race, in place of the one before."""
        app = self._screen.app
        assert state.model is not None, "a race needs a model"
        before, self._race = (
            self._race,
            RaceScreen(
                question,
                state.model.dtype,
                self._stop,
                races=races,
                titles=races.titles(state.options),
                again=self._again,
                menu=partial(self._open_menu, races, state),
                picture=partial(self._save, question, state.model),
                explain=partial(self._explain, races.current.messages if races.current else (), raced=True),
            ),
        )
        if before is not None and app.screen is before:
            app.switch_screen(self._race)
        else:
            app.push_screen(self._race)

    def handle(self, event: Event) -> None:
        """Show an event of the race."""
        if self._race is not None and self._race.is_on_stack:
            self._race.show_event(event)

    def _open_menu(self, races: Races, state: ChatState) -> None:
        def chosen(choice: RaceChoice | None) -> None:
            if choice is not None:
                self._screen.call_later(self._again, choice.left, choice.right, choice.suite or "")

        self._screen.app.push_screen(RaceMenu(races.left, races.right, state.options.sizes), chosen)

    def _save(self, question: str, model: ModelInfo, sides: tuple[Recording, ...], verdict: tuple[str, ...]) -> None:
        content = Content(question, model, sides, verdict, view_of(self._screen))
        name = default_name(f"race {question}", ".html")
        self._screen.app.push_screen(PictureName(name, lambda name: save_picture(self._screen, name, content)))
