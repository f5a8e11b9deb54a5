"""Finished replies: shown as Markdown or token by token, copied, saved to a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from textual.widgets import Label

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.inspection import TokenSource
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.reply.markdown_reply import MarkdownReply, StyledRun, TintedSource, guessed_runs, places_in
from lade_chat.tui.reply.tinted_text import TintedText, is_markdown
from lade_chat.tui.terminal import other_programs
from lade_chat.tui.terminal.other_programs import code_blocks
from tests.running import file_size_limit
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, Script, ScriptedEngine, finished, streamed, text_of

DOCUMENT: Script = (
    ("Here", " is", " **", "bold", "**"),
    (" text", ":", "\n\n"),
    ("```", "python", "\n"),
    ("def", " f", "(x):", "\n"),
    ("    return", " x", "\n"),
    ("```", "\n\n"),
    ("1.", " one", "\n"),
    ("2.", " two", " <b>", "\n\n"),
    ("first", " line", "\n"),
    ("second", " line"),
)


async def answered(app: ChatApp, engine: ScriptedEngine, pilot: object, script: Script) -> None:
    await say(app, pilot, "Go on.")  # type: ignore[arg-type]
    engine.tell(*streamed(script), finished(script))
    await wait_until(pilot, lambda: "ready" in status(app))  # type: ignore[arg-type]


async def test_a_finished_reply_is_markdown_with_its_tints(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await answered(app, engine, pilot, DOCUMENT)
        await sees_no(pilot, "**", "```")
        await sees(pilot, "Here is bold text:", "def f(x):", "1. one", "2. two <b>")
        document = app.screen.query_one(MarkdownReply)
        tinted = [
            widget.visual.plain[span.start : span.end]  # type: ignore[attr-defined]
            for widget in document.query("MarkdownParagraph, #code-content")
            for span in getattr(widget.visual, "spans", ())
            if "origin-" in str(span.style)
        ]
        assert tinted[:2] == [" is bold", ":"]
        assert " f(x):\n" in "".join(tinted)
        assert "Here" not in "".join(tinted)
        lines = screen_text(app).splitlines()
        assert any(line.strip() == "first line" for line in lines)
        await pilot.press("f7")
        await sees(pilot, "**bold**", "```python")
        assert status(app).startswith("Replies token by token.")
        await pilot.press("f7")
        await sees_no(pilot, "```")


async def test_tints_of_code_stay_when_it_is_drawn_anew(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await answered(app, engine, pilot, DOCUMENT)
        await wait_until(pilot, lambda: app.screen.query("#code-content"))
        code = app.screen.query_one("#code-content", Label)

        def tints() -> int:
            return sum("origin-" in str(span.style) for span in code.visual.spans)  # type: ignore[attr-defined]

        await wait_until(pilot, tints)
        before = tints()
        for what in ("theme", "resize", "colours twice"):
            if what == "theme":
                app.theme = "textual-light"
            elif what == "resize":
                await pilot.resize_terminal(130, 40)
            else:
                await pilot.press("ctrl+b", "ctrl+b")
            await pilot.pause(0.1)
            await wait_until(pilot, lambda: tints() == before)


async def test_code_wider_than_the_screen_is_shown_whole(engine: ScriptedEngine) -> None:
    script: Script = (
        ("```python\n",),
        ("total = first_number + second_number + third_number",),
        (" + last_number\n```",),
    )
    async with opened(engine, size=(60, 18)) as (app, pilot):
        await answered(app, engine, pilot, script)
        await sees(pilot, "total =", "last_number")


async def test_a_text_that_is_no_markdown_stays_as_it_is(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await answered(app, engine, pilot, FUNCTION)
        await pilot.pause(0.1)
        assert not app.screen.query(MarkdownReply)
        assert app.screen.query_one(TintedText).display
        assert reply_text(app) == text_of(FUNCTION)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Just a sentence.", False),
        ("2 * 3 * 4 = 24", False),
        ("def f(x):\n    return x", False),
        ("**Mind**:\n\ndef f(x):\n    return x", False),
        ("```\ncode\n```", True),
        ("1. one\n2. two", True),
        ("- one\n    - two", True),
        ("# Title\ntext", True),
        ("with `code` in it", True),
    ],
)
def test_only_what_gains_is_rendered(text: str, verdict: bool) -> None:
    assert is_markdown(text) is verdict


def test_rendered_words_find_their_tokens_again() -> None:
    tokens: list[tuple[str, TokenSource]] = [
        ("**A", "trajectory"),
        (" big**", "plain"),
        (" [link", "context"),
        ("](http://a.b)", "plain"),
        (" end", "successor"),
    ]
    source = TintedSource(tokens)
    rendered = "A big link end"
    places, at = places_in(source, rendered, 0, len(source.text))
    assert guessed_runs(places, source) == [
        StyledRun(0, 1, "trajectory"),
        StyledRun(5, 10, "context"),
        StyledRun(10, 14, "successor"),
    ]
    assert at == len(source.text)


def test_code_is_found_between_its_fences() -> None:
    text = "a\n```python\nx = 1\n\ny = 2\n```\nb\n~~~\nz\n~~~\n````\n```\n````\n```\nopen"
    assert code_blocks(text) == ["x = 1\n\ny = 2", "z", "```", "open"]


async def test_a_reply_its_code_or_everything_is_copied(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[str] = []
    monkeypatch.setattr("lade_chat.tui.chat.actions.to_system_clipboard", handed.append)
    async with opened(engine) as (app, pilot):
        await answered(app, engine, pilot, DOCUMENT)
        await say(app, pilot, "/copy")
        await wait_until(pilot, lambda: app.clipboard == text_of(DOCUMENT))
        await wait_until(pilot, lambda: "Copied the reply" in status(app))
        await say(app, pilot, "/copy code")
        await wait_until(pilot, lambda: app.clipboard == "def f(x):\n    return x")
        await say(app, pilot, "/copy all")
        await wait_until(pilot, lambda: "**You**\n\nGo on." in app.clipboard)
        await pilot.press("shift+tab", "enter")
        await sees(pilot, "Copy its code")
        await pilot.press("c")
        await wait_until(pilot, lambda: app.clipboard == text_of(DOCUMENT))
        await wait_until(pilot, lambda: len(handed) == 4)


def test_the_system_clipboard_is_used_where_there_is_a_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "xclip"
    tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n")
    tool.chmod(0o755)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    other_programs.to_system_clipboard("naïve\n")
    assert (tmp_path / "copied").read_text(encoding="utf-8") == "naïve\n"
    monkeypatch.delenv("DISPLAY")
    assert other_programs.clipboard_tool() is None


async def test_a_conversation_is_written_to_files(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(engine, size=(160, 24)) as (app, pilot):
        await answered(app, engine, pilot, FUNCTION)
        for name in ("talk.md", "talk.jsonl", "talk.html", "talk.svg"):
            await say(app, pilot, f"/{'save' if name[5] in 'mj' else 'export'} {name}")
            await wait_until(pilot, lambda name=name: f"Written: {name}" in status(app))  # type: ignore[misc]
        assert "Here is a function" in Path("talk.md").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in Path("talk.jsonl").read_text(encoding="utf-8").splitlines()]
        assert "".join(piece[0] for piece in lines[1]["pieces"]) == text_of(FUNCTION)
        page = Path("talk.html").read_text(encoding="utf-8")
        assert "returns" in re.sub(r"<[^>]+>", "", page)
        await say(app, pilot, "/save talk.md")
        await wait_until(pilot, lambda: "is there already" in status(app))
        await say(app, pilot, "/save")
        await wait_until(pilot, lambda: "Written: go-on.md" in status(app))
        with file_size_limit(64):
            await say(app, pilot, "/save part.md")
            await wait_until(pilot, lambda: "part.md cannot be written: File too large." in status(app))
        assert sorted(each.name for each in tmp_path.glob("*.md")) == ["go-on.md", "talk.md"]


async def test_a_model_that_ends_at_once_is_told_of_and_is_not_quoted(engine: ScriptedEngine, tmp_path: Path) -> None:
    said = "(the model ended at once, without a word)"
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await answered(app, engine, pilot, FUNCTION)
        await sees_no(pilot, said)
        await answered(app, engine, pilot, (("",),))
        await sees(pilot, said)
        await say(app, pilot, "/copy")
        await wait_until(pilot, lambda: app.clipboard == text_of(FUNCTION))
        await say(app, pilot, "/copy all")
        assert said not in app.clipboard
        await say(app, pilot, "And?")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert all(said not in message.content for message in command.messages)
    async with opened(ScriptedEngine(), store=Store(tmp_path), start=Start(latest=True)) as (_app, pilot):
        await sees(pilot, said)


async def test_tokens_without_a_text_are_told_of(engine: ScriptedEngine, tmp_path: Path) -> None:
    said = "(no text in the model's 3 tokens: special, unprintable or blank)"
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await answered(app, engine, pilot, (("", ""), ("",)))
        await sees(pilot, said)
    async with opened(ScriptedEngine(), store=Store(tmp_path), start=Start(latest=True)) as (_app, pilot):
        await sees(pilot, said)


async def test_a_file_that_cannot_be_written_is_told_in_a_line(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(engine, size=(160, 24)) as (app, pilot):
        await answered(app, engine, pilot, FUNCTION)
        for command, line in (
            ("/save talk.doc", "must end in .md or .jsonl; talk.doc does not."),
            ("/save .md", "A name is missing before .md."),
            ("/export talk.doc", "must end in .html, .svg, .cast, .gif or .png; talk.doc does not."),
            ("/save gone/talk.md", "gone/talk.md cannot be written: there is no folder gone."),
            ("/save talk", "; talk does not"),
        ):
            await say(app, pilot, command)
            await wait_until(pilot, lambda line=line: line in status(app))
