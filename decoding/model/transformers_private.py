"""Functions and classes of transformers that it does not document and decoding needs.

Tested with transformers 5.23, where the range in pyproject.toml begins; tests/test_private_interfaces.py names what is
gone. Undocumented attributes are read where they belong: those of rotary modules in :mod:`decoding.model.rotary`, of
cache layers in :mod:`decoding.model.cache`, of text streamers in :mod:`decoding.integrations.streamers`; local
variables of `generate` in :mod:`decoding.integrations.calling_frame` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache

SAMPLE_METHOD = "_sample"
"""The method of GenerationMixin that decodes one text, drawn or greedy."""
OTHER_METHODS = {"_beam_search": "beam search", "_assisted_decoding": "assistant or prompt lookup"}
"""Its other methods that decode, and what they are for."""


def attention_implementation(model: PreTrainedModel) -> str:
    """Return the name of the attention that the model's text part runs with."""
    name: str = model.config.get_text_config(decoder=True)._attn_implementation
    return name


def is_users_cache(cache: Cache) -> bool:
    """Return True if the caller of `generate` passed this cache, False if `generate` has made it."""
    return bool(getattr(cache, "_is_user_defined", False))


def arguments_after(model: PreTrainedModel, output: Any) -> dict[str, Any]:
    """Return what a forward pass hands to the next one: the model's state and whatever goes with it."""
    caller: Any = model
    arguments: dict[str, Any] = caller._update_model_kwargs_for_generation(output, {})
    return arguments
