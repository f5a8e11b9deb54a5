"""Converts a checkpoint to an OpenVINO model whose states are its KV cache."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import torch
from openvino import opset13 as ops
from openvino.passes import MakeStateful, Manager
from torch import nn
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.cache_utils import DynamicLayer

from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import check_weights

MIN_COMPRESSED = 4096
"""Elements of the smallest constant that is taken for a weight matrix."""


def convert(checkpoint: Path, weights: str) -> ov.Model:
    """Return the model for one row of ids, computing in float32 unless it is compiled for less.

    Traced in float32: only that graph's layers are recognised and fused. So the weights take their size in that, once.

    Args:
        weights: the form of the matrices: f32, bf16, f16 or int8.

    Raises:
        LadeChatError: the model's cache holds more than keys and values of all tokens.
    """
    check_weights(checkpoint, allow_pickle=False)
    model: Any = AutoModelForCausalLM.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="sdpa", local_files_only=True
    ).eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        past = model(torch.zeros(1, 2, dtype=torch.long), past_key_values=DynamicCache(config=model.config))
        layers = past.past_key_values.layers
        if any(type(layer) is not DynamicLayer for layer in layers):
            raise LadeChatError("only models that attend to all earlier tokens in every layer are converted")
        states = tuple(tensor for layer in layers for tensor in (layer.keys, layer.values))
        example = {
            "input_ids": torch.zeros(1, 2, dtype=torch.long),
            "position_ids": torch.tensor([[2, 3]]),
            "beam_idx": torch.zeros(1, dtype=torch.int32),
            "states": states,
        }
        converted = ov.convert_model(_Stateless(model), example_input=example)
    del model
    _keep_states(converted, [tensor.shape for tensor in states])
    if weights != "f32":
        _compress(converted, weights)
    return converted


class _Stateless(nn.Module):
    """A causal model as a function of its cache: keys and values in turn; ``beam_idx`` chooses their rows."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def forward(
        self, input_ids: torch.Tensor, position_ids: torch.Tensor, beam_idx: torch.Tensor, states: tuple[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        cache: Any = DynamicCache()
        cache.layers = [
            _filled(*(tensor.index_select(0, beam_idx) for tensor in states[at : at + 2]))
            for at in range(0, len(states), 2)
        ]
        seen = torch.arange(states[0].shape[2] + input_ids.shape[1])
        mask = seen[None, None, None] <= position_ids[:, None, :, None]
        logits = self._model(
            input_ids=input_ids, position_ids=position_ids, attention_mask=mask, past_key_values=cache, logits_to_keep=1
        ).logits
        return (logits, *(tensor for layer in cache.layers for tensor in (layer.keys, layer.values)))


def _filled(keys: torch.Tensor, values: torch.Tensor) -> DynamicLayer:
    layer = DynamicLayer()
    layer.lazy_initialization(keys, values)
    layer.keys, layer.values = keys, values
    return layer


def _keep_states(model: ov.Model, shapes: list[torch.Size]) -> None:
    """Turn the cache's inputs and outputs into states that begin empty."""
    first = len(model.inputs) - len(shapes)
    names = {}
    for index, (entry, result) in enumerate(zip(model.inputs[first:], model.outputs[1:], strict=True)):
        names[f"state_{index}"] = f"new_state_{index}"
        entry.get_tensor().set_names({f"state_{index}"})
        result.get_tensor().set_names({f"new_state_{index}"})
    rows: dict[Any, list[int]] = {name: [1, -1] for name in ("input_ids", "position_ids")}
    empty = [[1, shape[1], 0, shape[3]] for shape in shapes]
    model.reshape(rows | {name: [1, heads, -1, width] for name, (_, heads, _, width) in zip(names, empty, strict=True)})
    manager = Manager()
    manager.register_pass(MakeStateful(names))
    manager.run_passes(model)
    # Attention is fused with its states only where an expression says what they begin as.
    start = {f"state_{index}": shape for index, shape in enumerate(empty)}
    for op in model.get_ops():
        if op.get_type_name() == "ReadValue":
            name = next(name for name in start if op.get_variable_id().startswith(f"{name}new_state_"))
            op.set_arguments([ops.broadcast(ops.constant(0.0, np.float32), ops.constant(np.array(start[name])))])
    model.validate_nodes_and_infer_types()


def _compress(model: ov.Model, weights: str) -> None:
    """Hold the matrices in 16 bits, or in 8 with a scale for each row."""
    for op in model.get_ops():
        if op.get_type_name() != "Constant" or op.get_element_type() != ov.Type.f32:
            continue
        shape = op.get_output_shape(0)
        if len(shape) == 2 and shape[0] * shape[1] >= MIN_COMPRESSED:
            users = op.output(0).get_target_inputs()
            smaller = _compressed(torch.tensor(op.data), weights).output(0)
            for user in users:
                user.replace_source_output(smaller)


def _compressed(matrix: torch.Tensor, weights: str) -> Any:
    if weights == "int8":
        scales = matrix.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127
        stored = ops.convert(ops.constant((matrix / scales).round().to(torch.int8).numpy()), "f32")
        return ops.multiply(stored, ops.constant(scales.numpy()))
    kind, dtype = (ov.Type.bf16, torch.bfloat16) if weights == "bf16" else (ov.Type.f16, torch.float16)
    bits = matrix.to(dtype).view(torch.int16).numpy()
    # Copied: a tensor does not keep the array that it wraps alive.
    return ops.convert(ov.op.Constant(ov.Tensor(bits, list(matrix.shape), kind), shared_memory=False), "f32")
