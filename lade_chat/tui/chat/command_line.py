"""A slash command as it is typed, or chosen in the palette: parsed, corrected and run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from lade_chat.errors import LadeChatError, NotYetError
from lade_chat.tui.chat.actions import ChatActions
from lade_chat.tui.chat.commands import COMMANDS, SlashCommand
from lade_chat.tui.control.sampling import NAMES as OPTIONS

MIN_SIMILARITY, MAX_SUGGESTIONS = 0.7, 4
"""For names to be suggested; the similarity goes from 0 to 1."""

ALIASES = {
    "exit": "quit",
    "bye": "quit",
    "clear": "new",
    "reset": "new",
    "history": "resume",
    "chats": "resume",
    "regenerate": "retry",
}
"""Names that other chats have for some of the commands; they are suggested."""


def run(actions: ChatActions, text: str) -> str | None:
    """Run the command in ``text``. Returns what is wrong with it, if something is."""
    try:
        command, argument = parse(text)
        if argument and not command.takes:
            raise ValueError(f"Use /{command.name} alone: it takes nothing after it.")
        command.action(actions, argument)
    except NotYetError as error:
        actions.ui.hint(str(error))
    except (ValueError, LadeChatError) as error:
        problem = str(error)
        return problem if problem.endswith((".", "?")) else f"{problem}."  # more may be said after it
    return None


def _run_or_hint(actions: ChatActions, text: str) -> None:
    if problem := run(actions, text):
        actions.ui.hint(problem)


def palette_lines(actions: ChatActions) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield the title, explanation and callback of every command that the palette offers."""
    for command in COMMANDS:
        if command.title:
            shortcut = f"{{{command.key}}}" if command.key else f"/{command.name}"
            about = f"{command.does[0].upper()}{command.does[1:]} ({shortcut})"
            yield command.title, about, partial(_run_or_hint, actions, f"/{command.name}")
    if actions.chat.state.is_running:
        yield "Stop the reply", "What was said is kept ({stop})", actions.chat.controls.stop


def parse(text: str) -> tuple[SlashCommand, str]:
    """Return the command and its argument; the beginning of its name is enough where no other begins with it.

    Raises ValueError with a line for the user.
    """
    name, *rest = text[1:].split(maxsplit=1)[:2] if text[1:].strip() else ("",)
    found = [command for command in COMMANDS if command.name.startswith(name.lower())]
    exact = [command for command in found if command.name == name.lower()]
    if not name:
        raise ValueError("Type a command after the slash: /help commands lists them.")
    if not exact and len(found) == 1 and found[0].typed_whole:
        raise ValueError(f"/{name} is not enough: /{found[0].name} has to be typed whole.")
    if exact or len(found) == 1:
        return (exact or found)[0], rest[0].strip() if rest else ""
    if found:
        raise ValueError(f"/{name} may be {_one_of(command.name for command in found)}.")
    names = _similar(name.lower())
    if not names:
        raise ValueError(f"There is no command /{name}. / lists them all; // sends a slash.")
    raise ValueError(f"There is no command /{name}. Did you mean {_one_of(names)}? // sends a slash.")


def _one_of(names: Iterable[str]) -> str:
    *others, last = (f"/{each}" for each in names)
    return f"{', '.join(others)} or {last}" if others else last


def _similar(name: str) -> list[str]:
    if name in ALIASES:
        return [ALIASES[name]]
    if name in OPTIONS:
        return [f"set {name}"]
    names = [command.name for command in COMMANDS]
    return difflib.get_close_matches(name, names, n=MAX_SUGGESTIONS, cutoff=MIN_SIMILARITY)
