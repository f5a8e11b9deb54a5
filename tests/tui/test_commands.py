"""Slash commands: how they are read, what each does, and the line that answers a wrong one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lade_chat.protocol.commands import Compare, Load, Reply, SetLookahead
from lade_chat.protocol.values import Sampling
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.slash_commands import COMMANDS
from lade_chat.tui.chat.slash_dispatch import parse
from lade_chat.tui.prompt.completion import is_command, unescaped
from lade_chat.tui.race.race_screen import RaceScreen
from lade_chat.tui.screens.model_choice import ModelScreen
from tests.tui.driving import opened, say, screen_text, sees, status, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed
from tests.tui.talking import SHORT, asked


@pytest.mark.parametrize("text", ["/retry", "/ret", "/RETRY  ", "/retry\n"])
def test_a_command_is_found_by_its_name_or_the_beginning_of_it(text: str) -> None:
    assert parse(text) == (next(each for each in COMMANDS if each.name == "retry"), "")


def test_what_follows_a_command_is_its_argument() -> None:
    command, argument = parse("/compare Tell me  a story. ")
    assert (command.name, argument) == ("compare", "Tell me  a story.")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("/retyr", "/retry?"),
        ("/lokahead", "/lookahead?"),
        ("/exprot x.gif", "/export?"),
        ("/models", "/model?"),
        ("/exit", "/quit?"),
    ],
)
def test_an_unknown_command_is_answered_with_what_is_near(text: str, near: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"Did you mean {near}")):
        parse(text)


REFUSED_BEGINNINGS = {
    "/re": "/re may be /resume, /rename, /retry or /reopen.",
    "/s": "/s may be /save, /system, /set, /settings or /sidebar.",
    "/d": "/d may be /delete or /debug.",
    "/DEL": "/DEL is not enough: /delete has to be typed whole.",
    "/delet": "/delet is not enough: /delete has to be typed whole.",
}


async def test_a_beginning_that_does_not_do_is_refused(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        for text, wrong in REFUSED_BEGINNINGS.items():
            await pilot.press(*text, "enter")
            await wait_until(pilot, lambda wrong=wrong: wrong in status(app))
            assert app.screen is app.chat_screen
            assert app.chat_screen.conversation.turns


@pytest.mark.parametrize("keys", [("/delete", ""), ("/d", "tab"), ("/delet", "down")])
async def test_delete_is_typed_whole_or_picked(engine: ScriptedEngine, keys: tuple[str, str]) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        typed, pick = keys
        await pilot.press(*typed, *filter(None, [pick]), "enter")
        await wait_until(pilot, lambda: not app.chat_screen.conversation.turns)
        assert not app.chat_screen.prompt.text


@pytest.mark.parametrize("text", ["/foo", "/xyzzy", "/bar", "/etc/passwd", "/hp", "/a"])
def test_where_nothing_is_near_nothing_is_suggested(text: str) -> None:
    with pytest.raises(ValueError, match=r"There is no command /\S+\. / lists them all; // sends a slash\.") as refused:
        parse(text)
    assert "mean" not in str(refused.value)


def test_a_slash_alone_is_told_where_the_commands_are() -> None:
    with pytest.raises(ValueError, match="/help commands lists"):
        parse("/")


def test_two_slashes_are_a_text() -> None:
    assert not is_command("//etc/passwd")
    assert is_command("  /explain")
    assert not is_command("  // a comment")
    assert unescaped("//etc/passwd") == "/etc/passwd"
    assert unescaped("1 // 2") == "1 // 2"


async def test_an_unknown_command_is_sent_to_nobody_and_comes_back_to_be_corrected(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await say(app, pilot, "/frobnicate")
        await wait_until(pilot, lambda: "There is no command /frobnicate" in status(app))
        assert "Up brings it back." in status(app)
        assert prompt.text == ""  # what is typed next is not appended to it
        await pilot.press("up")
        assert (prompt.text, prompt.cursor_location) == ("/frobnicate", (0, len("/frobnicate")))
        assert "There is no command /frobnicate" in status(app)
        await pilot.press("backspace")
        assert "There is no command /frobnicate" not in status(app)
        assert not engine.sent_of(Reply)
        await say(app, pilot, "//frobnicate")
        await wait_until(pilot, lambda: asked(engine).messages[-1].content == "/frobnicate")


async def test_options_are_set_for_the_next_reply(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text in ("/set temperature 0.8", "/set seed=7", "/set max-new-tokens 50", "/set window_size 4"):
            await say(app, pilot, text)
        await say(app, pilot, "Hello")
        options = asked(engine).options
        assert options.sampling == Sampling(temperature=0.8, seed=7)
        assert options.max_new_tokens == 50
        assert options.sizes is not None
        assert options.sizes.window_size == 4
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await say(app, pilot, "/set temperature 0")
        await say(app, pilot, "/set sizes auto")
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: asked(engine).options.sampling is None)
        assert asked(engine).options.sizes is None


async def test_a_stop_string_may_hold_an_equals_sign(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text, stop in (("stop a=b", "a=b"), ("stop=x = y", "x = y"), ("stop = z", "z")):
            await say(app, pilot, f"/set {text}")
            assert app.chat_screen.state.options.stop == (stop,)


async def test_a_window_beyond_the_context_is_refused_at_once(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/set window_size 100000")
        assert "choose a smaller W or N than 100000 and 5" in status(app)
        assert app.chat_screen.state.options.sizes is None


async def test_a_seed_draws_whether_a_penalty_is_set_before_it_or_after(engine: ScriptedEngine) -> None:
    drawn, greedy = Sampling(repetition_penalty=1.2, seed=3), Sampling(temperature=0.0, repetition_penalty=1.2)
    async with opened(engine) as (app, pilot):
        for given, sampling in (
            (("repetition_penalty 1.2", "seed 3"), drawn),
            (("seed 3", "repetition_penalty 1.2"), drawn),
            (("repetition_penalty 1.2", "seed"), greedy),
            (("repetition_penalty 1.2", "seed 3", "seed"), greedy),
            (("repetition_penalty 1.2", "seed 3", "temperature 0"), greedy),
        ):
            for setting in ("temperature", "seed", "repetition_penalty", *given):
                await say(app, pilot, f"/set {setting}")
            assert app.chat_screen.state.options.sampling == sampling, given


async def test_sampling_that_a_setting_implied_goes_with_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for removed, left in (
            (("seed",), None),
            (("temperature", "seed"), None),
            (("seed", "temperature 0.8", "temperature"), None),
            (("temperature 1", "seed"), Sampling(temperature=1.0)),  # asked for, not implied
            (("temperature", "top_p 0.9", "seed"), Sampling(top_p=0.9)),
        ):
            await say(app, pilot, "/set seed 5")
            await sees(pilot, "temperature 1, seed 5")
            for setting in removed:
                await say(app, pilot, f"/set {setting}")
            assert app.chat_screen.state.options.sampling == left, removed
            shown = "temperature 1" in screen_text(app).splitlines()[0]
            assert shown is (left is not None)


REFUSED = {
    "/set temperature hot": "temperature must be a number of at least 0, not hot.",
    "/set temperature -4": "temperature must be a number of at least 0, not -4. Up brings it back.",
    "/set seed 1e9": "seed must be a whole number from 0 to 2⁶⁴ - 1, not 1e9. Up",
    "/set max_new_tokens 99999999999999999999": "max_new_tokens must be a whole number from 1 to 1000000, not 99",
    "/set top_p 2": "top_p must be a number above 0, at most 1, not 2",
    "/set temprature 1": "Did you mean temperature?",
    "/lookahead maybe": "/lookahead on, or /lookahead off",
    "/copy": "There is no reply to copy yet",
    "/copy that": "/copy code, or /copy all",
    "/retry": "Nothing to ask again yet",
    "/continue": "There is no reply to continue yet",
    "/edit": "There is no question to edit yet",
    "/save": "There is nothing to save yet",
    "/rename x": "There is nothing to name yet",
    "/delete": "There is nothing to delete yet",
    "/system": "There is no system prompt",
    "/system save": "/system save NAME",
    "/theme lade-papre": "Did you mean lade-paper?",
    "/temperature 5": "There is no command /temperature. Did you mean /set temperature?",
}


async def test_what_cannot_be_done_is_said_in_a_line(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(160, 24)) as (app, pilot):
        for text, line in REFUSED.items():
            await say(app, pilot, text)
            await wait_until(pilot, lambda line=line: line in status(app))
            await pilot.press("up")
            assert app.chat_screen.prompt.text == text
            assert app.chat_screen.conversation.about.system is None


async def test_a_command_that_takes_nothing_is_refused_with_something(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        before = app.chat_screen.conversation
        for text in ("/colours pink", "/view bogus", "/new Hello", "/debug on", "/quit now"):
            wrong = f"Use {text.partition(' ')[0]} alone: it takes nothing after it."
            await say(app, pilot, text)
            await wait_until(pilot, lambda wrong=wrong: wrong in status(app))
            assert app.chat_screen.conversation is before
            assert not app.chat_screen.state.options.debug
            assert not engine.closed


async def test_the_title_is_told_without_a_second_full_stop(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "13 is prime.")
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await say(app, pilot, "/rename")
        await wait_until(pilot, lambda: "Title: “13 is prime.” · /rename TITLE changes it" in status(app))
        await say(app, pilot, "/rename It is.")
        await wait_until(pilot, lambda: "The title is now “It is.”" in status(app))
        assert "”." not in status(app)


async def test_a_theme_is_chosen_by_its_name(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/theme lade-paper")
        assert app.theme == "lade-paper"
        await sees(pilot, "The theme is now lade-paper.")
        # A longer name begins with this one, and is not taken for it.
        await pilot.press(*"/theme lade-dark", "enter")
        await wait_until(pilot, lambda: app.theme == "lade-dark")


async def test_the_other_commands_do_what_their_keys_do(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/system Be brief.")
        await say(app, pilot, "/model")
        assert isinstance(app.screen, ModelScreen)
        await pilot.press("escape")
        await say(app, pilot, "/compare Hello")
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        (race,) = engine.sent_of(Compare)
        assert isinstance(race, Compare)
        assert [message.content for message in race.messages] == ["Be brief.", "Hello"]


async def test_a_model_is_opened_by_its_path(engine: ScriptedEngine, here: Path) -> None:
    (here / "other model").mkdir()
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/model ./other model")
        load = engine.sent[-1]
        assert isinstance(load, Load)
        assert load.options.path == "./other model"


async def test_a_path_that_is_not_there_is_refused_at_once(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for path in ("/no/such", "./no/such", "~no/such"):
            line = f"There is no folder or file {path}. Up brings it back."
            await say(app, pilot, f"/model {path}")
            await wait_until(pilot, lambda line=line: line in status(app))
            assert len(engine.sent_of(Load)) == 1


async def test_quit_quits(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/quit")
        await wait_until(pilot, lambda: engine.closed)


async def test_a_command_behind_blanks_is_completed_and_run(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"  /looka", "tab")
        assert app.chat_screen.prompt.text == "  /lookahead "
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(False))
        assert not app.chat_screen.prompt.text
