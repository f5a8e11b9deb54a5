"""Help texts of the metrics: the definition of each, for tooltips and the manual."""

from __future__ import annotations

from lade_chat.presentation.texts import texts_beside
from lade_chat.presentation.token_looks import SOURCES

_PLACES = "; ".join(f"{name} is {source.place}" for name, source in SOURCES.items())
METRIC_HELP = texts_beside(__file__, "metric_help.txt")
METRIC_HELP["verified from"] = METRIC_HELP["verified from"].format(sources=_PLACES)
