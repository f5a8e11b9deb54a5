"""The slash commands: each is declared once, with its help, completions, palette entries and action."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from lade_chat.errors import LadeChatError, NotYetError
from lade_chat.settings.models import is_missing, misspelt_alias
from lade_chat.settings.settings import nearest
from lade_chat.tui.app.preferences_owner import preferences_owner
from lade_chat.tui.chat.actions import ChatActions
from lade_chat.tui.control.sampling import NAMES as OPTIONS
from lade_chat.tui.control.sampling import current_options, with_option
from lade_chat.tui.control.view import Phase
from lade_chat.tui.prompt.completion import CompletableCommand
from lade_chat.tui.screens.manual_pages import NAMES as TOPICS
from lade_chat.tui.theme.themes import NAMES as THEMES


@dataclass(frozen=True)
class SlashCommand(CompletableCommand):
    """``action`` gets what was typed after the name; it raises ValueError or LadeChatError with a line for the user."""

    action: Callable[[ChatActions, str], object]
    title: str = ""
    """Its title in the command palette; empty if it is not offered there."""
    key: str = ""
    """The action of a key that does the same without an argument."""
    typed_whole: bool = False
    """True if the beginning of its name does not run it."""


def _new(actions: ChatActions, _: str) -> None:
    actions.chat.navigation.new_conversation()


def _rename(actions: ChatActions, title: str) -> None:
    session = actions.chat.conversation
    current = session.current
    if not current.turns:
        raise NotYetError("There is nothing to name yet: type a message first.")
    if not title:
        actions.ui.hint(f"Title: “{current.title}” · /rename TITLE changes it")
        return

    def renamed() -> None:
        actions.ui.side_bar.look()
        actions.ui.hint(f"The title is now “{current.title}”")

    session.rename(title, renamed)


def _system(actions: ChatActions, text: str) -> None:
    session, owner = actions.chat.conversation, preferences_owner(actions.ui.screen)
    system = session.current.about.system
    word, _, name = text.partition(" ")
    if not text and system:
        actions.ui.transcript.note(f"System prompt: {system}")
        return
    if not text:
        raise NotYetError("There is no system prompt. /system TEXT sets one.")
    if word == "save" and len(name.split()) == 1:
        if not system or name in SYSTEM_WORDS:
            raise ValueError(f"{name} cannot be a name." if system else "There is no system prompt to save.")
        saved = f"Saved: /system {name}, or --system {name}, sets this prompt."
        owner.keep_prompt(name, system, lambda: actions.ui.hint(saved))
        return
    if text.lower() == "save":
        raise ValueError("/system save NAME keeps the system prompt under a name: add one.")
    prompts, off = owner.preferences.prompts, text.lower() == "off"
    is_name = len(text.split()) == 1 and not off
    if is_name and text not in prompts and (near := nearest(text, prompts)):
        raise ValueError(f"There is no system prompt named {text}. Did you mean {near}?")
    prompt = prompts.get(text, text)
    session.instruct(None if off else prompt)
    actions.ui.transcript.note("No system prompt from here on." if off else f"System prompt: {prompt}")


def _set(actions: ChatActions, argument: str) -> None:
    chat = actions.chat
    if not argument:
        actions.ui.transcript.note(current_options(chat.options))
        return
    name, _, value = argument.replace("=", " ", 1).partition(" ")
    options, report = with_option(chat.options, name, value.strip())
    chat.set_options(options)
    actions.ui.hint(report)


def _lookahead(actions: ChatActions, argument: str) -> None:
    enabled = actions.chat.options.lookahead
    wanted = {"": not enabled, "on": True, "off": False}.get(argument.lower())
    if wanted is None:
        raise ValueError("Use /lookahead, /lookahead on, or /lookahead off.")
    if wanted is not enabled:
        actions.chat.controls.toggle_lookahead()


def _model(actions: ChatActions, path: str) -> None:
    aliases = preferences_owner(actions.ui.screen).preferences.aliases
    if near := misspelt_alias(path, aliases):
        raise ValueError(f"There is no folder or short name {path}. Did you mean {near}?")
    if is_missing(path):
        raise ValueError(f"There is no folder {path}.")
    if path:
        actions.chat.load(actions.chat.model_options.at(aliases.get(path, path)))
    else:
        actions.open_model()


def _theme(actions: ChatActions, name: str) -> None:
    themes = actions.ui.screen.app.available_themes
    if not name:
        actions.run("app.change_theme")
    elif name in themes:
        actions.ui.screen.app.theme = name
    else:
        near = nearest(name, themes)
        raise ValueError(f"There is no theme {name}. {f'Did you mean {near}?' if near else '/theme shows all.'}")


def _retry(actions: ChatActions, _: str) -> None:
    _check_loaded(actions)
    actions.chat.retry()


def _continue(actions: ChatActions, _: str) -> None:
    _check_loaded(actions)
    actions.chat.continue_reply()


def _check_loaded(actions: ChatActions) -> None:
    """Keep the command in the prompt while the model loads. Raises ValueError."""
    if actions.chat.phase is Phase.LOADING and actions.chat.conversation.current.turns:
        raise ValueError("Press Enter again once the model is loaded.")


def _resume(actions: ChatActions, wanted: str) -> None:
    if wanted:
        actions.conversations.resume(wanted)
    else:
        actions.conversations.open_list()


def _forget(actions: ChatActions, _argument: str) -> None:
    actions.chat.earlier.turn_off()
    actions.ui.hint("Forgotten: replies are guessed from this conversation alone until the chat is opened again.")


SYSTEM_WORDS = ("off", "save")
"""What cannot be the name of a system prompt."""
COMMANDS = [
    SlashCommand("help", "[TOPIC]", "the manual, or a page of it", ChatActions.help, "Help", "help", words=TOPICS),
    SlashCommand("new", "", "begin a new conversation; this one is kept", _new, "New conversation", "new_conversation"),
    SlashCommand(
        "resume", "[ID or words]", "go on with an earlier conversation", _resume, "Conversations", "list_conversations"
    ),
    SlashCommand("rename", "[TITLE]", "give the conversation a title", _rename),
    SlashCommand(
        "delete",
        "",
        "delete it; the list brings it back",
        lambda do, _: do.conversations.delete(),
        typed_whole=True,
    ),
    SlashCommand("forget", "", "guess from nothing that was said in other conversations", _forget),
    SlashCommand("retry", "", "ask the last question again", _retry),
    SlashCommand("edit", "", "edit the last question, and ask that", lambda do, _: do.edit()),
    SlashCommand("continue", "", "have the last reply go on", _continue),
    SlashCommand(
        "copy",
        "[code|all]",
        "copy the reply, its code, or all",
        ChatActions.copy_last,
        "Copy the reply",
        words=("code", "all"),
    ),
    SlashCommand(
        "view", "", "rendered Markdown, or token by token", ChatActions.toggle_view, "Markdown or tokens", "toggle_view"
    ),
    SlashCommand("colours", "", "verified tokens alike, or by source", lambda do, _: do.run("app.toggle_colours")),
    SlashCommand(
        "export", "[FILE]", "the reply: .html .svg .cast .gif .png", lambda do, name: do.save(name, ".html"), "Export"
    ),
    SlashCommand("save", "[FILE]", "the conversation as .md or .jsonl", lambda do, name: do.save(name, ".md"), "Save"),
    SlashCommand(
        "model", "[PATH, id or name]", "open another model", _model, "Open a model", "open_model", takes_path=True
    ),
    SlashCommand("reopen", "", "open the conversation's own model", lambda do, _: do.chat.navigation.reopen_model()),
    SlashCommand(
        "system", "[TEXT|NAME|off|save NAME]", "show, change or save the system prompt", _system, words=SYSTEM_WORDS
    ),
    SlashCommand("set", "[NAME VALUE]", "temperature, seed, max_new_tokens …", _set, words=OPTIONS),
    SlashCommand(
        "settings", "", "what is kept for next time", lambda do, _: do.run("app.settings"), "Settings", "settings"
    ),
    SlashCommand("theme", "[NAME]", "choose the colours of the screen", _theme, words=THEMES),
    SlashCommand(
        "sidebar", "", "conversations beside the chat, or not", lambda do, _: do.conversations.toggle_side_bar()
    ),
    SlashCommand(
        "lookahead",
        "[on|off]",
        "switch lookahead",
        _lookahead,
        "Lookahead on or off",
        "toggle_lookahead",
        words=("on", "off"),
    ),
    SlashCommand("compare", "[TEXT]", "race lookahead on against off", ChatActions.race, "Race", "race"),
    SlashCommand("explain", "", "how it works, on steps of this model", lambda do, _: do.explain(), "How it works"),
    SlashCommand(
        "debug", "", "open or close the debug panel", lambda do, _: do.toggle_debug(), "Debug panel", "toggle_debug"
    ),
    SlashCommand("quit", "", "quit", lambda do, _: do.run("app.quit")),
]

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
