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
CELL, ADVANCE = 0.61, 0.602
"""A cell's width as a share of the font's size, in Textual's pictures and in DejaVu Sans Mono and its like."""


def drawer(wanted: str | None = None) -> str | None:
    """The command that draws: the one wanted, else the first there is."""
    return next(
        (found for name in ([wanted] if wanted else [*BROWSERS, *OTHERS]) if (found := shutil.which(name))), None
    )


def draw(svg: Path, command: str) -> Path:
    """Put the picture into a PNG instead."""
    png = svg.with_suffix(".png")
    if Path(command).name in OTHERS:
        told = _for_others(svg.read_text(encoding="utf-8"))
        subprocess.run([command, "-o", str(png)], input=told.encode(), check=True, timeout=120)
    else:
        _browse(svg, png, command)
    svg.unlink()
    _shrink(png)
    return png


def _for_others(svg: str) -> str:
    """The picture with what browsers know without being told: spaces at a text's ends stay, and a text has its length.

    Without the length, texts are as long as the font makes them, and lines end before their corners.
    """
    kept = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    return re.sub(r"font-size: ([\d.]+)px", lambda size: f"font-size: {float(size[1]) * CELL / ADVANCE:.3f}px", kept)


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
