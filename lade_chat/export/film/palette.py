"""Palette of a film: the colours of its texts and grounds, and as many between them as a GIF has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from PIL import Image

from lade_chat.export.film.film import Film
from lade_chat.export.theme import rgb

MAX_COLOURS = 255
"""One of a GIF's colours is left for what has not changed."""
MAX_SHADES = 8
"""Colours of a character, from the ground to the text, whose edges lie between them."""
Look: TypeAlias = tuple[str, str]
"""The colours of a text and of the ground below it."""
_Colour: TypeAlias = tuple[int, int, int]


class Palette:
    """At most :data:`MAX_COLOURS` colours, and where those of each look stand among them."""

    def __init__(self, film: Film) -> None:
        cells = Counter[Look]()
        for frame in film.frames:
            for row in frame.rows.values():
                for run in row:
                    cells[run.ink, run.ground] += len(run.text)
        for shades in range(MAX_SHADES, 1, -1):  # looks share colours, so that many of them may have all shades
            self._ramps = {look: _ramp(look, shades) for look in cells}
            colours = {colour for ramp in self._ramps.values() for colour in ramp}
            if len(colours) <= MAX_COLOURS:
                break
        else:
            similar = _similar(self._ramps, cells)
            self._ramps = {look: [similar[colour] for colour in ramp] for look, ramp in self._ramps.items()}
            colours = set(similar.values())
        self._places = {colour: place for place, colour in enumerate(sorted(colours))}

    def flat(self) -> list[int]:
        """Return red, green and blue of every colour in turn, as Pillow takes them."""
        return [part for colour in self._places for part in colour]

    def table(self, look: Look) -> list[int]:
        """Return the places of a look's colours, from its ground (0) to its text (255)."""
        ramp = [self._places[colour] for colour in self._ramps[look]]
        return [ramp[round(ink * (len(ramp) - 1) / 255)] for ink in range(256)]


def _ramp(look: Look, shades: int) -> list[_Colour]:
    text, ground = map(rgb, look)
    return [_blend(ground, text, shade / (shades - 1)) for shade in range(shades)]


def _blend(low: _Colour, high: _Colour, part: float) -> _Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def _similar(ramps: Mapping[Look, Sequence[_Colour]], cells: Counter[Look]) -> dict[_Colour, _Colour]:
    """Map more colours than there is room for to similar ones; those of the most cells stay as they are."""
    used = Counter[_Colour]()
    for look, ramp in ramps.items():
        for colour in ramp:
            used[colour] += cells[look]
    in_order = [colour for colour, _ in used.most_common()]
    kept, rest = in_order[: MAX_COLOURS // 2], in_order[MAX_COLOURS // 2 :]
    strip = Image.frombytes("RGB", (len(rest), 1), bytes(part for colour in rest for part in colour))
    few = strip.quantize(MAX_COLOURS - len(kept), method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    parts = iter(few.convert("RGB").tobytes())
    return {colour: colour for colour in kept} | dict(zip(rest, zip(parts, parts, parts, strict=True), strict=True))
