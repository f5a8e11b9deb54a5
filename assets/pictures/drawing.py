"""Turns a picture of the screen from SVG to PNG, with what draws SVG here."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OTHERS = ("rsvg-convert",)
"""In case there is no browser; it knows fewer of a machine's fonts."""


def drawer(wanted: str | None = None) -> str | None:
    """The command that draws: the one wanted, else the first there is."""
    return next(
        (found for name in ([wanted] if wanted else [*BROWSERS, *OTHERS]) if (found := shutil.which(name))), None
    )


def draw(svg: Path, command: str) -> Path:
    """Put the picture into a PNG instead."""
    png = svg.with_suffix(".png")
    if Path(command).name in OTHERS:
        # Browsers alone keep the spaces at the ends of a text without being told.
        kept = svg.read_text(encoding="utf-8").replace("<svg ", '<svg xml:space="preserve" ', 1)
        subprocess.run([command, "-o", str(png)], input=kept.encode(), check=True, timeout=120)
    else:
        _browse(svg, png, command)
    svg.unlink()
    _shrink(png)
    return png


def _browse(svg: Path, png: Path, browser: str) -> None:
    text = svg.read_text(encoding="utf-8")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert size is not None, "no picture of a screen"
    width, height = (round(float(side)) for side in size.groups())
    with TemporaryDirectory() as profile:
        page = Path(profile, "page.html")
        style = "html, body { margin: 0; background: transparent } svg { display: block; width: 100vw }"
        page.write_text(f'<meta charset="utf-8"><style>{style}</style>{text}', encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--hide-scrollbars"]
        options += [f"--window-size={width},{height}", "--default-background-color=00000000"]
        options += ["--disable-background-networking", f"--screenshot={png}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, stderr=subprocess.DEVNULL, timeout=120)


def _shrink(png: Path) -> None:
    """Few colours are enough for a screen, and a third of the bytes; without Pillow it stays as it is."""
    with suppress(ImportError):
        from PIL import Image

        with Image.open(png) as picture:
            few = picture.convert("RGBA").quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.save(png, optimize=True)
