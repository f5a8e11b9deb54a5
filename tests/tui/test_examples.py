"""The welcome page: the bundled model's examples as it has learnt them, others for other models, none cut off."""

from __future__ import annotations

import re

import pytest
from textual.widgets import OptionList

from assets.recipe.skills.writing.talk import read_topics
from assets.recipe.words import read_wording
from lade_chat.protocol.commands import Explain, Reply
from lade_chat.protocol.values import ModelOptions
from lade_chat.tui.chat.decisions.navigation import load_model
from lade_chat.tui.explain.explain_screen import ExplainScreen
from lade_chat.tui.transcript.welcome import BUNDLED_EXAMPLES, EXAMPLES
from tests.tui.driving import opened, screen_text, sees, wait_until
from tests.tui.explained import walks
from tests.tui.scripted import ScriptedEngine

# A pool begins with its most usual phrase, which is always trained on.
LEARNT = (
    *(topic["ask"][0] for name in ("itself", "ideas") for topic in read_topics(name)),
    read_wording("measures/word_problems")["+"][0].partition(" => ")[0],
    read_wording("python/functions")["asks"][0],
    read_wording("numbers/counting")["up"][0],
    read_wording("lists/word_lists")["sort"][0],
    read_wording("formats/objects")["json"][0].replace(
        "{x}", read_wording("formats/objects")["sentence"][0].partition(" => ")[0]
    ),
    read_wording("text/echo")["echo"][0],
    read_wording("writing/stories")["asks_animal"][0],
)


def pattern(template: str) -> str:
    """What a phrase with its choices ``[one|other]`` and fields ``{x}`` can come to."""
    parts = re.split(r"(\[[^\[\]]*\]|\{\w+\})", template)
    return "".join(
        f"(?:{'|'.join(map(re.escape, part[1:-1].split('|')))})"
        if part.startswith("[")
        else ".+"
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )


@pytest.mark.parametrize("example", BUNDLED_EXAMPLES)
def test_an_example_is_worded_as_it_was_learnt(example: str) -> None:
    assert any(re.fullmatch(pattern(phrase), example) for phrase in LEARNT)


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (160, 50)])
async def test_all_examples_are_on_the_screen(engine: ScriptedEngine, size: tuple[int, int]) -> None:
    async with opened(engine, size=size) as (app, pilot):
        await sees(pilot, "ready")
        shown = screen_text(app)
        assert all(example[:40] in shown for example in BUNDLED_EXAMPLES)


async def test_the_last_one_is_sent_whole_from_a_small_screen(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 14)) as (app, pilot):
        app.screen.query_one("Welcome OptionList").focus()
        await pilot.press("end", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        command = engine.sent_of(Reply)[0]
        assert isinstance(command, Reply)
        assert command.messages[-1].content == [*BUNDLED_EXAMPLES][-1]


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
async def test_another_model_has_examples_for_any_model(engine: ScriptedEngine, size: tuple[int, int]) -> None:
    async with opened(engine, size=size) as (app, pilot):
        for path, offered in (("org/model", EXAMPLES), (None, BUNDLED_EXAMPLES), ("org/model", EXAMPLES)):
            app.chat_screen.decide(load_model, ModelOptions(path=path))
            engine.load()
            await sees(pilot, "ready", *(example[:40] for example in offered))
        app.screen.query_one("Welcome OptionList").focus()
        await pilot.press("end", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        command = engine.sent_of(Reply)[0]
        assert isinstance(command, Reply)
        assert command.messages[-1].content == [*EXAMPLES][-1]


async def test_the_first_one_explains_how_it_works(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.screen.query_one("Welcome OptionList").focus()
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.sent_of(Explain))
        assert not engine.sent_of(Reply)
        engine.tell(*walks())
        await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is app.chat_screen)
        assert isinstance(app.focused, OptionList)  # back to the examples
        await pilot.press(*"Hi")
        assert app.chat_screen.prompt.text == "Hi"
        assert app.focused is app.chat_screen.prompt
