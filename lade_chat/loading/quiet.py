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


class _Silence:
    """Silences the libraries for the whole process, from the first thread that asks for it to the last: the thread of a
    cancelled download may go on into the next load."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted = 0
        self._undo = ExitStack()
        self.of_thread = local()
        """``on_weights`` of each thread."""

    def begin(self) -> None:
        import torch  # noqa: F401  # sets the levels of its loggers on import
        from transformers.utils import logging as transformers_logging

        with self._lock:
            self._wanted += 1
            if self._wanted > 1:
                return
            for logger in map(logging.getLogger, _LOUD):
                self._undo.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL + 1)
            self._undo.callback(
                transformers_logging.set_tqdm_hook, transformers_logging.set_tqdm_hook(self._without_bar)
            )
            self._undo.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")

    def end(self) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._undo.close()

    def _without_bar(self, _factory: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        from transformers.utils import logging as transformers_logging

        bar = transformers_logging.EmptyTqdm(*args, **keywords)
        on_weights = getattr(self.of_thread, "on_weights", None)
        if on_weights is not None and keywords.get("desc") == _WEIGHTS:
            bar._iterator = _counted(args[0], on_weights)
        return bar


_SILENCE = _Silence()


@contextmanager
def quiet(on_weights: Callable[[int, int], None] | None = None) -> Iterator[None]:
    """Silence logs, warnings and progress bars within; ``on_weights(done, total)`` counts the tensors loaded."""
    _SILENCE.begin()
    before = getattr(_SILENCE.of_thread, "on_weights", None)
    _SILENCE.of_thread.on_weights = on_weights
    try:
        yield
    finally:
        _SILENCE.of_thread.on_weights = before
        _SILENCE.end()


def _counted(items: Any, report: Callable[[int, int], None]) -> Iterator[Any]:
    """Yield ``items``, reporting progress about a hundred times."""
    total = len(items)
    every = max(1, total // 100)
    report(0, total)
    for done, item in enumerate(items, start=1):
        yield item
        if done % every == 0 or done == total:
            report(done, total)
