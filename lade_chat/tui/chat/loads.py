"""Which model was asked for, and which one there is."""

from __future__ import annotations

from collections import deque

from lade_chat.protocol.events import Loaded, LoadFailed
from lade_chat.protocol.values import ModelInfo, ModelOptions
from lade_chat.store.values import Model


class Loads:
    """Loads may overtake one another: only the model that was asked for last counts."""

    def __init__(self, options: ModelOptions) -> None:
        self.options = options
        """Of the model that is there, else of the one asked for last."""
        self.model: ModelInfo | None = None
        self._running: deque[ModelOptions] = deque()
        self._last_loaded: tuple[ModelInfo, ModelOptions] | None = None

    @property
    def kept(self) -> Model:
        """The model as the store names it."""
        return Model.of(self.model, self.options.path) if self.model is not None else Model("")

    def begin(self) -> None:
        """The model of ``options`` is being loaded."""
        self.model = None
        self._running.append(self.options)

    def ended(self, event: Loaded | LoadFailed) -> bool:
        """Whether that was the load asked for last; where it failed, an earlier model may be what is kept."""
        options = self._running.popleft() if self._running else self.options
        if isinstance(event, Loaded):
            self._last_loaded = (event.model, options)
        elif not event.kept:
            self._last_loaded = None
        if self._running:
            return False
        self.model, self.options = self._last_loaded or (None, options)
        return True

    def lost(self) -> None:
        """The engine is gone, and with it every model."""
        self.model = self._last_loaded = None
        self._running.clear()
