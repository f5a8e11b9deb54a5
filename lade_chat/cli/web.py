"""``lade-chat web``: the chat in a browser, one process for each tab and one engine for all of them."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import shlex
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from lade_chat.cli.flags.shared import SharedOptions
from lade_chat.cli.running.streams import require_output
from lade_chat.cli.tab import TAB, TabOptions
from lade_chat.engine.sharing.address import Address, new_secret
from lade_chat.errors import LadeChatError
from lade_chat.settings.settings import Origin

_BOOT = "import sys; sys.path[:] = {path!r}; from lade_chat.cli.tab import main; main()"
_WARNING = (
    "warning: whoever can reach {host} and has the address below can use this chat and read files through it;"
    " nothing is encrypted on the way.\n"
)


def serve(
    options: SharedOptions,
    host: str,
    port: int,
    *,
    theme: str | None,
    data_dir: Path | None,
    origins: Mapping[str, Origin],
    open_browser: bool,
    engine: str | None = None,
) -> int:
    """Serve until Ctrl+C, and return the exit code. ``port`` 0 means any free one. Raises LadeChatError.

    ``engine``: ``module:factory`` of another engine than the chat's.
    """
    require_output()
    model = options.model()
    if model.processes > 1:
        raise LadeChatError("Several processes for one model serve one conversation, not several tabs: leave them out.")
    try:
        from lade_chat.web.engine_process import EngineProcess
        from lade_chat.web.server import WebServer
        from lade_chat.web.socket_folder import socket_folder
    except ModuleNotFoundError as error:
        raise LadeChatError(
            f"The browser needs a package that is not installed ({error.name}): pip install 'lade-chat[web]'"
        ) from None
    port = port or _free_port(host)
    folder_name = str(data_dir.resolve()) if data_dir is not None else None
    colours = options.colours.view if origins.get("colours") == "flag" else None
    tab = TabOptions(
        model, options.decoding(), options.system, options.debug, theme, folder_name, dict(origins), colours
    )
    token = new_secret()
    url = f"http://{_name_of(host)}:{port}/?token={token}"

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
        os.environ.update({**address.environment, TAB: tab.encoded()})
        server = WebServer(_tab_command(), host, port, token, EngineProcess(address, _tell, engine))
        try:
            asyncio.run(server.run(ready))
        except OSError as error:
            raise LadeChatError(f"{host}:{port} cannot be served: {error.strerror or error}. Try --port 0.") from None
    return 0


def _name_of(host: str) -> str:
    """How a browser calls the address."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _tab_command() -> str:
    """A shell's line that runs the chat of one tab."""
    words = [sys.executable, "-c", _BOOT.format(path=sys.path)]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as listening:
            listening.bind((host, 0))
            port: int = listening.getsockname()[1]
            return port
    except OSError as error:
        raise LadeChatError(f"{host} cannot be served: {error.strerror or error}.") from None


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
