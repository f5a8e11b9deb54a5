"""The list of recently used models, which the chat and ``lade-chat models`` show, and what the commands put there."""

from __future__ import annotations

from pathlib import Path

from lade_chat.paths import expanded
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings import models
from lade_chat.settings.settings import Settings
from lade_chat.store.sqlite.files import default_folder


def data_folder(settings: Settings) -> Path:
    """Return the folder of the conversations and of that list: the settings' or the platform's."""
    chosen = settings.get("data_dir")
    return expanded(str(chosen)) if chosen else default_folder()


def remember_model(options: ModelOptions, folder: Path) -> None:
    """Put the model that a command has used at the top of the list; the bundled one is never on it."""
    if options.path is not None:
        models.remember(folder, options.path, options.device, options.precision)
