"""The slash commands: each is declared once, with its help, completions, palette entries and action."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from lade_chat.errors import LadeChatError, check_window
from lade_chat.known_models.asked_model import has_to_choose, misspelt_alias, named, why_unusable
from lade_chat.precision_names import AUTO, check_precision
from lade_chat.presentation.metric_words import thinking_forms
from lade_chat.protocol.values import Message
from lade_chat.settings.decoding_options import NAMES as OPTIONS
from lade_chat.settings.decoding_options import current_options, with_option
from lade_chat.settings.effective import nearest
from lade_chat.tui.chat import actions
from lade_chat.tui.chat import stored_conversations as stored
from lade_chat.tui.chat.chat_settings import SYSTEM_WORDS, keep_prompt
from lade_chat.tui.chat.decisions import controls, navigation, questions, races
from lade_chat.tui.chat.effects import Change
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.explain.explain_screen import QUESTION
from lade_chat.tui.prompt.completion import CompletableCommand
from lade_chat.tui.screens.manual import NAMES as TOPICS
from lade_chat.tui.screens.manual import HelpScreen
from lade_chat.tui.theme.themes import NAMES as THEMES


@dataclass(frozen=True)
class SlashCommand(CompletableCommand):
    """``action`` gets what was typed after the name; it raises ValueError or LadeChatError with a line for the user.

    It may also be the name of an action of the screen, or of the application.
    """

    action: Callable[[LoopScreen, str], object] | str
    title: str = ""
    """Its title in the command palette; empty if it is not offered there."""
    key: str = ""
    """The action of a key that does the same without an argument."""
    typed_whole: bool = False
    """True if the beginning of its name does not run it."""


def _rename(screen: LoopScreen, title: str) -> None:
    current = screen.conversation
    if not current.turns:
        raise LadeChatError("There is nothing to name yet: type a message first.")
    if not title:
        screen.hint(f"Title: “{current.title}” · /rename TITLE changes it")
        return
    screen.decide(navigation.rename, title)


def _system(screen: LoopScreen, text: str) -> None:
    system, prompts = screen.conversation.about.system, screen.preferences.prompts
    word, _, name = text.partition(" ")
    if not text and system:
        screen.transcript.note(f"System prompt: {system}")
        return
    if not text:
        raise LadeChatError("There is no system prompt. /system TEXT sets one.")
    if word == "save" and len(name.split()) == 1:
        if not system or name in SYSTEM_WORDS:
            raise ValueError(f"{name} cannot be a name." if system else "There is no system prompt to save.")
        keep_prompt(screen, name, system)
        return
    if text.lower() == "save":
        raise ValueError("/system save NAME keeps the system prompt under a name: add one.")
    off = text.lower() == "off"
    is_name = len(text.split()) == 1 and not off
    if is_name and text not in prompts and (near := nearest(text, prompts)):
        raise ValueError(f"There is no system prompt named {text}. Did you mean {near}?")
    prompt = prompts.get(text, text)
    if off:
        screen.decide(navigation.instruct, None, "No system prompt from here on.")
    else:
        screen.decide(navigation.instruct, prompt, f"System prompt: {prompt}")


def _set(screen: LoopScreen, argument: str) -> None:
    if not argument:
        screen.transcript.note(current_options(screen.state.options))
        return
    name, *value = re.split(r"\s*=\s*|\s+", argument, maxsplit=1)
    _set_option(screen, name, "".join(value).strip())


def _set_option(screen: LoopScreen, name: str, value: str) -> None:
    options, report = with_option(screen.state.options, name, value)
    if name == "think" and value not in ("", "auto") and (refusal := screen.state.refusal_to_switch_thinking()):
        raise LadeChatError(refusal)
    if options.sizes is not None and (model := screen.state.model) is not None:
        check_window(options.sizes.window_size, options.sizes.ngram_size, model.context_window)
    screen.decide(controls.set_options, options)
    screen.hint(report)


def _think(screen: LoopScreen, argument: str) -> None:
    state, wanted = screen.state, argument.lower()
    if wanted in ("on", "off", "auto"):
        _set_option(screen, "think", wanted)
        if wanted == "auto":
            screen.decide(controls.set_options, replace(screen.state.options, max_thought_tokens=None))
    elif wanted.isdecimal():
        _set_option(screen, "max_thought_tokens", wanted)
    elif wanted:
        raise ValueError("Use /think on, off or auto, or /think 512 for the most tokens of a thought.")
    no_say = "thoughts have no limit" if wanted else state.refusal_to_switch_thinking()
    forms = thinking_forms(screen.state.options, state.model) or (no_say,)
    screen.hint(forms[0][:1].upper() + forms[0][1:])


def _edit(screen: LoopScreen, what: str) -> None:
    if what not in ("", "reply"):
        raise ValueError("Use /edit for the last question, or /edit reply.")
    (actions.edit_reply if what else actions.edit_question)(screen)


def _lookahead(screen: LoopScreen, argument: str) -> None:
    enabled = screen.state.options.lookahead
    wanted = {"": not enabled, "on": True, "off": False}.get(argument.lower())
    if wanted is None:
        raise ValueError("Use /lookahead, /lookahead on, or /lookahead off.")
    if wanted is not enabled:
        screen.decide(controls.switch_lookahead)


def _model(screen: LoopScreen, path: str) -> None:
    aliases = screen.preferences.aliases
    if near := misspelt_alias(path, aliases):
        raise ValueError(f"There is no folder or short name {path}. Did you mean {near}?")
    present = screen.state.loads.wanted
    options = present.at(named(path, aliases))
    options = replace(options, dtype=present.dtype, quantize=present.quantize)
    place = options.path or ""
    if reason := why_unusable(place):
        raise ValueError(reason)
    if has_to_choose(place):
        folder = path if Path(place) != Path() else "The present folder"
        actions.open_model(screen, f"{folder} holds several GGUF files: choose one.", options)
    elif path:
        check_precision(options.precision or AUTO)
        actions.load_model(screen, options)
    else:
        actions.open_model(screen)


def _theme(screen: LoopScreen, name: str) -> None:
    themes = screen.app.available_themes
    if not name:
        screen.call_later(screen.run_action, "app.change_theme")
    elif name in themes:
        screen.app.theme = name
        screen.hint(f"The theme is now {name}.")
    else:
        near = nearest(name, themes)
        raise ValueError(f"There is no theme {name}. {f'Did you mean {near}?' if near else '/theme shows all.'}")


def _forget(screen: LoopScreen, _argument: str) -> None:
    screen.decide(Change.set, remembers=False)  # from here on at the start of every conversation
    screen.decide(navigation.send_earlier, forget=True)
    screen.hint("Forgotten: replies are guessed from this conversation alone until the chat is opened again.")


def open_help(screen: LoopScreen, topic: str = "") -> None:
    """Open the manual, at the page for ``topic``."""
    screen.app.push_screen(HelpScreen(screen.state.model, topic, COMMANDS))


def _explain(screen: LoopScreen, _: str) -> None:
    screen.decide(races.explain, (Message("user", QUESTION),), draft=screen.draft)


COMMANDS = [
    SlashCommand("help", "[TOPIC]", "the manual, or a page of it", open_help, "Help", "help", words=TOPICS),
    SlashCommand("new", "", "begin a new conversation; this one is kept", "new_conversation", "New conversation"),
    SlashCommand(
        "resume",
        "[ID or words]",
        "go on with an earlier conversation",
        stored.resume,
        "Conversations",
        "list_conversations",
    ),
    SlashCommand("rename", "[TITLE]", "give the conversation a title", _rename),
    SlashCommand("delete", "", "delete it; the list brings it back", lambda do, _: stored.delete(do), typed_whole=True),
    SlashCommand("forget", "", "guess from nothing that was said in other conversations", _forget),
    SlashCommand("retry", "", "ask the last question again", lambda do, _: do.decide(questions.ask_again)),
    SlashCommand("edit", "[reply]", "edit the last question, or the reply", _edit),
    SlashCommand("continue", "", "have the last reply go on", lambda do, _: do.decide(questions.continue_reply)),
    SlashCommand(
        "token", "", "another token, and go on from it", lambda do, _: actions.another_token(do), "Another token"
    ),
    SlashCommand("copy", "[code|all]", "copy the reply, its code, or all", actions.copy_last, "Copy the reply"),
    SlashCommand("view", "", "rendered Markdown, or token by token", "toggle_view", "Markdown or tokens"),
    SlashCommand("colours", "", "verified tokens alike, or by source", "app.toggle_colours"),
    SlashCommand(
        "export", "[FILE]", "the reply: .html .svg .cast .gif .png", partial(actions.save, suffix=".html"), "Export"
    ),
    SlashCommand("save", "[FILE]", "the conversation as .md or .jsonl", partial(actions.save, suffix=".md"), "Save"),
    SlashCommand(
        "model", "[PATH, id or name]", "open another model", _model, "Open a model", "open_model", takes_path=True
    ),
    SlashCommand("reopen", "", "open the conversation's own model", lambda do, _: do.decide(navigation.reopen_model)),
    SlashCommand("system", "[TEXT|NAME|off|save NAME]", "show, change or save the system prompt", _system),
    SlashCommand("set", "[NAME VALUE]", "temperature, seed, max_new_tokens …", _set, words=OPTIONS),
    SlashCommand("think", "[on|off|auto|TOKENS]", "whether and how long the model thinks", _think),
    SlashCommand("settings", "", "what is kept for next time", "app.settings", "Settings"),
    SlashCommand("theme", "[NAME]", "choose the colours of the screen", _theme, words=THEMES),
    SlashCommand("sidebar", "", "conversations beside the chat, or not", lambda do, _: stored.toggle_side_bar(do)),
    SlashCommand("lookahead", "[on|off]", "switch lookahead", _lookahead, "Lookahead on or off", "toggle_lookahead"),
    SlashCommand("compare", "[TEXT]", "race lookahead on against off", actions.race, "Race", "race"),
    SlashCommand("explain", "", "how it works, on steps of this model", _explain, "How it works"),
    SlashCommand("debug", "", "open or close the debug panel", "toggle_debug", "Debug panel"),
    SlashCommand("quit", "", "quit", "app.quit"),
]
