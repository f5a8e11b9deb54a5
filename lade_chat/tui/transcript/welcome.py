"""Welcome page: the purpose of the application, the meaning of the colours, and examples to try."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.presentation.sources import ColourView
from lade_chat.tui.terminal.key_names import keys_of
from lade_chat.tui.theme.token_colour import VERIFIED, follow_view, legend

EXAMPLES = {
    "Count from 3 to 30.": "text with a pattern is guessed best",
    "Write a Python function that returns the sum of a list.": "code",
    "Tell me a short story about a fox.": "prose: fewer guesses come true",
}
"""Questions that the bundled model can answer, worded as it has learnt them, and what each shows."""
ROWS = {"How does this work?": "on steps of this very model", **EXAMPLES}

ABOUT = "Chat with a language model that guesses several tokens ahead and keeps those it would have written anyway."


class Welcome(Vertical):
    """The page of an empty conversation: it goes away with the first message."""

    @dataclass
    class Picked(Message):
        """The user picked an example, or a command."""

        text: str

    def compose(self) -> ComposeResult:
        yield Static(ABOUT, markup=False, classes="about")
        yield Static(markup=False, classes="legend")
        yield Static("Try one (click, or Shift+Tab):", markup=False, classes="try")
        yield OptionList(*map(Option, ROWS), compact=True)
        yield Static(
            keys_of(self).put_into("{toggle_lookahead} lookahead on or off, any time · {race} race · {help} help"),
            markup=False,
            classes="keys",
        )

    def on_mount(self) -> None:
        follow_view(self, lambda view: self.query_one(".legend", Static).update(_legend(view)))

    def on_resize(self) -> None:
        """Tell beside each example what it shows, where that fits whole."""
        examples = self.query_one(OptionList)
        room = examples.scrollable_content_region.width
        for number, (text, shows) in enumerate(ROWS.items()):
            noted = Content.assemble(text, (f"  {shows}", "$foreground-muted"))
            examples.replace_option_prompt_at_index(number, noted if noted.cell_length <= room else Content(text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Picked(["/explain", *EXAMPLES][event.option_index]))


def _legend(view: ColourView) -> Content:
    """Return the legend in words for a newcomer; coloured by source, the shorter one of the prompt's border."""
    if view == "sources":
        return legend(view)
    return Content.assemble(
        ("guessed and verified", VERIFIED), ("  ·  ", "$foreground-muted"), "plain: one token a step"
    )
