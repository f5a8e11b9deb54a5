"""``lade-chat`` itself: opens the chat, with the engine in a process of its own."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from lade_chat import __version__
from lade_chat.cli.flags.arguments import DataDir, RememberFlag, ThemeFlag
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.flags.shared import origins, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.process_exit import FAILURE, epilog
from lade_chat.cli.running.streams import require_terminal

if TYPE_CHECKING:
    from lade_chat.settings.effective import Preferences
    from lade_chat.store.all_conversations import Store

_RESUMED = "Continue an earlier conversation, by its identifier or by words in it; alone, choose from the list."
EPILOG = epilog("""
lade-chat
lade-chat --model-path Qwen/Qwen2.5-0.5B-Instruct --dtype float32
lade-chat --model-path ./my-model --no-lookahead
lade-chat --temperature 0.8 --top-p 0.9
lade-chat --continue
lade-chat --resume fox
lade-chat ask "Count from 3 to 30."
""")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lade-chat {__version__}")
        raise typer.Exit


@with_shared_options()
def chat(
    context: typer.Context,
    options: SharedOptions,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    resume: Annotated[str | None, typer.Option(metavar="[ID_OR_TEXT]", help=_RESUMED)] = None,
    continue_latest: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the latest conversation held in the chat.")
    ] = False,
    data_dir: DataDir = None,
    remember: RememberFlag = True,
    theme: ThemeFlag = None,
) -> None:
    """Chat with a causal language model, decoded by exact lookahead decoding.

    Without a command the chat opens. A flag that a command has too may stand before that command or behind it.
    """
    if context.invoked_subcommand is None:
        if resume is not None and continue_latest:
            raise usage("--resume and --continue exclude one another")
        require_terminal("the chat", "; in a pipe or a script use: lade-chat ask PROMPT")
        from lade_chat.settings.effective import Preferences
        from lade_chat.store.all_conversations import Store

        preferences = Preferences.of(context.obj, origins(context, context.obj), theme, options.colours)
        store = Store(data_dir, remember=remember)
        raise typer.Exit(open_chat(options, store, preferences, resume=resume, latest=continue_latest))


def open_chat(
    options: SharedOptions, store: Store, preferences: Preferences, *, resume: str | None, latest: bool
) -> int:
    """Open the chat and return the exit code."""
    from lade_chat.cli.running.process_exit import end_in_time
    from lade_chat.engine.process.client import EngineClient
    from lade_chat.tui.app.application import ChatApp
    from lade_chat.tui.conversations.conversation_session import Start

    client = EngineClient()
    try:
        chat_app = ChatApp(
            client,
            options.model(),
            options.decoding(),
            system=options.system,
            store=store,
            start=Start(latest, resume, options.system if preferences.origins.get("system") == "flag" else None),
            preferences=preferences,
        )
        end_in_time(chat_app.ending, lambda: chat_app.return_code or 0)
        chat_app.run()
    finally:
        client.close()
    if store.would_lose:
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"error: not everything was saved: {chat_app.chat_screen.store_worker.trouble}\n")
        return FAILURE
    return chat_app.return_code or 0
