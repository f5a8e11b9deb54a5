"""Loads a checkpoint in a test, or catches the one line with which loading it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lade_chat.errors import LadeChatError, ModelError
from lade_chat.loading import model_loader as loading
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.values import ModelOptions, Stage

Reports = list[tuple[Stage, int, int]]


def load(folder: Path | str | None, **options: Any) -> LoadedModel:
    return load_with_reports(folder, **options)[0]


def load_with_reports(folder: Path | str | None, **options: Any) -> tuple[LoadedModel, Reports]:
    reports: Reports = []
    path = None if folder is None else str(folder)
    loaded = loading.load(ModelOptions(path=path, **options), lambda *report: reports.append(report))
    return loaded, reports


def refusal(folder: Path | str, kind: type[LadeChatError] = ModelError, **options: Any) -> str:
    """The one line with which loading is refused."""
    with pytest.raises(kind) as refused:
        load(folder, **options)
    message = str(refused.value)
    assert message
    assert "\n" not in message
    return message
