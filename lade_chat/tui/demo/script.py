"""Script of the demo, a minute and a half: a chat, the switch, a race, slow motion."""

from __future__ import annotations

from lade_chat.errors import LadeChatError
from lade_chat.protocol.values import Sizes
from lade_chat.tui.demo.director import Director

CODE = "Write a Python function that returns the sum of a list."
COUNT = "Count from 5 to 20."
AGAIN = "Count from 8 to 30."
SWITCHED = "Count from 4 to 25."
RACED = "Count from 3 to 30."
SLOW = "Write a Python function that returns the product of a list."
SIZES = Sizes(window_size=5, ngram_size=5, guess_set_size=5)
"""Of what is shown step by step: automatic sizes may find that no guess pays on a busy machine."""


async def perform(do: Director) -> None:
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
        await scene(do)
    do.say("That is all. lade-chat opens the chat, lade-chat explain shows how it works.")
    await do.wait(4)


async def _chat(do: Director) -> None:
    await do.ask(CODE)
    await do.until_ready()
    await do.wait(3)
    await do.ask(COUNT)
    await do.until_ready()
    if do.has_verified:
        do.say("Tinted tokens were guessed, and then verified: they are what the model writes anyway.")
    else:
        do.say("No token is tinted: on this machine, just now, guesses would take longer than they save.")
    await do.wait(4)
    await do.ask(AGAIN)
    await do.until_ready()
    if do.has_verified:
        do.say("The more a text is like what was said before, the more of it is guessed. Tinted: verified.")
    else:
        do.say("No token is tinted here: it guesses only where that saves time. Next it will, to show how.")
    await do.wait(5)


async def _switch(do: Director) -> None:
    do.say("Ctrl+L switches lookahead, also in mid-reply. Slowed down to 8 steps a second:")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(SWITCHED)
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


async def _race(do: Director) -> None:
    do.say("Ctrl+R races it against plain decoding, each side on a clock of its own.")
    do.fix_sizes(None)
    await do.type(RACED)
    await do.press("ctrl+r")
    await do.until_raced()
    await do.wait(8)
    do.say("Ctrl+E explains the very steps just raced. Each line is what one step wrote.")
    await do.press("ctrl+e")
    await do.until_explained()
    await do.wait(7)
    await do.press("escape", "escape", "ctrl+u")


async def _slow_motion(do: Director) -> None:
    do.say("Slow motion. F9 before Enter: the reply starts paused. F10 takes a step.")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(SLOW)
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
