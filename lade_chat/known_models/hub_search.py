"""Search for models on the Hugging Face Hub: two requests, and only where somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lade_chat.errors import LadeChatError, is_connection_problem, summary
from lade_chat.gguf.files import labels, models_among
from lade_chat.known_models.checkpoint_summary import DTYPES, described
from lade_chat.known_models.models_at_hand import KnownModel

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

MAX_FOUND = 20
_TIMEOUT = 10.0
"""Seconds to wait for the Hub's answer."""


NOTHING_FOUND = "The Hugging Face Hub has no such model in safetensors or GGUF."
MAX_LABELS = 4
"""GGUF files of a repository that its line names."""
_FORMS = {"safetensors": ["transformers", "safetensors"], "siblings": ["gguf"]}
"""The tags of models in each form, by the property that describes these."""


def search(words: str) -> tuple[KnownModel, ...]:
    """Return models in safetensors or GGUF that match, most downloaded first. Raises LadeChatError."""
    found: dict[str, ModelInfo] = {}
    for about, tags in _FORMS.items():
        for model in _request(words, about, tags):
            found.setdefault(model.id, model)
    most = sorted(found.values(), key=lambda model: model.downloads or 0, reverse=True)[:MAX_FOUND]
    return tuple(map(_known, most))


def _request(words: str, about: str, tags: list[str]) -> list[ModelInfo]:
    from huggingface_hub import ModelInfo, constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

    wanted: dict[str, Any] = {"search": words, "pipeline_tag": "text-generation", "filter": tags}
    wanted |= {"sort": "downloads", "limit": MAX_FOUND, "expand": ["downloads", "gated", about]}
    try:
        # Not through HfApi.list_models, which has no timeout, and goes on trying for half a minute where it is offline.
        address = f"{constants.ENDPOINT}/api/models"
        answer = get_session().get(address, params=wanted, headers=build_hf_headers(), timeout=_TIMEOUT)
        hf_raise_for_status(answer)
        return [ModelInfo(**each) for each in answer.json()]  # type: ignore[no-untyped-call]
    except OfflineModeIsEnabled:
        raise LadeChatError("HF_HUB_OFFLINE forbids a search of the Hugging Face Hub.") from None
    except Exception as error:  # of either HTTP library that the client may use
        if is_connection_problem(error):
            raise LadeChatError("The Hugging Face Hub cannot be reached: check the connection.") from None
        raise LadeChatError(f"The Hugging Face Hub cannot be searched: {summary(error)}") from error


def _known(model: ModelInfo) -> KnownModel:
    """Return a model with its description; its path names the only GGUF file of a repository, if it has but one."""
    files = [*labels(models_among(file.rfilename for file in model.siblings or ()))]
    parts = [f"{_short(model.downloads or 0)} downloads", *(["gated"] if model.gated else [])]
    numbers = model.safetensors.parameters if model.safetensors is not None else {}
    if numbers:
        size = sum(count * DTYPES.get(dtype, ("", 1))[1] for dtype, count in numbers.items())
        most = max(numbers, key=numbers.__getitem__)
        parts.insert(0, described(size, "safetensors", DTYPES.get(most, (most.lower(), 1))[0]))
    elif files:
        more = f" and {len(files) - MAX_LABELS} more" if len(files) > MAX_LABELS else ""
        parts.insert(0, f"GGUF {', '.join(files[:MAX_LABELS])}{more}")
    return KnownModel(f"{model.id}:{files[0]}" if len(files) == 1 else model.id, " · ".join(parts))


def _short(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)
