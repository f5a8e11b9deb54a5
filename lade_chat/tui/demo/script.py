"""Script of the demo, a minute and a half: a chat, the switch, a race, slow motion."""

from __future__ import annotations

from typing import NamedTuple

from lade_chat.errors import LadeChatError
from lade_chat.protocol.values import ModelOptions, Sizes
from lade_chat.tui.demo.director import Director


class Prompts(NamedTuple):
    """The prompts of all scenes."""

    asked: tuple[str, str, str]
    """Of the chat."""
    switched: str
    raced: str
    slow: str


BUNDLED = Prompts(
    asked=(
        "Write a Python function that returns the sum of a list.",
        "Count from 5 to 20.",
        "Count from 8 to 30.",
    ),
    switched="Count from 4 to 25.",
    raced="Count from 3 to 30.",
    slow="Write a Python function that returns the product of a list.",
)
"""Worded as the bundled model has learnt them."""
INSTRUCT = Prompts(
    asked=(
        "Rewrite this e-mail so that it is more polite:\n"
        "Hi Tom,\n"
        "the sales report is late again. I need it by Friday noon, with the numbers for March and April. Please send a"
        " copy to Eva, too.\n"
        "Best, Ann",
        "Now make it shorter.",
        "Why is the sky blue? Answer in three sentences.",
    ),
    switched="Write a Python class Rectangle with the methods area and perimeter.",
    raced="How long is the Danube and which cities does it pass? Answer from this text: The Danube is a river in"
    " Europe. It is 2,850 km long. It rises in the Black Forest and flows into the Black Sea. It passes Vienna,"
    " Bratislava, Budapest and Belgrade.",
    slow="Add a method that tells whether it is a square.",
)
"""For any other model: an e-mail, prose, code and more of it, facts from a text."""


def prompts_for(model: ModelOptions) -> Prompts:
    """Return the prompts that suit a model."""
    return BUNDLED if model.path is None else INSTRUCT


SIZES = Sizes(window_size=5, ngram_size=5, guess_set_size=5)
"""Of what is shown step by step: automatic sizes may find that no guess pays on a busy machine."""


async def perform(do: Director, prompts: Prompts) -> None:
    """Play all scenes; captions fit two lines of 58 cells.

    Raises:
        LadeChatError: the model cannot be loaded, or lookahead cannot serve it.
    """
    do.say("lade-chat: a chat with a language model that guesses several tokens ahead.")
    await do.wait(3)
    await do.until_ready()
    model = do.state.model
    if model is None or not model.lookahead_supported:
        raise LadeChatError("Lookahead cannot serve this model, so there is nothing to show.")
    for scene in (_chat, _switch, _race, _slow_motion):
        await scene(do, prompts)
    do.say("That is all. lade-chat opens the chat, lade-chat explain shows how it works.")
    await do.wait(4)


async def _chat(do: Director, prompts: Prompts) -> None:
    first, second, third = prompts.asked
    await do.ask(first)
    await do.until_ready()
    await do.wait(3)
    await do.ask(second)
    await do.until_ready()
    if do.has_verified:
        do.say("Tinted tokens were guessed, and then verified: they are what the model writes anyway.")
    else:
        do.say("No token is tinted: on this machine, just now, guesses would take longer than they save.")
    await do.wait(4)
    await do.ask(third)
    await do.until_ready()
    if do.has_verified:
        do.say("The more a text is like what was said before, the more of it is guessed. Tinted: verified.")
    else:
        do.say("No token is tinted here: it guesses only where that saves time. Next it will, to show how.")
    await do.wait(5)


async def _switch(do: Director, prompts: Prompts) -> None:
    do.say("Ctrl+L switches lookahead, also in mid-reply. Slowed down to 8 steps a second:")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(prompts.switched)
    await do.press("]", "]", "]", "]")
    await do.wait(2.5, lambda: do.is_ready)
    await do.press("ctrl+l")
    do.say("Off: no guesses, one token a step. The text goes on as if nothing had happened.")
    await do.wait(4, lambda: do.is_ready)
    await do.press("ctrl+l")
    do.say("And on again. The text is the same either way.")
    await do.wait(6, lambda: do.is_ready)
    await do.hurry()
    await do.wait(2)


async def _race(do: Director, prompts: Prompts) -> None:
    do.say("Ctrl+R races it against plain decoding, each side on a clock of its own.")
    do.fix_sizes(None)
    await do.type(prompts.raced)
    await do.press("ctrl+r")
    await do.until_raced()
    await do.wait(8)
    do.say("Ctrl+E explains the very steps just raced. Each line is what one step wrote.")
    await do.press("ctrl+e")
    await do.until_explained()
    await do.wait(7)
    await do.press("escape", "escape", "ctrl+c")


async def _slow_motion(do: Director, prompts: Prompts) -> None:
    do.say("Slow motion. F9 before Enter: the reply starts paused. F10 takes a step.")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(prompts.slow)
    for _ in range(4):
        await do.wait(1.5)
        await do.press("f10")
    await do.wait(1.5)
    do.say("] lets it run, a step a second. Guesses hang where the text ends; one run of the model checks all.")
    await do.press("]")
    await do.wait(12, lambda: do.is_ready)
    do.say("Right guesses take their source's colour and are written. The others fade.")
    await do.press("]")
    await do.wait(8, lambda: do.is_ready)
    do.say("] again, up to full speed.")
    await do.hurry()
    await do.wait(4)
