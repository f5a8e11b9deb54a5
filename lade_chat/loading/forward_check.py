"""Checks that a loaded model's forward pass works and yields numbers; otherwise the error says what may be wrong."""

from __future__ import annotations

from typing import Any

from lade_chat.errors import ModelError, is_out_of_memory, summary
from lade_chat.loading.checkpoint import CONFIG


def check_forward(model: Any, tokenizer: Any, *, what: str) -> None:
    """Raise ModelError if the model cannot decode at all, or if its logits for a single token contain NaN.

    ``what``: the model's name in errors.
    """
    import torch

    first = tokenizer.bos_token_id or 0
    try:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([[first]], device=model.device)).logits
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        _check_decodes(model, first, what=what)  # it may be an unusual model, which wants more than token ids
        return
    if bool(logits.isnan().any()):
        raise ModelError(f"{what} computes NaN: {origin_of_nan(model)}")


def _check_decodes(model: Any, first: int, *, what: str) -> None:
    """Raise ModelError if plain decoding, as of any reply, fails too."""
    from decoding import AutoregressiveDecoder

    try:
        for _ in AutoregressiveDecoder(model).generate([first], max_new_tokens=2):
            pass
    except Exception as error:  # of the model's own code
        if is_out_of_memory(error):
            raise
        raise ModelError(
            f"{what} cannot be run, since its forward pass fails ({summary(error, 120)}). {_suspect(model.config)}:"
            " download it again, or take another model."
        ) from error


def _suspect(config: Any) -> str:
    """Say what in the configuration may be the reason for a failing forward pass."""
    told = f"Its {CONFIG} may not fit its architecture"
    rope = getattr(config.get_text_config(decoder=True), "rope_parameters", None)
    if not isinstance(rope, dict) or rope.get("partial_rotary_factor") in (None, 1):
        return told
    part, kind = rope["partial_rotary_factor"], rope.get("rope_type")
    return f"{told}, as in partial_rotary_factor={part} with rope_type={kind!r}"


def origin_of_nan(model: Any) -> str:
    """Say where the NaN comes from, and what to do; a dtype only where that one is wider than the model's."""
    import torch

    stored = (*model.parameters(), *model.buffers())  # those of int8 layers are buffers
    kept = [weights for weights in stored if not weights.is_meta and weights.dtype.itemsize > 1]
    if any(bool(weights.isnan().any()) for weights in kept):
        return "its weights contain NaN. Download it again, or take another model."
    wider = {torch.float16: "float32", torch.bfloat16: "float32", torch.float32: "float64"}.get(model.dtype)
    if wider is None or (wider == "float64" and model.device.type == "mps"):
        return "its weights are broken. Download it again, or take another model."
    name = str(model.dtype).removeprefix("torch.")
    return f"its weights are broken, or too large for {name}. Download it again, or try --dtype {wider}."
