"""Makes the README's pictures from the real application: ``python -m assets.pictures``.

The chat and its race as PNG (drawn by Chromium or rsvg-convert; without either the SVG stays), a reply as GIF (drawn by
Pillow). The README's animated one is made by ``lade-chat demo --record assets/pictures/demo.gif --theme lade-dark``;
``--model-path`` is in each case the model that its caption names.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from assets.pictures.drawing import draw, drawer
from assets.pictures.reply import reply
from assets.pictures.screen import SCREENS, screen
from assets.pictures.watched import Watched
from lade_chat.errors import LadeChatError
from lade_chat.export.theme import Theme
from lade_chat.protocol.values import ModelOptions

HERE = Path(__file__).parent
NAMES = (*SCREENS, "reply")
MOST_BYTES = 2_000_000
"""All the pictures of a folder together: everyone who clones the repository gets them."""


def make(name: str, folder: Path, model: ModelOptions, theme: Theme, command: str | None, engine: str | None) -> Path:
    """One picture, in a fresh engine."""
    watched = Watched(engine)
    try:
        if name not in SCREENS:
            return asyncio.run(reply(folder, model, watched, theme))
        path = asyncio.run(screen(name, folder, model, watched, theme))
    finally:
        watched.close()
    return draw(path, command) if command else path


def main(arguments: list[str] | None = None) -> int:
    """Make the pictures named, or all, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NAMES)}; all of them")
    parser.add_argument("--to", type=Path, default=HERE, metavar="FOLDER", help="where to; beside this command")
    parser.add_argument("--model-path", metavar="PATH_OR_HUB_ID", help="which model; the bundled one")
    parser.add_argument("--theme", choices=["dark", "light"], default="dark")
    parser.add_argument("--draw", metavar="COMMAND", help="what draws SVG; Chromium, else rsvg-convert")
    parser.add_argument("--engine", metavar="MODULE:FACTORY", help="another engine than the chat's, a scripted one say")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"no picture is named {', '.join(sorted(unknown))}: there are {', '.join(NAMES)}")
    command = drawer(given.draw)
    if given.draw and command is None:
        parser.error(f"there is no command {given.draw}")
    model = ModelOptions(path=given.model_path)
    given.to.mkdir(parents=True, exist_ok=True)
    try:
        for name in given.names or NAMES:
            path = make(name, given.to, model, given.theme, command, given.engine)
            sys.stdout.write(f"{path}  {path.stat().st_size / 1000:.0f} kB\n")
    except LadeChatError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return _weigh(given.to)


def _weigh(folder: Path) -> int:
    """Say if the pictures have become too many or too large."""
    total = sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".gif", ".png", ".svg"))
    if total > MOST_BYTES:
        sys.stderr.write(f"error: the pictures take {total / 1000:.0f} kB, more than {MOST_BYTES / 1000:.0f} kB\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
