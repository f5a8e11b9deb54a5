"""Dispatches what was typed into the prompt: a question is asked, a slash command parsed, corrected and run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import attach
from lade_chat.settings.decoding_options import NAMES as OPTIONS
from lade_chat.tui.chat import actions
from lade_chat.tui.chat.decisions import controls
from lade_chat.tui.chat.decisions.questions import EMPTY_REPLY, NOTHING_TO_SEND, ask
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.chat.slash_commands import COMMANDS, SlashCommand
from lade_chat.tui.prompt.completion import is_command, unescaped
from lade_chat.tui.prompt.editor import PromptEditor
from lade_chat.tui.widgets.bars import REFUSAL_SECONDS

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


def submit(screen: LoopScreen, text: str) -> None:
    """Run a command; ask anything else, with the files that it mentions."""
    prompt = screen.prompt
    if not text.strip():
        screen.status.hint(screen.key_names.put_into(_nothing(prompt)), lambda: not prompt.text.strip())
    elif prompt.editing is not None and prompt.edits_reply:
        actions.revise_reply(screen, prompt.editing, text)
    elif is_command(text):
        draft = prompt.text
        prompt.clear_all()
        if problem := run(screen, text.lstrip()):
            screen.status.hint(f"{problem} Up brings it back.", lambda: prompt.text in ("", draft), REFUSAL_SECONDS)
        prompt.remember(text)
    else:
        try:
            question = attach(unescaped(text))
        except LadeChatError as error:
            refuse(screen, str(error))
        else:
            screen.decide(ask, question, prompt.editing, text)


def _nothing(prompt: PromptEditor) -> str:
    if prompt.editing is None:
        return NOTHING_TO_SEND
    return EMPTY_REPLY if prompt.edits_reply else "Nothing is left of the question: {stop} leaves it as it was."


def refuse(screen: LoopScreen, problem: str) -> None:
    """Leave what was refused in the prompt, the cursor at its end, and say why as long as it stands there."""
    prompt, draft = screen.prompt, screen.prompt.text
    prompt.move_cursor(prompt.document.end)
    screen.status.hint(f"{problem} Ctrl+C clears the prompt.", lambda: prompt.text == draft, REFUSAL_SECONDS)


def run(screen: LoopScreen, text: str) -> str | None:
    """Run the command in ``text``. Returns what is wrong with it, if something is."""
    try:
        command, argument = parse(text)
        if argument and not command.takes:
            raise ValueError(f"Use /{command.name} alone: it takes nothing after it.")
        if isinstance(command.action, str):
            screen.call_later(screen.run_action, command.action)
        else:
            command.action(screen, argument)
    except (ValueError, LadeChatError) as error:
        problem = str(error)
        return problem if problem.endswith((".", "?")) else f"{problem}."  # more may be said after it
    return None


def _run_or_hint(screen: LoopScreen, text: str) -> None:
    if problem := run(screen, text):
        screen.hint(problem)


def palette_lines(screen: LoopScreen) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield the title, explanation and callback of every command that the palette offers."""
    for command in COMMANDS:
        if command.title:
            key = command.action.removeprefix("app.") if isinstance(command.action, str) else command.key
            shortcut = f"{{{key}}}" if key else f"/{command.name}"
            about = f"{command.does[0].upper()}{command.does[1:]} ({shortcut})"
            yield command.title, about, partial(_run_or_hint, screen, f"/{command.name}")
    if screen.state.is_running:
        yield "Stop the reply", "What was said is kept ({stop})", partial(screen.decide, controls.stop)


def parse(text: str) -> tuple[SlashCommand, str]:
    """Return the command, by its name or a beginning that no other has, and its argument. Raises ValueError."""
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
