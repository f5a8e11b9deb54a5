"""What ``explain`` takes on its command line, and which of the shared flags it does not."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from lade_chat.settings.catalogue import MODEL_SETTINGS, SAMPLING_SETTINGS

Question: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[PROMPT]", help="The question whose answer is looked at.", show_default=False)
]
FROM_SETTINGS = (*MODEL_SETTINGS, "theme")
NOT_HERE = (
    *SAMPLING_SETTINGS,
    "lookahead",
    "window_size",
    "ngram_size",
    "guess_set_size",
    "max_new_tokens",
    "lookahead_workers",
    "tensor_parallel",
    "system",
    "raw",
    "debug",
    "colours",
)
"""Sizes are as small as the screen needs them, the likeliest token is always taken, and one process does it."""
