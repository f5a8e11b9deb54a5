"""Makes the README's pictures from the real application: ``python -m assets.pictures``.

The chat and its race as PNG, the end of a script that is played as the demo's is. The README's animated picture is made
by ``lade-chat demo --record assets/pictures/demo.gif --theme lade-dark``; ``--model-path`` is in each case the model
that its caption names.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from lade_chat.engine.process.client import EngineClient
from lade_chat.errors import LadeChatError
from lade_chat.export.raster import film_png
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.demo.demo_app import DemoApp, Recorder, Script
from lade_chat.tui.demo.script import Director, Prompts

HERE = Path(__file__).parent
TEMPO = 0.1
MAX_BYTES = 2_000_000
"""All the pictures of a folder together: everyone who clones the repository gets them."""


async def chat(do: Director, prompts: Prompts) -> None:
    """A few turns, finished."""
    await do.until_ready()
    for prompt in prompts.asked:
        await do.ask(prompt)
        await do.until_ready()
    await do.wait(5)


async def race(do: Director, prompts: Prompts) -> None:
    """A race, finished."""
    await do.until_ready()
    await do.type(prompts.raced)
    await do.press("ctrl+r")
    await do.until_raced()
    await do.wait(5)


SCREENS: dict[str, tuple[tuple[int, int], Script]] = {"chat": ((100, 45), chat), "race": ((110, 14), race)}
"""Each with its size in cells and what is done in it."""


def make(name: str, folder: Path, model: ModelOptions, theme: str, engine_module: str | None) -> Path:
    """Make one picture, in a fresh engine."""
    size, script = SCREENS[name]
    engine, recorder = EngineClient(engine_module), Recorder(*size)
    with TemporaryDirectory() as conversations:
        store = Store(Path(conversations), remember=False)
        app = DemoApp(engine, model, store, f"lade-{theme}", recorder=recorder, script=script, tempo=TEMPO)
        try:
            asyncio.run(app.run_async(headless=True, size=size))
        finally:
            engine.close()
    if app.trouble:
        raise LadeChatError(app.trouble)
    path = folder / f"{name}.png"
    path.write_bytes(film_png(recorder.film))
    return path


def main(arguments: list[str] | None = None) -> int:
    """Make the pictures named, or all, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(SCREENS)}; all of them")
    parser.add_argument("--to", type=Path, default=HERE, metavar="FOLDER", help="where to; beside this command")
    parser.add_argument("--model-path", metavar="PATH_OR_HUB_ID", help="which model; the bundled one")
    parser.add_argument("--theme", choices=["dark", "light"], default="dark")
    parser.add_argument("--engine", metavar="MODULE:FACTORY", help="another engine than the chat's, a scripted one say")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(SCREENS):
        parser.error(f"no picture is named {', '.join(sorted(unknown))}: there are {', '.join(SCREENS)}")
    given.to.mkdir(parents=True, exist_ok=True)
    try:
        for name in given.names or SCREENS:
            path = make(name, given.to, ModelOptions(path=given.model_path), given.theme, given.engine)
            sys.stdout.write(f"{path}  {path.stat().st_size / 1000:.0f} kB\n")
    except LadeChatError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return _weigh(given.to)


def _weigh(folder: Path) -> int:
    """Say if the pictures have become too many or too large."""
    total = sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".gif", ".png"))
    if total > MAX_BYTES:
        sys.stderr.write(f"error: the pictures take {total / 1000:.0f} kB, more than {MAX_BYTES / 1000:.0f} kB\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
