"""Unwrapping of models that PEFT or `torch.compile` has wrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from torch import nn

from decoding.arguments import shown

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Wrapped = TypeVar("Wrapped")


def unwrapped(model: Wrapped) -> Wrapped:
    """Return the model of transformers that a wrapper calls; any other module as it is.

    PEFT puts its adapters into the model's own layers, where they stay in force. A wrapper of `torch.compile` is
    bypassed: ``Session(model, compiled=True)`` compiles steps.

    Raises:
        TypeError: it is not a module, but a name or a folder, perhaps.
        NotImplementedError: the wrapper changes texts in a way that the model within does not know.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a loaded transformers model, not {shown(model)}")
    inner: Any = model
    while True:
        if hasattr(inner, "_orig_mod"):
            inner = inner._orig_mod
        elif hasattr(inner, "get_base_model") and hasattr(inner, "peft_config"):
            _check_adapters(inner)
            inner = inner.get_base_model()
        else:
            found: Wrapped = inner
            return found


def check_head(model: PreTrainedModel) -> None:
    """Raise NotImplementedError if a model of transformers has no language modelling head."""
    if model.get_output_embeddings() is None and not model.can_generate():
        name = type(model).__name__
        raise NotImplementedError(f"{name} has no language modelling head: load it by AutoModelForCausalLM")


def _check_adapters(model: Any) -> None:
    active = getattr(model, "active_peft_config", None)
    kind = getattr(active, "peft_type", "adapters")
    kind = getattr(kind, "value", kind)
    if getattr(active, "is_prompt_learning", False):
        does = "puts tokens of its own before every text"
    elif kind == "XLORA" or getattr(active, "alora_invocation_tokens", None):
        does = "weighs its adapters for every text"
    else:
        return
    raise NotImplementedError(
        f"{type(model).__name__} with {kind} {does}, which is not served; adapters in force throughout are, such as"
        " LoRA's: pass get_base_model() to decode without these"
    )
