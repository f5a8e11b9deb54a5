"""Makes the README's pictures from the real application: `python -m assets.pictures` (needs Chromium)."""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.pilot import Pilot

from lade_chat.engine.client import EngineClient
from lade_chat.protocol import DecodingOptions, Event, Loaded, ModelOptions, RaceFinished, ReplyFinished
from lade_chat.tui.app import ChatApp

HERE = Path(__file__).parent
PROMPTS = (
    "Write a Python function that returns the sum of a list.",
    "Tell me a short story about a fox and a river.",
    "What is 17 plus 25?",
)
Act = Callable[[Pilot[None], "Watched"], Awaitable[None]]


class Watched(EngineClient):
    """The real engine, with a note of each kind of event that has come."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[type[Event]] = []

    def _deliver(self, process: object, event: Event) -> None:
        super()._deliver(process, event)  # type: ignore[arg-type]
        self.seen.append(type(event))

    async def until(self, pilot: Pilot[None], kind: type[Event], times: int = 1) -> None:
        """Wait until that many events of a kind have come, and are on the screen."""
        while self.seen.count(kind) < times:
            await pilot.pause(0.05)
        await pilot.pause(0.5)


async def picture(
    name: str, size: tuple[int, int], act: Act, *, theme: str = "textual-dark", debug: bool = False
) -> Path:
    """Run the chat, act in it, and save what the screen shows as SVG."""
    engine = Watched()
    app = ChatApp(engine, ModelOptions(dtype="float32"), DecodingOptions(debug=debug), debug=debug)
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        await engine.until(pilot, Loaded)
        await act(pilot, engine)
        path = HERE / f"{name}.svg"
        path.write_text(app.export_screenshot(title="lade-chat"), encoding="utf-8")
    engine.close()
    return path


async def say(pilot: Pilot[None], text: str) -> None:
    """Type a prompt and send it."""
    await pilot.press(*("space" if character == " " else character for character in text))
    await pilot.press("enter")


async def chat(pilot: Pilot[None], engine: Watched) -> None:
    """A few turns, finished."""
    for turn, prompt in enumerate(PROMPTS, start=1):
        await say(pilot, prompt)
        await engine.until(pilot, ReplyFinished, turn)


async def race(pilot: Pilot[None], engine: Watched) -> None:
    """A race, finished."""
    await pilot.press(*("space" if character == " " else character for character in PROMPTS[-1]))
    await pilot.pause(0.5)
    await pilot.press("ctrl+r")
    await engine.until(pilot, RaceFinished)


def draw(svg: Path, chromium: str) -> None:
    """Turn a picture into a PNG beside it. Of what draws SVG, browsers alone keep every space of a line."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text(encoding="utf-8"))
    assert size is not None, "no picture of a screen"
    width, height = (round(float(side)) for side in size.groups())
    with TemporaryDirectory() as profile:
        page = Path(profile, "page.html")
        style = "html, body { margin: 0; background: transparent } svg { display: block; width: 100vw }"
        page.write_text(f"<style>{style}</style>{svg.read_text(encoding='utf-8')}", encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--hide-scrollbars"]
        options += [f"--window-size={width},{height}", "--default-background-color=00000000"]
        options += ["--disable-background-networking", f"--screenshot={svg.with_suffix('.png')}"]
        subprocess.run([chromium, *options, page.as_uri()], check=True, stderr=subprocess.DEVNULL, timeout=120)


def main() -> None:
    """Make the pictures named, or all."""
    pictures: dict[str, tuple[tuple[int, int], Act]] = {"chat": ((100, 30), chat), "race": ((110, 20), race)}
    parser = argparse.ArgumentParser(prog="python -m assets.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", default=["chat"], choices=list(pictures), help="which; chat")
    parser.add_argument("--chromium", default="chromium", help="the command that runs Chromium")
    arguments = parser.parse_args()
    for name in arguments.names:
        path = asyncio.run(picture(name, *pictures[name]))
        draw(path, arguments.chromium)
        path.unlink()


if __name__ == "__main__":
    main()
