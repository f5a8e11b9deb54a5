"""Welcome page: the purpose of the application, the meaning of the colours, and examples to try."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.presentation.token_looks import ColourView
from lade_chat.protocol.values import ModelOptions
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.theme.colouring import follow_view
from lade_chat.tui.theme.token_tints import VERIFIED, legend

BUNDLED_EXAMPLES = {
    "Repeat after me: the tide comes in, the ship goes out.": "guessed best",
    "Write a Python function that returns the sum of a list.": "code",
    "Tell me a short story about a fox.": "prose: fewer guesses come true",
}
"""Questions that the bundled model can answer, worded as it has learnt them, and what each shows."""
EXAMPLES = {
    "List the cities in this text: The Danube passes Vienna, Bratislava, Budapest and Belgrade.": "words of the text",
    "Make this e-mail more polite: The report is late again. I need it by Friday noon. Ann": "an e-mail",
    "Write a Python class Rectangle with the methods area and perimeter.": "code",
    "Why is the sky blue? Answer in three sentences.": "prose: fewer guesses come true",
}
"""For any other model."""
EXPLANATION = {"How does this work?": "on steps of this very model"}

ABOUT = "Chat with a language model that guesses several tokens ahead and keeps those it would have written anyway."


class Welcome(Vertical):
    """The page of an empty conversation: it goes away with the first message."""

    def __init__(self, model: ModelOptions) -> None:
        super().__init__()
        self._rows = rows_for(model)

    def compose(self) -> ComposeResult:
        yield Static(ABOUT, markup=False, classes="about")
        yield Static(markup=False, classes="legend")
        yield Static("Try one (click, or Shift+Tab):", markup=False, classes="try")
        yield OptionList(*map(_option, self._rows))
        yield Static(
            keys_of(self).put_into("{toggle_lookahead} lookahead on or off, any time · {race} race · {help} help"),
            markup=False,
            classes="keys",
        )

    def on_mount(self) -> None:
        follow_view(self, lambda view: self.query_one(".legend", Static).update(_legend(view)))

    def offer(self, model: ModelOptions) -> None:
        """Offer the examples that suit a model."""
        if (rows := rows_for(model)) != self._rows:
            self._rows = rows
            self.query_one(OptionList).clear_options().add_options(map(_option, rows))
            self.on_resize()

    def on_resize(self) -> None:
        """Tell beside each example what it shows, where that fits whole."""
        examples = self.query_one(OptionList)
        room = examples.scrollable_content_region.width
        for number, (text, shows) in enumerate(self._rows.items()):
            noted = Content.assemble(text, (f"  {shows}", "$foreground-muted"))
            examples.replace_option_prompt_at_index(number, noted if noted.cell_length <= room else Content(text))


def rows_for(model: ModelOptions) -> Mapping[str, str]:
    """Return the rows for a model, and what each shows: the explanation, and examples that suit it."""
    return {**EXPLANATION, **(BUNDLED_EXAMPLES if model.path is None else EXAMPLES)}


def _option(row: str) -> Option:
    """Return the option of a row, whose id is the message or command that it sends."""
    return Option(row, "/explain" if row in EXPLANATION else row)


def _legend(view: ColourView) -> Content:
    """Return the legend in words for a newcomer; coloured by source, the shorter one of the prompt's border."""
    if view == "sources":
        return legend(view)
    return Content.assemble(
        ("guessed and verified", VERIFIED), ("  ·  ", "$foreground-muted"), "plain: one token a step"
    )
