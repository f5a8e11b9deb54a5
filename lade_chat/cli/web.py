"""``lade-chat web``: the chat in a browser, one process for each tab and one engine for all of them."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import secrets
import shlex
import socket
import subprocess
import sys
import webbrowser
from typing import Annotated

import msgspec
import typer

from lade_chat.child_processes import command
from lade_chat.cli.flags.arguments import DataDir, RememberFlag, ThemeFlag, whole
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.flags.shared import origins, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.process_exit import epilog
from lade_chat.cli.running.streams import is_output_error, require_output
from lade_chat.cli.tab import TAB, TabOptions
from lade_chat.errors import LadeChatError, not_installed_message

EPILOG = epilog("""
lade-chat web
lade-chat web --open --port 0 --model-path ./my-model
""")
_WARNING = (
    "warning: anyone who can reach {host} and has the address below can use this chat and read files through it;"
    " the connection is not encrypted.\n"
)


@with_shared_options()
def web(
    context: typer.Context,
    options: SharedOptions,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; any but this one admits other machines.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="INT", parser=whole(0, 65535), help="The port; 0 for any free one.")
    ] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in this machine's browser.")] = False,
    theme: ThemeFlag = None,
    data_dir: DataDir = None,
    remember: RememberFlag = True,
) -> None:
    """Serve the chat to a browser.

    Prints the address to open; without the token at its end there is no access. Each tab is a chat of its own, and all
    of them share one model, which answers them in turn.
    """
    if not host.strip():
        raise usage("--host is empty: give an address of this machine, as 127.0.0.1")
    given = origins(context, context.obj)
    # Without a flag each tab reads the settings when it is opened.
    tab = TabOptions(
        options.model(),
        options.decoding(),
        system=options.system,
        theme=theme if given["theme"] == "flag" else None,
        colours=options.colours if given["colours"] == "flag" else None,
        data_dir=str(data_dir.resolve()) if data_dir is not None else None,
        remember=remember,
        origins=dict(given),
    )
    raise typer.Exit(serve(tab, host, port, open_browser=open_browser))


def serve(tab: TabOptions, host: str, port: int, *, open_browser: bool = False) -> int:
    """Serve until Ctrl+C and return the exit code; ``port`` 0 means any free one. Raises LadeChatError."""
    from lade_chat.engine.sharing.address import Address, free_port

    require_output()
    if tab.model.processes > 1:
        raise LadeChatError("Several tabs need a single process: leave out --lookahead-workers and --tensor-parallel.")
    try:
        from lade_chat.web.server import WebServer, socket_folder
    except ModuleNotFoundError:
        raise LadeChatError(not_installed_message("lade-chat web", "aiohttp", "'textual-serve<1.2'", "yarl")) from None
    try:
        port = port or free_port(host)
    except OSError as error:
        raise LadeChatError(_unservable(host, 0, error)) from None
    token = secrets.token_urlsafe(32)
    url = f"http://{_browser_host(host)}:{port}/?token={token}"

    def ready() -> None:
        if not _is_local(host):
            sys.stderr.write(_WARNING.format(host=host))
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stderr.write("Open this address in a browser. Ctrl+C ends the chat for all tabs.\n")
        if open_browser:
            webbrowser.open(url)

    with socket_folder() as folder:
        address = Address.new(folder)
        os.environ.update({**address.environment, TAB: msgspec.json.encode(tab).decode()})
        words = command("lade_chat.cli.tab:main")
        tab_command = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
        server = WebServer(tab_command, host, port, token, address)
        try:
            asyncio.run(server.run(ready))
        except UnicodeError:  # of a name that cannot be looked up
            raise LadeChatError(f"{host} cannot be served: it is not the name or address of a machine.") from None
        except OSError as error:
            if is_output_error(error):  # nobody can be told the address
                raise
            raise LadeChatError(_unservable(host, port, error)) from None
    return 0


def _browser_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _unservable(host: str, port: int, error: OSError) -> str:
    """Say why, and which of the two to change. The event loop's own words name the address a second time."""
    number = error.errno or 0
    why = os.strerror(number) if number > 0 else error.strerror or str(error)  # a name's errors have negative numbers
    if port and number in (errno.EADDRINUSE, errno.EACCES):
        return f"{host}:{port} cannot be served: {why}. Try --port 0."
    return f"{host} cannot be served: {why}. Give --host an address of this machine."


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
