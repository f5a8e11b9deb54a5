"""``lade-chat demo``: a minute and a half of the chat that plays by itself, on the screen or into a file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from lade_chat.cli.flags.arguments import ThemeFlag, file_path
from lade_chat.cli.flags.options import OF_A_REPLY, SIZES, SharedOptions
from lade_chat.cli.flags.shared import with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.process_exit import epilog
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.cli.running.streams import require_terminal
from lade_chat.errors import LadeChatError
from lade_chat.settings.catalogue import MODEL_SETTINGS

EPILOG = epilog("""
lade-chat demo
lade-chat demo --model-path Qwen/Qwen2.5-0.5B-Instruct
lade-chat demo --record demo.gif --size 80x24
""")
SMALLEST = (60, 18)


@with_shared_options(without=(*OF_A_REPLY, *SIZES), settings=(*MODEL_SETTINGS, "theme"))
def demo(
    context: typer.Context,
    options: SharedOptions,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=file_path, help="Write it to a .gif instead of showing it.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="The recorded screen, in cells; by default 80x24.")
    ] = None,
    theme: ThemeFlag = None,
) -> None:
    """Play a demo: a chat, the switch, a race, slow motion.

    Any key ends it.
    """
    columns, rows = _size(size or "80x24")
    if record is None and size is not None:
        raise usage("--size is for --record; otherwise the demo has the size of the terminal")
    if record is None:
        require_terminal("demo", "; lade-chat demo --record demo.gif writes a file")
    import asyncio
    from tempfile import TemporaryDirectory

    from lade_chat.engine.process.client import EngineClient
    from lade_chat.export.picture import check_film, write_film
    from lade_chat.loading.checkpoint import check_files
    from lade_chat.store.all_conversations import Store
    from lade_chat.tui.demo.demo_app import DemoApp, Recorder

    if record is not None:
        check_film(record)
    model = options.model()
    check_files(model)
    line = PassingLine(sys.stderr)

    def report(seconds: float) -> None:
        line.show(f"recording a minute and a half · {seconds:.0f} s")

    recorder = Recorder(columns, rows, report) if record is not None else None
    engine = EngineClient()
    with TemporaryDirectory() as folder, line:
        try:
            app = DemoApp(engine, model, Store(Path(folder), remember=False), theme, recorder=recorder)
            if recorder is None:
                app.run()
            else:
                asyncio.run(app.run_async(headless=True, size=(columns, rows)))
        finally:
            engine.close()
    if app.trouble:
        raise LadeChatError(app.trouble)
    if recorder is not None and record is not None and not app.return_code:
        with line:
            line.show(f"writing {record} …")
            write_film(record, recorder.film)
        sys.stdout.write(f"{record}  {record.stat().st_size / 1000:.0f} kB, {recorder.film.seconds:.0f} s\n")
    if recorder is None and not app.return_code:
        sys.stdout.write("lade-chat opens the chat; lade-chat explain shows how it works.\n")
    raise typer.Exit(app.return_code or 0)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text.strip())
    if found is None or (size := (int(found[1]), int(found[2]))) < SMALLEST or size[1] < SMALLEST[1]:
        raise usage(f"--size is columns x rows, from 60x18 to 999x999, and {text} is not")
    return size
