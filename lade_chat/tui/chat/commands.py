"""Slash commands by name: what each is called, what it takes, and which one was meant."""

from __future__ import annotations

import difflib
from typing import NamedTuple


class SlashCommand(NamedTuple):
    """``takes`` names what may follow, in brackets what may be left out."""

    name: str
    takes: str
    does: str


COMMANDS = (
    SlashCommand("help", "[TOPIC]", "the manual, or a page of it"),
    SlashCommand("new", "", "begin a new conversation; this one is kept"),
    SlashCommand("resume", "[ID or words]", "go on with an earlier conversation"),
    SlashCommand("rename", "[TITLE]", "give the conversation a title"),
    SlashCommand("delete", "", "delete it; the list brings it back"),
    SlashCommand("retry", "", "ask the last question again"),
    SlashCommand("edit", "", "edit the last question, and ask that"),
    SlashCommand("continue", "", "have the last reply go on"),
    SlashCommand("copy", "[code|all]", "copy the reply, its code, or all"),
    SlashCommand("view", "", "rendered Markdown, or token by token"),
    SlashCommand("colours", "", "verified tokens alike, or by source"),
    SlashCommand("export", "[FILE]", "the reply: .html .svg .cast .gif .png"),
    SlashCommand("save", "[FILE]", "the conversation as .md or .jsonl"),
    SlashCommand("model", "[PATH or id]", "open another model"),
    SlashCommand("reopen", "", "open the conversation's own model"),
    SlashCommand("system", "[TEXT|off]", "show or change the system prompt"),
    SlashCommand("set", "[NAME VALUE]", "temperature, seed, max_new_tokens …"),
    SlashCommand("settings", "", "what is kept for next time"),
    SlashCommand("theme", "[NAME]", "choose the colours of the screen"),
    SlashCommand("lookahead", "[on|off]", "switch lookahead"),
    SlashCommand("compare", "[TEXT]", "race lookahead on against off"),
    SlashCommand("explain", "", "how it works, on steps of this model"),
    SlashCommand("debug", "", "open or close the debug panel"),
    SlashCommand("quit", "", "quit"),
)

NEAR, MAX_NEAR = 0.7, 4
"""How like a name must be to be suggested, from 0 to 1 (1: the same), and how many are."""

ELSEWHERE = {
    "exit": "quit",
    "bye": "quit",
    "clear": "new",
    "reset": "new",
    "history": "resume",
    "chats": "resume",
    "regenerate": "retry",
}
"""Names that other chats have for some of these."""


def is_command(text: str) -> bool:
    """Whether the text is a command; a text that begins with two slashes is none."""
    return text.startswith("/") and not text.startswith("//")


def literal(text: str) -> str:
    """What is meant by a text that is no command: of two slashes at its beginning one goes."""
    return text[1:] if text.startswith("//") else text


def parse(text: str) -> tuple[SlashCommand, str]:
    """The command and what follows its name; the beginning of a name will do if only one command has it.

    Raises ValueError with the line to be shown.
    """
    name, *rest = text[1:].split(maxsplit=1)[:2] if text[1:].strip() else ("",)
    begun = matching(name)
    exact = [command for command in begun if command.name == name.lower()]
    if name and (exact or len(begun) == 1):
        return (exact or begun)[0], rest[0].strip() if rest else ""
    if not name:
        raise ValueError("Type a command after the slash: /help commands lists them.")
    names = [command.name for command in begun] or _near(name.lower())
    if not names:
        raise ValueError(f"There is no command /{name}. / lists them all; // sends a slash.")
    *others, last = (f"/{each}" for each in names[:MAX_NEAR])
    meant = f"{', '.join(others)} or {last}" if others else last
    raise ValueError(f"There is no command /{name}. Did you mean {meant}? // sends a slash.")


def _near(name: str) -> list[str]:
    if name in ELSEWHERE:
        return [ELSEWHERE[name]]
    return difflib.get_close_matches(name, [command.name for command in COMMANDS], n=MAX_NEAR, cutoff=NEAR)


def matching(name: str) -> list[SlashCommand]:
    """Commands whose names begin so."""
    return [command for command in COMMANDS if command.name.startswith(name.lower())]
