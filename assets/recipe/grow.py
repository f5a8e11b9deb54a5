"""The step `grow`: a checkpoint in the shape of a larger model that computes the same logits."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path

from lade_chat.bench.grown.shapes import SHAPES, Shape, shape_named
from lade_chat.errors import LadeChatError

_ASSETS = Path(__file__).resolve().parents[1]


def add_options(step: argparse.ArgumentParser) -> None:
    """Add the step's options: a published shape, and each of its sizes by number."""
    step.add_argument("--like", help=f"a published shape: {', '.join(SHAPES)}; default the source's own")
    step.add_argument("--from", dest="source", type=Path, default=_ASSETS / "model", help="a checkpoint's folder")
    step.add_argument("--to", type=Path, required=True, help="a new folder for the grown checkpoint")
    step.add_argument("--dtype", default="bfloat16", help="bfloat16, float32 or float16")
    for field in fields(Shape):
        kind = str if field.name == "architecture" else int
        step.add_argument(f"--{field.name.replace('_', '-')}", type=kind, help="in place of the shape's")


def run(options: argparse.Namespace) -> None:
    """Grow the checkpoint and print the result in a line; exit with a line if that cannot be done."""
    from transformers import AutoConfig
    from transformers.utils import logging

    from lade_chat.bench.grown.checkpoint import grow
    from lade_chat.bench.grown.shapes import shape_of

    logging.disable_progress_bar()
    try:
        given = {field.name: value for field in fields(Shape) if (value := getattr(options, field.name)) is not None}
        shape = shape_named(options.like) if options.like else shape_of(AutoConfig.from_pretrained(options.source))
        print(f"{options.to}: {grow(options.source, replace(shape, **given), options.to, options.dtype)}")
    except (LadeChatError, OSError) as error:
        sys.exit(f"{error}")
