"""Search for models on the Hugging Face Hub: one request, and only where somebody asks for it."""

from __future__ import annotations

from typing import Any

import msgspec

from lade_chat.errors import LadeChatError, is_connection_problem, summary
from lade_chat.settings.models import KnownModel
from lade_chat.settings.weights import DTYPES, described

MAX_FOUND = 20
_TIMEOUT = 10.0
"""Seconds to wait for the Hub's answer."""


class HubSearchError(LadeChatError):
    """The Hub cannot be searched."""


class _Safetensors(msgspec.Struct):
    parameters: dict[str, int] = {}


NOTHING_FOUND = "The Hugging Face Hub has no such model in safetensors."


class _Listed(msgspec.Struct):
    """A model as the Hub lists it."""

    id: str
    downloads: int = 0
    gated: bool | str = False
    safetensors: _Safetensors | None = None


def search(words: str) -> tuple[KnownModel, ...]:
    """Return the text generation models in safetensors that match, most downloaded first. Raises HubSearchError."""
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

    wanted: dict[str, Any] = {
        "search": words,
        "pipeline_tag": "text-generation",
        "filter": ["transformers", "safetensors"],
    }
    wanted |= {"sort": "downloads", "limit": MAX_FOUND, "expand": ["downloads", "gated", "safetensors"]}
    try:
        # Not through HfApi.list_models, which has no timeout, and goes on trying for half a minute where it is offline.
        address = f"{constants.ENDPOINT}/api/models"
        answer = get_session().get(address, params=wanted, headers=build_hf_headers(), timeout=_TIMEOUT)
        hf_raise_for_status(answer)
        listed = msgspec.json.decode(answer.content, type=list[_Listed])
    except OfflineModeIsEnabled:
        raise HubSearchError("HF_HUB_OFFLINE forbids a search of the Hugging Face Hub.") from None
    except Exception as error:  # of either HTTP library that the client may use
        if is_connection_problem(error):
            raise HubSearchError("The Hugging Face Hub cannot be reached: check the connection.") from None
        raise HubSearchError(f"The Hugging Face Hub cannot be searched: {summary(error)}") from error
    return tuple(KnownModel(each.id, _about(each)) for each in listed)


def _about(model: _Listed) -> str:
    parts = [f"{_short(model.downloads)} downloads", *(["gated"] if model.gated else [])]
    numbers = model.safetensors.parameters if model.safetensors is not None else {}
    if numbers:
        size = sum(count * DTYPES.get(dtype, ("", 1))[1] for dtype, count in numbers.items())
        most = max(numbers, key=numbers.__getitem__)
        parts.insert(0, described(size, "safetensors", DTYPES.get(most, (most.lower(), 1))[0]))
    return " · ".join(parts)


def _short(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)
