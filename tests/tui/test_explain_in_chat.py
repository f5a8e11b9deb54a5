"""The explanation opened from the chat, and closed again."""

from __future__ import annotations

from lade_chat.protocol.commands import Explain, Stop
from lade_chat.protocol.events import EngineLost
from lade_chat.protocol.tutorial import ExplainFinished
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.explain.screen import ExplainScreen
from lade_chat.tui.screens.manual import HelpScreen
from tests.tui.driving import opened, say, status, wait_until
from tests.tui.explained import sees, walks
from tests.tui.scripted import ScriptedEngine, finished, streamed

ONE = (("1",),)


class TestFromTheChat:
    async def explained(self, app: ChatApp, engine: ScriptedEngine, pilot) -> None:
        await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        assert len(engine.sent_of(Explain)) == 1

    async def test_by_command_and_back_again(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(*walks())
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
            await pilot.press("space", "space")
            await sees(pilot, "1 of 3")
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
            assert not engine.sent_of(Stop)
            await say(app, pilot, "Hello")
            assert app.chat_screen.state.phase is Phase.REPLYING

    async def test_from_the_help(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await pilot.press("f1")
            await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("ctrl+e")
            await self.explained(app, engine, pilot)

    async def test_left_early_the_engine_is_stopped_and_the_chat_goes_on(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(*walks()[:1])
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
            assert engine.sent[-1] == Stop()
            engine.tell(ExplainFinished())
            await wait_until(pilot, lambda: "ready" in status(app))

    async def test_an_engine_that_is_lost_meanwhile_is_told_in_both_places(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(EngineLost("the engine process ended"))
            await sees(pilot, "It broke off", "the engine process ended")
            await pilot.press("escape")
            await sees(pilot, "The engine process ended")
            assert app.chat_screen.state.phase is Phase.LOST

    async def test_asked_for_too_early_it_opens_once_the_model_is_free_and_interrupts_nobody(
        self, engine: ScriptedEngine
    ) -> None:
        async with opened(engine, model=None) as (app, pilot):
            app.screen.query_one("Welcome OptionList").focus()
            await pilot.press("enter")
            await sees(pilot, "How it works opens once the model is loaded.")
            engine.load()
            await self.explained(app, engine, pilot)
            engine.tell(*walks())
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
            await pilot.press("escape")
            app.chat_screen.prompt.focus()

            async def ask_and_explain() -> None:
                await say(app, pilot, "Hello")
                await say(app, pilot, "/explain")
                engine.tell(*streamed(ONE))
                await sees(pilot, "How it works opens when this reply has ended.", "tok/s")

            await ask_and_explain()
            await pilot.press(*"a draft")
            engine.tell(finished(ONE))
            await sees(pilot, "Type /explain now")
            await pilot.press("ctrl+u")
            await ask_and_explain()
            await pilot.press("escape", "escape")  # forgets it
            engine.tell(finished(ONE, "cancelled"))
            await sees(pilot, "ready")
            assert len(engine.sent_of(Explain)) == 1
            await ask_and_explain()
            await say(app, pilot, "Later")
            engine.tell(finished(ONE))
            await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
            engine.tell(*walks())
            await sees(pilot, "1 / ")
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.REPLYING)  # what was queued

    async def test_it_is_refused_where_lookahead_is_not_to_be_had(self, engine: ScriptedEngine) -> None:
        plain = ModelInfo("mamba", "cpu", "float32", 1, 512, lookahead_supported=False)
        async with opened(engine, model=plain) as (app, pilot):
            await say(app, pilot, "/explain")
            await sees(pilot, "so there is nothing to show.")
        assert not engine.sent_of(Explain)
