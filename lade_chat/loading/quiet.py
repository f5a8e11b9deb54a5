"""Silences the libraries that load models, and turns their progress bars into reports."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, local
from typing import Any

_LOUD = ("transformers", "huggingface_hub", "accelerate", "torch", "torchao")
_WEIGHTS = "Loading weights"
"""Name of transformers' progress bar for a checkpoint's tensors."""


_lock = Lock()
_undo = ExitStack()
_wanted = 0
"""How many want it silent now: the thread of a cancelled download may go on into the next load."""
_of_thread = local()
"""``on_weights`` of each thread."""


@contextmanager
def quiet(on_weights: Callable[[int, int], None] | None = None) -> Iterator[None]:
    """Silence logs, warnings and progress bars within, in all threads; ``on_weights(done, total)`` counts tensors."""
    import torch  # noqa: F401  # sets the levels of its loggers on import

    global _wanted
    with _lock:
        _wanted += 1
        if _wanted == 1:
            _silence()
    before, _of_thread.on_weights = getattr(_of_thread, "on_weights", None), on_weights
    try:
        yield
    finally:
        _of_thread.on_weights = before
        with _lock:
            _wanted -= 1
            if not _wanted:
                _undo.close()


def _silence() -> None:
    from transformers.utils import logging as transformers_logging

    def without_bar(_factory: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        bar = transformers_logging.EmptyTqdm(*args, **keywords)
        on_weights = getattr(_of_thread, "on_weights", None)
        if on_weights is not None and keywords.get("desc") == _WEIGHTS:
            bar._iterator = _counted(args[0], on_weights)
        return bar

    for logger in map(logging.getLogger, _LOUD):
        _undo.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)
    _undo.callback(transformers_logging.set_tqdm_hook, transformers_logging.set_tqdm_hook(without_bar))
    _undo.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")


def _counted(items: Any, report: Callable[[int, int], None]) -> Iterator[Any]:
    """Yield ``items``, reporting progress about a hundred times."""
    total = len(items)
    every = max(1, total // 100)
    report(0, total)
    for done, item in enumerate(items, start=1):
        yield item
        if done % every == 0 or done == total:
            report(done, total)
