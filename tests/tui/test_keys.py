"""Every key does what the help says, while the prompt has the focus."""

from __future__ import annotations

from pathlib import Path

import msgspec
from textual.events import Key, Paste

from lade_chat.protocol.commands import Load, Pause, Reply, Resume, SetLookahead
from lade_chat.store.all_conversations import Store
from lade_chat.store.conversation_documents import to_markdown
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.inspector.panel import DebugPanel
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.transcript.welcome import BUNDLED_EXAMPLES
from tests.tui.driving import burst, opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed


async def test_the_first_screen_says_what_this_is(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (_app, pilot):
        await sees(pilot, "guesses several tokens ahead", "verified", "How does this work?", "Ctrl+L", "Quit")
        assert isinstance(engine.sent[0], Load)


async def test_enter_sends_and_ctrl_j_breaks_the_line(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert app.chat_screen.prompt.text == "a\nb\nc"
        assert app.chat_screen.prompt.size.height == 3
        await pilot.press("enter")
        (command,) = engine.sent_of(Reply)
        assert isinstance(command, Reply)
        assert command.messages[-1].content == "a\nb\nc"
        assert app.chat_screen.prompt.text == ""


async def test_the_prompt_grows_to_a_third_of_the_screen(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("\n".join("0123456789ab"))
        await pilot.pause()
        assert app.chat_screen.prompt.size.height == 6  # of 24 rows, with its border


async def test_an_empty_prompt_sends_nothing(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("space", "enter")
        assert not engine.sent_of(Reply)
        assert "type a message first" in status(app)


async def test_a_pasted_escape_sequence_does_not_arrive(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.post_message(Paste("two\r\nlines\x1b[2J [bold]"))
        await wait_until(pilot, lambda: app.chat_screen.prompt.text)
        assert app.chat_screen.prompt.text == "two\nlines[2J [bold]"


async def test_up_and_down_recall_what_was_sent(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        prompt = app.chat_screen.prompt
        for text in ("one", "two"):
            await say(app, pilot, text)
        await pilot.press("up")
        assert prompt.text == "two"
        await pilot.press("up", "up")
        assert prompt.text == "one"
        await pilot.press("down", "down")
        assert prompt.text == ""
        await pilot.press("x", "up")
        assert prompt.text == "x"


async def test_an_example_is_sent_when_picked(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.screen.query_one("Welcome OptionList").focus()
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        command = engine.sent_of(Reply)[0]
        assert isinstance(command, Reply)
        assert command.messages[-1].content == next(iter(BUNDLED_EXAMPLES))
        assert app.screen.focused is app.chat_screen.prompt


async def test_lookahead_is_switched_at_rest_and_shown(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(False))
        await wait_until(pilot, lambda: screen_text(app).count("lookahead OFF") == 1)
        await pilot.press("f2", "f3", "f8", "f12")  # these are a browser's
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(False))
        assert app.screen is app.chat_screen
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(True))
        await sees_no(pilot, "lookahead OFF")


async def test_a_reply_pauses_while_the_shell_has_the_terminal_unless_it_is_paused_anyway(
    engine: ScriptedEngine,
) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION))
        await sees(pilot, "one by one.")
        app.action_suspend_process()
        assert engine.sent[-1] == Pause()
        app.app_resume_signal.publish(app)
        await wait_until(pilot, lambda: engine.sent[-1] == Resume())
        await pilot.press("f9")
        before = list(engine.sent)
        app.action_suspend_process()
        app.app_resume_signal.publish(app)
        await pilot.pause()
        assert engine.sent == before


async def test_another_model_is_opened(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+o")
        assert isinstance(app.screen, ModelScreen)
        await pilot.press(*"m/m", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent[-1]
        assert isinstance(command, Load)
        assert command.options.path == "m/m"
        assert app.chat_screen.state.phase is Phase.LOADING
        await pilot.press("escape")
        await sees(pilot, "The model is still loading. Ctrl+Q quits.")


async def test_a_model_opened_in_mid_reply_waits_for_its_end_and_the_reply_says_why_it_stopped(
    engine: ScriptedEngine, tmp_path: Path
) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed((("x",),)))
        await pilot.press("ctrl+o", *"m/m", "enter")
        await wait_until(pilot, lambda: app.chat_screen.state.stopping)
        assert len(engine.sent_of(Load)) == 1
        engine.tell(finished((("x",),), "cancelled"))
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        await sees(pilot, "stopped to open another model")
        await sees_no(pilot, "stopped by you", "✗")
        assert "stopped to open another model" in to_markdown(app.chat_screen.conversation)
    async with opened(ScriptedEngine(), store=Store(tmp_path), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "stopped to open another model")
        await sees_no(pilot, "stopped by you", "✗")


async def test_the_debug_panel_shows_the_speed_up_and_the_summary(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+d")
        await say(app, pilot, "Hello")
        command = engine.sent_of(Reply)[0]
        assert isinstance(command, Reply)
        assert command.options.debug
        engine.tell(*streamed(FUNCTION[:4]))
        await sees(pilot, "measuring…")
        engine.tell(*streamed(FUNCTION, debug=True)[2:], finished(FUNCTION, debug=True))
        await sees(pilot, "SUMMARY input 23 tokens", "3.00x", "50.0 ms", "45.0 ms", "412", "2  ████████████ 6")
        await pilot.press("ctrl+d")
        assert not app.screen.query_one(DebugPanel).display


async def test_debug_asked_for_in_mid_reply_says_that_it_is_not_measured(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION[:4]))
        await pilot.press("ctrl+d")
        await sees(pilot, "not measured")


async def test_the_debug_panel_shows_the_last_reply_at_once(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        last = finished(FUNCTION, debug=True)
        metrics = msgspec.structs.replace(last.statistics, plain_step_seconds=None)
        engine.tell(*streamed(FUNCTION), msgspec.structs.replace(last, statistics=metrics))
        await wait_until(pilot, lambda: "ready" in status(app))
        await pilot.press("ctrl+d")
        await sees(pilot, "not measured", "50.0 ms", "412", "2  ████████████ 6")


async def test_ctrl_c_copies_a_selection_and_otherwise_says_how_to_quit(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: status(app).startswith("Ctrl+C again quits  │  ready"))
        assert not app.screen.query("Toast")
        await pilot.press("a")
        await wait_until(pilot, lambda: status(app).startswith("ready"))
        prompt.put("two words")
        prompt.select_all()
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: app.clipboard == "two words")
        prompt.move_cursor((0, 0))
        await pilot.press("ctrl+c")
        assert prompt.text == ""
        assert "quits" not in status(app)
        await pilot.press("up")
        assert prompt.text == "two words"
        assert app.is_running


async def test_words_are_edited_as_in_a_shell(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        for keys, left in (
            (("ctrl+w",), "one two "),
            (("alt+left", "ctrl+u"), "three"),
            (("alt+b", "alt+b", "ctrl+k"), "one "),
            ((*"-a", "ctrl+w"), "one two "),  # as far as the blank
            ((*"-a", "alt+backspace"), "one two three-"),
            (("alt+b", "alt+b", "alt+d"), "one  three"),
            (("ctrl+a", "alt+f", "alt+right", "ctrl+k"), "one two"),
        ):
            prompt.put("one two three")
            await pilot.press(*keys)
            assert prompt.text == left, keys
        prompt.put("one two three")
        await pilot.press("ctrl+w", "ctrl+w", "ctrl+a", "ctrl+y", "alt+enter")
        assert prompt.text == "two three\none "
        for keys, left in (("ctrl+u", "\nc"), ("ctrl+k", "a\nc")):  # the line, not only the row that it wraps to
            prompt.put("a" + " word" * 50 + "\nc")
            prompt.move_cursor((0, 1 if keys == "ctrl+k" else 251))
            await pilot.press(keys)
            assert prompt.text == left, keys
        prompt.put("two three\none ")
        burst(app, "home")
        for letter in "dx":  # as most terminals report Alt and a letter
            app.post_message(Key(f"alt+{letter}", letter))
        await wait_until(pilot, lambda: prompt.text == "two three\n ")


async def test_a_resize_keeps_the_conversation(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await wait_until(pilot, lambda: "ready" in status(app))
        await pilot.resize_terminal(60, 18)
        await wait_until(pilot, lambda: all(len(line) <= 60 for line in screen_text(app).splitlines()))
        await sees(pilot, "one by one.")


async def test_running_foreign_code_has_to_be_chosen(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(80, 30)) as (app, pilot):
        await pilot.press("ctrl+o")
        await sees(pilot, "[ ] Run Python code")
        app.screen.query_one("#code").focus()
        await pilot.press("space")
        await sees(pilot, "[X] Run Python code", "[ ] Read weights in pickle files")
        app.screen.query_one("#path").focus()
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent[-1]
        assert isinstance(command, Load)
        assert (command.options.trust_remote_code, command.options.allow_pickle) == (True, False)


async def test_keys_that_can_do_nothing_are_not_in_the_footer(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await sees(pilot, "^o Model")
        assert "Race" not in screen_text(app).splitlines()[-1]
        engine.load()
        await sees(pilot, "^r Race")
        await pilot.press("ctrl+t")
        await sees(pilot, "No conversations yet", "esc Close")
        assert "Resume" not in screen_text(app)
        assert not {"Stop the reply"} & {each.title for each in app.get_system_commands(app.chat_screen)}
