"""The model that was requested, and the one that is loaded."""

from __future__ import annotations

from collections import deque

from lade_chat.protocol.events import Loaded, LoadFailed
from lade_chat.protocol.values import ModelInfo, ModelOptions
from lade_chat.store.values import Model


class ModelLoads:
    """Tracks load requests, which may overlap: only the last one's result counts."""

    def __init__(self, options: ModelOptions) -> None:
        self.options = options
        """Options of the loaded model; of the last request while there is none."""
        self.model: ModelInfo | None = None
        self._running: deque[ModelOptions] = deque()
        self._last_loaded: tuple[ModelInfo, ModelOptions] | None = None

    @property
    def opened(self) -> ModelOptions | None:
        """Options of the model that was loaded last, though another may have been requested since."""
        return self._last_loaded[1] if self._last_loaded is not None else None

    @property
    def stored(self) -> Model:
        """The loaded model as the store names it."""
        return Model.of(self.model, self.options.path) if self.model is not None else Model("")

    def begin(self) -> None:
        """Record that the model of ``options`` is being loaded."""
        self.model = None
        self._running.append(self.options)

    def end(self, event: Loaded | LoadFailed) -> bool:
        """Record a result; True if it belongs to the last request. After a failure an earlier model may remain."""
        options = self._running.popleft() if self._running else self.options
        if isinstance(event, Loaded):
            self._last_loaded = (event.model, options)
        elif not event.kept:
            self._last_loaded = None
        if self._running:
            return False
        self.model, self.options = self._last_loaded or (None, options)
        return True

    def lose(self) -> None:
        """Forget every model: the engine is gone."""
        self.model = self._last_loaded = None
        self._running.clear()
