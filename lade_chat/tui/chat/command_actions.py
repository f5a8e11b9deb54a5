"""What each slash command does on the main screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from lade_chat.errors import LadeChatError
from lade_chat.settings.settings import nearest
from lade_chat.tui.chat.commands import parse
from lade_chat.tui.chat.saving import default_name, save_as
from lade_chat.tui.chat.set_option import current_options, with_option

if TYPE_CHECKING:
    from lade_chat.tui.chat.keys import ChatKeys


def run(screen: ChatKeys, text: str) -> bool:
    """Carry out the command that ``text`` is. False if it could not be understood; a hint says why."""
    try:
        command, argument = parse(text)
        _DEEDS[command.name](screen, argument)
    except (ValueError, LadeChatError) as error:
        screen.hint(str(error))
        return False
    return True


def _rename(screen: ChatKeys, title: str) -> None:
    current = screen.chat.conversation.current
    if not current.turns:
        raise ValueError("There is nothing to name yet: type a message first.")
    if not title:
        raise ValueError(f"It is called “{current.title}”. /rename TITLE changes that.")
    screen.chat.conversation.rename(title, lambda: screen.hint(f"It is now called “{current.title}”."))


def _delete(screen: ChatKeys, _argument: str) -> None:
    current, store = screen.chat.conversation.current, screen.keeper.store
    if not current.turns:
        raise ValueError("There is nothing to delete yet.")
    screen.chat.new_conversation(
        lambda: screen.keeper.change(
            lambda: store.delete(current.id), lambda: screen.can_bring_back(current.id, current.title)
        )
    )


def _system(screen: ChatKeys, text: str) -> None:
    talk = screen.chat.conversation
    if not text:
        system = talk.current.about.system
        raise ValueError(f"System prompt: {system}" if system else "There is no system prompt. /system TEXT sets one.")
    talk.instruct(None if text.lower() == "off" else text)
    screen.transcript.note("No system prompt from here on." if text.lower() == "off" else f"System prompt: {text}")


def _set(screen: ChatKeys, argument: str) -> None:
    if not argument:
        screen.transcript.note(current_options(screen.chat.options))
        return
    name, _, value = argument.replace("=", " ", 1).partition(" ")
    options, told = with_option(screen.chat.options, name, value.strip())
    screen.chat.set_options(options)
    screen.hint(told)


def _lookahead(screen: ChatKeys, argument: str) -> None:
    wanted = {"": None, "on": True, "off": False}.get(argument.lower(), argument)
    if isinstance(wanted, str):
        raise ValueError("It is /lookahead, /lookahead on, or /lookahead off.")
    if wanted is None or wanted is not screen.chat.options.lookahead:
        screen.chat.toggle_lookahead()


def _model(screen: ChatKeys, path: str) -> None:
    if path:
        screen.chat.load(msgspec.structs.replace(screen.chat.model_options, path=path))
    else:
        screen.action_open_model()


def _export(screen: ChatKeys, name: str) -> None:
    current = screen.chat.conversation.current
    save_as(screen, name or default_name(current.title, ".html"))


def _save(screen: ChatKeys, name: str) -> None:
    current = screen.chat.conversation.current
    save_as(screen, name or default_name(current.title, ".md"))


def _copy(screen: ChatKeys, what: str) -> None:
    if what not in ("", "code", "all"):
        raise ValueError("It is /copy, /copy code, or /copy all.")
    screen.copy_last(what)


def _settings(screen: ChatKeys, _argument: str) -> None:
    screen.call_later(screen.app.run_action, "app.settings")


def _theme(screen: ChatKeys, name: str) -> None:
    app = screen.app
    if not name:
        screen.call_later(app.run_action, "app.change_theme")
    elif name in app.available_themes:
        app.theme = name
    else:
        near = nearest(name, app.available_themes)
        raise ValueError(f"There is no theme {name}. {f'Did you mean {near}?' if near else '/theme shows all.'}")


def _quit(screen: ChatKeys, _argument: str) -> None:
    screen.call_later(screen.app.action_quit)


_DEEDS: dict[str, Callable[[ChatKeys, str], None]] = {
    "help": lambda screen, topic: screen.action_help(topic),
    "new": lambda screen, _: screen.chat.new_conversation(),
    "resume": lambda screen, wanted: screen.resume(wanted) if wanted else screen.action_list_conversations(),
    "rename": _rename,
    "delete": _delete,
    "retry": lambda screen, _: screen.chat.retry(),
    "edit": lambda screen, _: screen.edit(),
    "continue": lambda screen, _: screen.chat.go_on(),
    "copy": _copy,
    "view": lambda screen, _: screen.action_toggle_view(),
    "colours": lambda screen, _: screen.action_toggle_colours(),
    "export": _export,
    "save": _save,
    "model": _model,
    "reopen": lambda screen, _: screen.chat.reopen(),
    "system": _system,
    "set": _set,
    "settings": _settings,
    "theme": _theme,
    "lookahead": _lookahead,
    "compare": lambda screen, text: screen.chat.race(text),
    "explain": lambda screen, _text: screen.action_explain(),
    "debug": lambda screen, _: screen.action_toggle_debug(),
    "quit": _quit,
}
