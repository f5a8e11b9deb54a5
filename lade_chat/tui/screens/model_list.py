"""List of known models below the input field, narrowed by its text, selected with Up and Down; the hub on request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from textual import work
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.errors import LadeChatError
from lade_chat.known_models import models_at_hand
from lade_chat.known_models.asked_model import BUNDLED_NAME
from lade_chat.known_models.hub_search import NOTHING_FOUND, search
from lade_chat.known_models.models_at_hand import KnownModel, merged
from lade_chat.paths import expanded, place
from lade_chat.presentation.sanitize import printable

BUNDLED = KnownModel("", "comes with lade-chat")
MIN_NAME = 24
"""Characters of a long path that are shown at least."""
MIN_SEARCH = 2
"""Characters of the shortest text that the hub is searched for."""


class ModelList(OptionList, can_focus=False):
    """The list of models, hidden while empty; nothing is highlighted until the user moves into it."""

    def __init__(self, data_folder: Path, aliases: Mapping[str, str], asked: str = "") -> None:
        """``aliases``: short names, and the models that they stand for. ``asked``: the path asked for last."""
        super().__init__(compact=True, markup=False)
        self._asked = asked
        self._known = models_at_hand.short_names(aliases)
        self._shown: list[KnownModel] = []
        self._typed = ""
        self._data_folder = data_folder
        self._folders: Sequence[KnownModel] = ()
        """The folders found for a path; those that complete what is typed now are shown."""
        self._on_hub: dict[str, Sequence[KnownModel] | str] = {}
        """The hub's answers by search: models, or the line to be shown instead."""

    def on_mount(self) -> None:
        self._look()

    def on_resize(self) -> None:
        self._show()

    @property
    def chosen(self) -> KnownModel | None:
        """The model or folder that is highlighted."""
        place = self.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    @property
    def first_match(self) -> KnownModel | None:
        """The first line that fits what was typed, before others one of this very name; None for a broken file."""
        usable = [each for each in self._shown if each.is_usable]
        return min(usable, key=lambda each: each.path != self._typed, default=None) if self._typed.strip() else None

    def narrow(self, typed: str) -> None:
        """Show what fits what was typed."""
        self._typed = typed
        self._complete(typed)
        self._show()

    def move(self, direction: int) -> None:
        if direction > 0:
            self.action_cursor_down()
            if self.highlighted is not None and all(each.disabled for each in self.options[self.highlighted + 1 :]):
                self.scroll_to_highlight(top=True)  # nothing else shows the broken ones below it
        elif self.highlighted == 0:
            self.highlighted = None
        elif self.highlighted is not None:
            self.action_cursor_up()

    def search_if_chosen(self) -> bool:
        """Search the hub if the line that offers it is highlighted; False for any other line."""
        if self.highlighted is None or self.chosen is not None:
            return False
        self._on_hub[self._typed] = "Searching the Hugging Face Hub…"
        self._search(self._typed)
        self.highlighted = None
        self._show()
        return True

    @work
    async def _look(self) -> None:
        """List the models as they are found: the hub's cache may be large.

        A folder that was asked for may hold several GGUF files, so that one has to be chosen: these come first, then
        the recent ones.
        """
        asked = expanded(self._asked)
        places: tuple[Callable[[], Iterable[KnownModel]], ...] = (
            lambda: tuple(models_at_hand.gguf_files(asked)) if self._asked and os.path.isdir(asked) else (),
            lambda: (*models_at_hand.recent(self._data_folder), BUNDLED),
            lambda: models_at_hand.in_folder(Path()),
            models_at_hand.in_hub_cache,
            lambda: tuple(models_at_hand.of_other_programs()),
        )
        for find in places:
            for model in await asyncio.to_thread(find):
                if models_at_hand.is_bundled(model):  # which has a line of its own
                    continue
                where = place(model.path) if model.path else ""
                self._known[where] = merged(self._known.get(where), model)
            self._show()

    @work(exclusive=True, group="folders")
    async def _complete(self, typed: str) -> None:
        self._folders = await asyncio.to_thread(models_at_hand.completions, typed)
        self._show()

    @work(group="hub")
    async def _search(self, words: str) -> None:
        try:
            self._on_hub[words] = await asyncio.to_thread(search, words) or NOTHING_FOUND
        except LadeChatError as error:
            self._on_hub[words] = str(error)
        self._show()

    def _show(self) -> None:
        if not self.is_attached:
            return
        before, self._shown = self.chosen, self._fitting()
        self.clear_options()
        self.add_options([*(self._line(model) for model in self._shown), *self._hub_line()])
        self.display = self.option_count > 0
        paths = [model.path for model in self._shown]
        self.highlighted = paths.index(before.path) if before is not None and before.path in paths else None

    def _fitting(self) -> list[KnownModel]:
        typed, on_hub = self._typed.lower(), self._on_hub.get(self._typed, ())
        named = f"-m {typed}"  # a name with a blank stands in quotes
        known = [
            each
            for each in self._known.values()
            if typed in (each.path or BUNDLED_NAME).lower()
            or named in each.about.replace("'", "")
            or typed in each.about.lower().replace(",", "").split()  # an architecture, say
        ]
        folders = [each for each in self._folders if typed and each.path.lower().startswith(typed)]
        more = (*folders, *(on_hub if not isinstance(on_hub, str) else ()))
        fitting: dict[str, KnownModel] = {}
        for each in (*known, *more):
            fitting[each.path] = merged(fitting.get(each.path), each)
        return sorted(fitting.values(), key=lambda each: not each.is_usable)

    def _hub_line(self) -> list[Option]:
        """Offer to search the hub for what was typed, or report on the search."""
        typed = self._typed.strip()
        done = self._on_hub.get(self._typed)
        if isinstance(done, str):
            return [Option(Content.styled(done, "$text-warning"), disabled=True)]
        if done is not None or len(typed) < MIN_SEARCH or typed.startswith((".", "/", "~")):
            return []
        return [Option(Content.styled(f"search the Hugging Face Hub for “{printable(typed)}”", "italic"))]

    def _line(self, model: KnownModel) -> Option:
        """A model's line, disabled for a broken file; of a path that is too long the end, which tells files apart.

        The reason why a file is broken has a line of its own where it would be cut off.
        """
        name = printable(model.path or BUNDLED_NAME) + ("" if model.is_model else "/")
        room, blanks = self.size.width - len(model.about) - 3, "  "  # with the bar's column
        if len(name) > room and not model.is_usable:
            room, blanks = self.size.width - 1, "\n  "
        room = max(room, MIN_NAME)
        if self.size.width and len(name) > room:
            name = f"…{name[len(name) - room + 1 :]}"
        about = (f"{blanks}{printable(model.about)}", "$foreground-muted") if model.about else ""
        line = Content.assemble(name, about)
        return Option(line, disabled=not model.is_usable)
