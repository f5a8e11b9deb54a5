"""The slash commands: each is declared once, with its help, completions, palette entries and action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lade_chat.errors import NotYetError
from lade_chat.settings.models import is_missing, misspelt_alias
from lade_chat.settings.settings import nearest
from lade_chat.tui.app.preferences_owner import preferences_owner
from lade_chat.tui.chat.actions import ChatActions
from lade_chat.tui.control.sampling import NAMES as OPTIONS
from lade_chat.tui.control.sampling import current_options, with_option
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
    actions.chat.questions.retry()


def _continue(actions: ChatActions, _: str) -> None:
    actions.chat.questions.continue_reply()


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
