"""A reply is Markdown while it streams: what has ended is rendered, the rest stands below it token by token."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import ReplyStarted, Tokens
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.decisions.questions import show_conversation
from lade_chat.tui.reply.markdown_reply import MarkdownReply
from lade_chat.tui.reply.tinted_text import TextChunk, TintedText
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import Script, ScriptedEngine, finished, pieces, statistics, streamed

LISTED: Script = (
    ("Some",),
    (" **bold**", " words", ".", "\n\n"),
    ("1.", " one", "\n\n"),
    ("2.", " two", "\n\n"),
    ("```python", "\n", "x = 1", "\n\n"),
    ("y = 2", "\n", "```", "\n"),
    ("After", " it", " all", "."),
)


async def stream(engine: ScriptedEngine, first: int, last: int) -> None:
    engine.tell(Tokens(pieces(LISTED[first:last], first), statistics(LISTED[:last])))


def rendered(app: ChatApp) -> str:
    """What documents show, block by block."""
    documents = [each for each in app.screen.query(MarkdownReply) if each.display]
    return "\n".join(str(w.content) for each in documents for w in each.walk_children(Static) if str(w.content))


async def begun(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, "Hello")
    await wait_until(pilot, lambda: engine.sent_of(Reply))
    engine.tell(ReplyStarted(prompt_tokens=3))


async def test_blocks_are_rendered_as_they_end(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(80, 40)) as (app, pilot):
        await begun(app, pilot, engine)
        await stream(engine, 0, 2)
        await sees(pilot, "Some bold words.")
        await stream(engine, 2, 5)
        await wait_until(pilot, lambda: "one" in rendered(app) and "two" in rendered(app))
        await sees(pilot, "x = 1")
        assert "x = 1" not in rendered(app)  # the code goes on
        await stream(engine, 5, 6)
        await wait_until(pilot, lambda: "x = 1" in rendered(app))
        await stream(engine, 6, 7)
        await sees(pilot, "After it all.")
        before = screen_text(app)
        engine.tell(finished(LISTED))
        await wait_until(pilot, lambda: "After it all." in rendered(app))
        await sees(pilot, "tokens/step")
        after = screen_text(app)
        for text in ("1. one", "2. two", "y = 2", "After it all."):  # nothing jumps at the end
            line = [number for number, each in enumerate(before.splitlines()) if text in each]
            assert line == [number for number, each in enumerate(after.splitlines()) if text in each], text
        assert after.count("After it all.") == 1


async def test_streamed_and_restored_replies_look_alike_and_keep_their_tints(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(80, 40)) as (app, pilot):
        await begun(app, pilot, engine)
        for number in range(len(LISTED)):
            await stream(engine, number, number + 1)
            await pilot.pause(0.02)
        engine.tell(finished(LISTED))
        await wait_until(pilot, lambda: "After it all." in rendered(app) and "ready" in status(app))
        await pilot.pause()
        tinted = {
            (str(widget.content), str(span.style))
            for widget in app.screen.query_one(MarkdownReply).walk_children(Static)
            for span in getattr(widget.content, "spans", ())
            if "origin" in str(span.style)
        }
        assert {text.split("\n")[0] for text, _ in tinted} >= {
            "Some bold words.",
            "one",
            "two",
            "x = 1",
            "After it all.",
        }
        app.chat_screen.decide(show_conversation)
        streamed = rendered(app)
        await wait_until(pilot, lambda: len(app.screen.query(MarkdownReply)) == 1 and rendered(app) == streamed)


async def test_a_running_reply_is_shown_token_by_token_on_demand(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(80, 40)) as (app, pilot):
        await begun(app, pilot, engine)
        await stream(engine, 0, 4)
        await wait_until(pilot, lambda: "two" in rendered(app))
        await pilot.press("f7")
        await sees(pilot, "Some **bold** words.", "1. one", "2. two")
        await stream(engine, 4, 6)
        await pilot.press("f7")
        await wait_until(pilot, lambda: "two" in rendered(app))
        await sees(pilot, "Some bold words.")


async def test_what_has_ended_is_known_however_the_text_is_cut_up(engine: ScriptedEngine) -> None:
    text = "a\n\n\n```b``` and\n\nb\n```\nc\n\nd\n```\ne\n"
    async with opened(engine) as (app, _):
        for size in (1, 3, 1000):
            shown = TintedText()
            await app.chat_screen.transcript.column.mount(shown)
            shown.extend([(text[at : at + size], "plain") for at in range(0, len(text), size)])
            closed = "".join(each for each, _ in shown.tokens[: shown.closed])
            assert closed == "a\n\n\n```b``` and\n\nb\n```\nc\n\nd\n```\n"
            assert "".join(each for each, _ in shown.tokens) == text
            assert "\n".join(str(chunk.render()) for chunk in shown.query(TextChunk)) == text
            shown.end()
            assert reply_text(app) == text
            await shown.remove()


@pytest.mark.parametrize(("said", "shown"), [("1. a\n2. b\n3.", "3."), ("- a\n- b\n-", "•\n"), ("- a\n- ", "•\n")])
async def test_an_item_without_a_text_at_the_end_is_shown(engine: ScriptedEngine, said: str, shown: str) -> None:
    script = tuple((line,) for line in said.splitlines(keepends=True))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "List.")
        engine.tell(*streamed(script), finished(script, "cancelled"))
        await wait_until(pilot, lambda: shown in "\n".join(map(str.rstrip, screen_text(app).splitlines())))


async def test_what_markdown_would_hide_is_shown(engine: ScriptedEngine) -> None:
    said = "**Song**\n\n[Chorus]: <la la la>\n\n<b>Sources</b> [1]\n\n[1]: https://example.com/one"
    script = tuple((line,) for line in said.splitlines(keepends=True))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Sing.")
        engine.tell(*streamed(script), finished(script))
        await sees(pilot, "[Chorus]: <la la la>", "<b>Sources</b> [1]", "[1]: https://example.com/one", "ready")
        await sees_no(pilot, "**")


async def test_a_table_too_wide_for_the_screen_is_folded_and_not_cut(engine: ScriptedEngine) -> None:
    said = "|Command|What|\n|---|---|\n|none|shows https://example.com/a/long/path/to/some/document/of/many/characters/x|\n"
    async with opened(engine, size=(60, 24)) as (app, pilot):
        await say(app, pilot, "Tabulate.")
        engine.tell(*streamed(((said,),)), finished(((said,),)))
        await sees(pilot, "│ ", "ready")
        await sees_no(pilot, "…")


@pytest.mark.parametrize("place", ["reply", "manual"])
async def test_the_pointer_over_a_table_covers_nothing(engine: ScriptedEngine, place: str) -> None:
    said, cell = "|key|value|\n|---|---|\n|a|[b=…] c [/d]|\n", "[b=…] c [/d]"
    async with opened(engine, size=(80, 40)) as (app, pilot):
        if place == "reply":
            await say(app, pilot, "Tabulate.")
            engine.tell(*streamed(((said,),)), finished(((said,),)))
        else:
            await say(app, pilot, "/help commands")
            cell = "/help [TOPIC]"
        await sees(pilot, cell)
        await wait_until(pilot, lambda: not any(each.tooltip for each in app.screen.query(".cell, .header")))


async def test_a_rendered_reply_that_goes_on_is_rendered_all_the_while(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(80, 40)) as (app, pilot):
        await begun(app, pilot, engine)
        await stream(engine, 0, 6)
        engine.tell(finished(LISTED[:6], "length"))
        await wait_until(pilot, lambda: "y = 2" in rendered(app) and "ready" in status(app))
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        engine.tell(ReplyStarted(prompt_tokens=3))
        for _ in range(20):
            await pilot.pause(0.01)
            assert "Some bold words." in rendered(app)
        await stream(engine, 6, 7)
        await sees(pilot, "After it all.")
        assert "**" not in screen_text(app)
        assert screen_text(app).count("y = 2") == 1
