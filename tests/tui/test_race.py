"""The race: two panes, each with its own metrics, and a verdict at the end."""

from __future__ import annotations

import re
from functools import partial

import pytest
from msgspec.structs import replace
from textual.color import Color
from textual.pilot import Pilot

from lade_chat.presentation.comparison import Score, outcome
from lade_chat.protocol.commands import Compare, Explain
from lade_chat.protocol.control import Stop
from lade_chat.protocol.events import ComparisonFinished, EngineLost, Failed
from lade_chat.protocol.values import Difference, Message, MethodSpec, ModelInfo, Statistics
from lade_chat.suites.prompts import BUNDLED, bundled_suites
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.control.view import Phase
from lade_chat.tui.race.menu import RaceMenu
from lade_chat.tui.race.pane import RacePane
from lade_chat.tui.race.screen import RaceScreen
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.explained import raced_walks
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

PLAIN = tuple((token,) for step in FUNCTION for token in step)


def run_both(engine: ScriptedEngine) -> None:
    engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
    engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
    engine.tell(finished(PLAIN, side="right", lookahead=False))


async def test_what_an_engine_tells_at_once_is_shown_once_the_panes_are_there(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        screen = RaceScreen("Write a function.", "float32", lambda: None)
        app.push_screen(screen)
        for event in streamed(FUNCTION)[1:]:
            screen.show_event(event)
        await sees(pilot, "16 steps")
        assert reply_text(app).count("It adds the numbers one by one.") == 1


@pytest.mark.parametrize("width", [120, 80])
async def test_both_sides_run_and_the_verdict_is_told(engine: ScriptedEngine, width: int) -> None:
    async with opened(engine, size=(width, 40)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        assert engine.sent_of(Compare) == [
            Compare((Message("user", "Write a function."),), app.chat_screen.chat.options)
        ]
        await sees(pilot, "longer than the clocks", "Both start alike")
        run_both(engine)
        await sees(pilot, "51 steps")
        left, right = app.screen.query(RacePane)
        assert (left.region.y == right.region.y) == (width == 120)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "Lookahead auto is 2.94x as fast as plain decoding")
        await sees(pilot, "16 steps", "0.90 s", "2.65 s", "56.7 tok/s", "The texts are identical")
        assert reply_text(app).count("It adds the numbers one by one.") == 2
        await pilot.press(*"More, same!")  # a letter starts no other race, and is not typed behind the screen
        await sees(pilot, "Nothing is typed here: Esc leads back.")
        await sees(pilot, "Lookahead auto is 2.94x as fast as plain decoding", "The texts are identical")
        await pilot.press("f1", "escape")
        await sees_no(pilot, "Nothing is typed here")
        assert len(engine.sent_of(Compare)) == 1
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert app.chat_screen.prompt.text == "Write a function."
        assert app.chat_screen.chat.conversation.messages == ()


@pytest.mark.parametrize(("speedup", "winner"), [(2.94, "left"), (0.5, "right"), (1.01, None)])
async def test_the_frame_of_the_winner_alone_stands_out_and_only_at_the_end(
    engine: ScriptedEngine, speedup: float, winner: str | None
) -> None:
    async with opened(engine, size=(120, 30)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        await sees(pilot, "longer than the clocks")

        def frames() -> dict[str, Color]:
            return {str(pane.id): pane.styles.border_top[1] for pane in app.screen.query(RacePane)}

        before = frames()
        assert before["left"] == before["right"]
        run_both(engine)
        engine.tell(ComparisonFinished(speedup, identical=True))
        await sees(pilot, "identical")
        assert {side for side, colour in frames().items() if colour != before[side]} == ({winner} - {None})


async def test_the_prompt_is_as_before_a_race_wherever_its_question_came_from(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt

        async def raced(question: str) -> str:
            """Let the race over ``question`` end, leave it, and return what the prompt holds."""
            await sees(pilot, f"Race: {question}", "waiting")
            run_both(engine)
            engine.tell(ComparisonFinished(2.94, identical=True))
            await sees(pilot, "esc Close")
            await pilot.press("escape")
            return prompt.text

        await say(app, pilot, "/compare Count from 3 to 9.")
        assert await raced("Count from 3 to 9.") == ""
        prompt.put("Why is that?")
        await pilot.press("ctrl+p", *"race", "enter")
        assert await raced("Why is that?") == "Why is that?"
        app.chat_screen.query_one("Welcome OptionList").focus()
        await pilot.press("end", "enter")
        await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.REPLYING)
        assert prompt.text == "Why is that?"  # an example takes nothing from a draft
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press("ctrl+u", "ctrl+r")
        assert await raced("Tell me a short story") == ""


async def test_a_tiny_screen_shows_both_texts(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 10)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "2.94x as fast", "lookahead auto", "plain decoding", "esc Close")
        await wait_until(pilot, lambda: screen_text(app).count("It adds the") == 2)


@pytest.mark.parametrize("speedup", [2.94, 0.34, 1.01])
async def test_a_small_screen_shows_the_whole_verdict(engine: ScriptedEngine, speedup: float) -> None:
    async with opened(engine, size=(40, 12)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(speedup, identical=True))
        figure = "(1.01x)" if speedup == 1.01 else "2.94x as fast"
        await wait_until(pilot, lambda: figure in (said := " ".join(screen_text(app).split())) and "identical." in said)


async def test_how_far_and_how_fast_have_their_names(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        await sees(pilot, "51 steps")
        tracks = [line for line in screen_text(app).splitlines() if "━" in line]
        assert len(tracks) == 2
        assert all(re.search(r"tokens ━+ +tok/s [▁▂▃▄▅▆▇█]+ ", line) for line in tracks)


async def test_a_race_that_verified_nothing_says_so_and_why(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(PLAIN)[1:], finished(PLAIN), *streamed(PLAIN, side="right", lookahead=False)[1:])
        engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(0.98, identical=True))
        await sees(
            pilot, "Lookahead auto verified nothing: no guess promised to save time here.", "guesses save nothing"
        )
        await sees(pilot, "51 steps · 51 tokens · 2.65 s")
        assert screen_text(app).count("guesses save nothing") == 1


async def test_a_step_tells_its_tokens_and_the_steps_just_raced_are_explained(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(60, 18)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:7])[1:], *streamed(PLAIN[:4], side="right", lookahead=False)[1:])
        await sees(pilot, "lookahead auto · 5 tokens in this step", "plain decoding · 1 token in this step")
        assert "e Explain" not in screen_text(app)  # not before the end
        await pilot.press("ctrl+e")
        assert not engine.sent_of(Explain)
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "at most 5 tokens in a step", "at most 1 token in a step", "e Explain")
        await pilot.press("ctrl+e")
        assert engine.sent_of(Explain) == [Explain((Message("user", "Write a function."),), raced=True)]
        engine.tell(*raced_walks())
        await sees(pilot, "The race, step by step", "2 ▸", "The longest step")
        await pilot.press("space")
        await sees(pilot, "Step 2 of the race", "Before this step the reply ends with")
        await pilot.press("escape")
        assert isinstance(app.screen, RaceScreen)
        assert app.chat_screen.chat.phase is Phase.READY


async def test_thoughts_are_folded_in_a_race_too(engine: ScriptedEngine) -> None:
    script = (("<think>", "carry", " the"), (" one", "</think>"), ("It", " is", " 42."))
    async with opened(engine, size=(120, 30)) as (app, pilot):
        app.chat_screen.prompt.put("17 + 25?")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(script)[1:], finished(script))
        await sees(pilot, "thought for 3 tokens", "It is 42.")
        assert "carry" not in screen_text(app)
        await pilot.press("f5")
        await sees(pilot, "carry the one")


async def test_the_first_difference_is_told(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(0.5, identical=False, difference=Difference(11, " sum", " total", 0.00012, 3.0)))
        await sees(pilot, "First difference at token 12")
        await sees(pilot, "Plain decoding is 2.00x as fast as lookahead auto", "“ sum” left, “ total” right")
        await sees(pilot, "0.00012 apart, 3 units in the last place")


async def test_an_empty_prompt_races_the_last_question(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+r")
        assert "Nothing to race yet" in status(app)
        await say(app, pilot, "one")
        await pilot.press("ctrl+r")
        assert "still answering" in status(app)
        engine.tell(*streamed((("1",),)), finished((("1",),)))
        await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
        await pilot.press("ctrl+r")
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", "one"),)


async def _begin_and_stop_a_race(engine: ScriptedEngine, app: ChatApp, pilot: Pilot[None]) -> None:
    app.chat_screen.prompt.put("Hello")
    await pilot.press("ctrl+r")
    engine.tell(*streamed(FUNCTION[:4])[1:])
    await sees(pilot, "4 steps")
    await pilot.press("escape")


def _end_the_race(engine: ScriptedEngine) -> None:
    engine.tell(finished(FUNCTION[:4], "cancelled"), finished(PLAIN[:4], "cancelled", side="right"))
    engine.tell(ComparisonFinished(1.0, identical=False))


async def test_escape_stops_the_race_and_then_closes_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await _begin_and_stop_a_race(engine, app, pilot)
        assert engine.sent_of(Stop)
        assert isinstance(app.screen, RaceScreen)
        _end_the_race(engine)
        await sees(pilot, "Stopped")
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert app.chat_screen.chat.phase is Phase.READY


async def test_a_second_escape_closes_the_race_as_soon_as_it_has_stopped(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await _begin_and_stop_a_race(engine, app, pilot)
        await sees(pilot, "Stopping…", "esc Close")
        await pilot.press("escape")
        await sees(pilot, "Stopping, then back…")
        _end_the_race(engine)
        await wait_until(pilot, lambda: app.screen is app.chat_screen)
        assert engine.sent_of(Stop) == [Stop()]
        assert app.chat_screen.chat.phase is Phase.READY


@pytest.mark.parametrize("event", [Failed("out of memory"), EngineLost("killed")])
async def test_a_race_that_breaks_off_says_so(engine: ScriptedEngine, event: Failed | EngineLost) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(event)
        await sees(pilot, f"broke off: {event.message}")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_there_is_no_race_where_there_is_no_lookahead(engine: ScriptedEngine) -> None:
    model = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False)
    async with opened(engine, model=model) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        assert not engine.sent_of(Compare)
        assert "nothing to race" in status(app)


async def test_who_leads_is_told_and_how_far_each_side_has_got(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:8])[1:], *streamed(PLAIN[:12], side="right", lookahead=False)[1:])
        await sees(pilot, "lookahead auto leads by 13 tokens at 0.50 s")
        engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
        await sees(pilot, "lookahead auto has finished, 39 tokens ahead")
        left, right = (str(pane.query_one(".race-track").render()) for pane in app.screen.query(RacePane))
        assert left.count("━") > 4 * right.count("━") > 0
        assert "█" in left


async def menu_of(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> RaceMenu:
    """The menu after a first race."""
    app.chat_screen.prompt.put("Hello")
    await pilot.press("ctrl+r")
    await sees(pilot, "longer than the clocks")
    await pilot.press("ctrl+o")
    assert isinstance(app.screen, RaceScreen)
    run_both(engine)
    engine.tell(ComparisonFinished(2.94, identical=True))
    await sees(pilot, "identical")
    await pilot.press("ctrl+o")
    await wait_until(pilot, lambda: isinstance(app.screen, RaceMenu))
    assert isinstance(app.screen, RaceMenu)
    return app.screen


async def test_other_methods_race_over_the_same_question(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await menu_of(app, pilot, engine)
        await sees(pilot, "plain decoding", "prompt lookup 10", "as many guesses as pay here")
        await pilot.press("down", "down", "tab", "end", "enter")
        await sees(pilot, "Jacobi decoding", "prompt lookup 10", "waiting")
        command = engine.sent_of(Compare)[-1]
        assert isinstance(command, Compare)
        assert (command.left, command.right) == (MethodSpec("jacobi"), MethodSpec("hf-prompt-lookup-10"))
        assert command.messages == (Message("user", "Hello"),)
        run_both(engine)
        engine.tell(ComparisonFinished(0.5, identical=True))
        await sees(pilot, "Prompt lookup 10 is 2.00x as fast as Jacobi decoding")
        await pilot.press("ctrl+r")
        await sees(pilot, "waiting")
        assert engine.sent_of(Compare)[-2:] == [command, command]
        run_both(engine)
        engine.tell(ComparisonFinished(1.01, identical=True))
        await sees(pilot, "Jacobi decoding and prompt lookup 10 are even")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_a_suite_is_raced_over_with_a_running_score(engine: ScriptedEngine) -> None:
    questions = [question.turns[0] for question in bundled_suites()[0].questions][:10]
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await menu_of(app, pilot, engine)
        await pilot.press("tab", "tab", "down", "enter")
        for number, question in enumerate(questions):
            await sees(pilot, f"{BUNDLED[0]} {number + 1}/10", "waiting", "esc Stop", "Both start with nothing")
            command = engine.sent_of(Compare)[-1]
            assert isinstance(command, Compare)
            assert command.fresh
            assert command.messages == (Message("user", question),)
            if number:
                wins = number - (number > 3)
                await sees(pilot, f"score {wins} : {number - wins} in {number} race")
            run_both(engine)
            engine.tell(ComparisonFinished(0.5 if number == 3 else 2.94, identical=number != 5))
        await sees(pilot, "score 9 : 1 in 10 races", "9 identical", "Lookahead auto is 2.94x as fast")
        await sees(pilot, "Won by lookahead auto: 9 · by plain decoding: 1", "identical texts: 9 of 10")
        assert len(engine.sent_of(Compare)) == 11


async def test_a_suite_that_is_stopped_ends_there(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await menu_of(app, pilot, engine)
        await pilot.press("tab", "tab", "down", "enter")
        await sees(pilot, "1/10", "waiting")
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "2/10", "waiting")
        await pilot.press("escape")
        await sees(pilot, "Stopping…", "stopping")
        assert "waiting" not in screen_text(app)
        engine.tell(finished((), "cancelled"), finished((), "cancelled", side="right"))
        engine.tell(ComparisonFinished(1.0, identical=True))
        await sees(pilot, "1/10 · score 1 : 0 in 1 race", "Stopped at", "over 1 race", "esc Close")
        assert "e Explain" not in screen_text(app)
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert len(engine.sent_of(Compare)) == 3


class TestWords:
    def test_a_score_adds_up_tokens_and_time(self) -> None:
        score = Score()
        side = partial(Statistics, generated_tokens=100)
        score.add(ComparisonFinished(2.0, identical=True), side(seconds=1.0), side(seconds=2.0))
        score.add(ComparisonFinished(0.5, identical=False), side(seconds=3.0), side(seconds=1.5))
        assert (score.races, score.left_wins, score.right_wins, score.identical) == (2, 1, 1, 1)
        assert score.speedup == pytest.approx(3.5 / 4.0)

    def test_a_hair_is_no_victory(self) -> None:
        assert outcome(1.01, "a", "b") == "a and b are even (1.01x)"
        assert outcome(1.0, "a", "b", (2.48, 2.49)) == "a and b are even (1.00x: 2.48 s and 2.49 s)"
        assert outcome(0.5, "a", "b") == "b is 2.00x as fast as a"
        assert outcome(0.5, "a", "b", (2.0, 1.0)) == "b is 2.00x as fast as a (1.00 s against 2.00 s)"
        assert Score().lines("a", "b") == ["no race was finished"]

    def test_equal_work_has_no_winner_whatever_the_clocks_say(self) -> None:
        def side(name: str, steps: int = 51, guessing: int = 0) -> Statistics:
            return Statistics(steps=steps, guessing_steps=guessing, method=MethodSpec(name))

        def told(speedup: float, *sides: Statistics) -> str:
            return outcome(speedup, "lookahead", "plain", sides=sides)

        same = "lookahead and plain took 51 steps each, so neither is faster: 1.99x is noise"
        assert told(1.99, side("lookahead", guessing=9), side("plain")) == same
        assert told(1 / 1.99, side("lookahead"), side("plain")) == same
        # Wrong guesses take time, fewer steps save it, and transformers' steps are others than ours.
        assert "plain is 1.25x as fast" in told(0.8, side("lookahead", guessing=9), side("plain"))
        assert "lookahead is 1.99x as fast" in told(1.99, side("lookahead", 40, 9), side("plain"))
        assert "lookahead is 1.99x as fast" in told(1.99, side("plain"), side("hf-generate"))
        score = Score()
        score.add(ComparisonFinished(1.99, identical=True), side("lookahead"), side("plain"))
        assert (score.races, score.left_wins, score.right_wins) == (1, 0, 0)

    def test_a_score_of_even_races_alone_is_even_whatever_the_clocks_say(self) -> None:
        score = Score()
        plain = Statistics(generated_tokens=51, steps=51, method=MethodSpec("plain"))
        left, right = replace(plain, seconds=1.0, method=MethodSpec("lookahead")), replace(plain, seconds=2.0)
        score.add(ComparisonFinished(2.0, identical=True), left, right)
        assert score.line() == "score 0 : 0 in 1 race · even · 1 identical"
        assert score.lines("a", "b")[0] == "a and b are even, over 1 race"
        score.add(ComparisonFinished(2.0, identical=True), replace(left, steps=40, guessing_steps=9), right)
        assert score.line() == "score 1 : 0 in 2 races · 2.00x over all · 2 identical"
