"""Silences the libraries that load models, and turns their progress bars into reports."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_LOUD = ("transformers", "huggingface_hub", "accelerate", "torch", "torchao")
_WEIGHTS = "Loading weights"
"""Name of transformers' progress bar for a checkpoint's tensors."""


@contextmanager
def quiet(on_weights: Callable[[int, int], None] | None = None) -> Iterator[None]:
    """Silence logs, warnings and progress bars within; ``on_weights(done, total)`` counts the tensors loaded."""
    import torch  # noqa: F401  # sets the levels of its loggers on import
    from transformers.utils import logging as transformers_logging

    levels = {name: logging.getLogger(name).level for name in _LOUD}
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def no_bar(_factory: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        bar = transformers_logging.EmptyTqdm(*args, **keywords)
        if on_weights is not None and keywords.get("desc") == _WEIGHTS:
            bar._iterator = _counted(args[0], on_weights)
        return bar

    previous = transformers_logging.set_tqdm_hook(no_bar)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_tqdm_hook(previous)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _counted(items: Any, report: Callable[[int, int], None]) -> Iterator[Any]:
    """Yield ``items``, reporting progress about a hundred times."""
    total = len(items)
    every = max(1, total // 100)
    report(0, total)
    for done, item in enumerate(items, start=1):
        yield item
        if done % every == 0 or done == total:
            report(done, total)
