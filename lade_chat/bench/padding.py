"""Pads a model to the cost of a larger one without changing its text: speed at real sizes, without their weights.

The model gets more layers, whose output projections are zero (the residual stream passes through them), and wider
MLPs, whose new columns are multiplied by zero. So the text, and what of it can be guessed, is the small model's; the
time of a step is that of a model with as many weights in as many layers. Where this is not the real thing: attention's
share of a step is smaller than in a real model of that size, because the hidden size and the heads stay the small
model's (the weights sit in the MLPs), and so are the embeddings' and the KV cache's; and a text as regular as a small
model's is easier to guess than a large one's. On some processors products with zero draw less power than others.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from lade_chat.errors import LadeChatError, OutOfMemoryError, does_not_fit_message, is_out_of_memory
from lade_chat.loading.precision import memory_bytes

if TYPE_CHECKING:
    import torch

    from lade_chat.loading.model import LoadedModel

LAYERS_OF_REAL_MODELS = ((1e8, 12), (4e8, 24), (1.1e9, 22), (3e9, 28), (7e9, 32), (13e9, 40), (34e9, 48), (70e9, 80))
"""Parameters, and the layers of models of that size."""
MULTIPLE = 64
"""MLP widths are multiples of this, as those of real models are."""

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([MB])", re.IGNORECASE)
_PROJECTIONS = ("gate_proj", "up_proj", "down_proj")
_BLOCK = 1024
"""Rows of random weights drawn at once; the rest are copies of them, which cost a step the same."""
_SPREAD = 0.02
_PROBE_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Padding:
    """The padding of a model.

    Attributes:
        label: the size as it was given.
        parameters: of the padded model.
        layers: the number of its layers.
        mlp_width: the width of their MLPs.
        logit_difference: the largest difference of a few tokens' logits from the unpadded model's. Not zero where a
            longer sum is rounded in another order.
        logit_ulps: the same in units of the last place of the largest logit.
    """

    label: str
    parameters: int
    layers: int
    mlp_width: int
    logit_difference: float
    logit_ulps: float

    @property
    def meaning(self) -> str:
        """The padding in a sentence."""
        logits = "are the same"
        if self.logit_difference:
            logits = f"differ by {self.logit_difference:.2g} at most, {self.logit_ulps:.1f} units of the last place"
        return (
            f"padded to {self.label}: weights that are multiplied by zero were added ({self.parameters / 1e6:,.0f}M"
            f" parameters, {self.layers} layers), so the text is the small model's and the time of a step that of a"
            f" larger one (of whose attention it has less); the logits {logits}"
        )


def parse_amount(text: str) -> float:
    """``1.1B`` or ``400M`` as a number. Raises LadeChatError for anything else."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise LadeChatError(f"'{text}' is not a number of parameters: write it as 400M, 1.1B or 7B.")
    return float(found[1]) * (1e9 if found[2].upper() == "B" else 1e6)


def padded(loaded: LoadedModel, label: str) -> tuple[LoadedModel, Padding]:
    """Pad a loaded model in place (see :func:`pad_cost`) and rename it.

    Raises what :func:`pad_cost` raises.
    """
    try:
        padding = pad_cost(loaded.model, label)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(does_not_fit_message(f"The model padded to {label}")) from error
    name = f"{loaded.info.name} padded to {label}"
    info = msgspec.structs.replace(loaded.info, name=name, parameters=padding.parameters)
    return replace(loaded, info=info), padding


def pad_cost(model: Any, label: str) -> Padding:
    """Grow a loaded model in place to about so many parameters.

    Raises:
        LadeChatError: the model is not built like Llama, or is already as large.
        OutOfMemoryError: the padded model does not fit into the memory.
    """
    import torch

    from lade_chat.engine.comparison.ties import unit_of_last_place

    wanted = parse_amount(label)
    _check(model, label, wanted)
    layers = model.model.layers
    depth, width = _shape(model, wanted)
    with torch.inference_mode():
        before = _probe(model)
    with torch.no_grad():
        _widen_all(layers, width)
        while len(layers) < depth:
            layers.append(_silent_copy(layers[-1], len(layers)))
    _tell_config(model.config, depth, width)
    with torch.inference_mode():
        difference = float((_probe(model) - before).abs().max())
    if not math.isfinite(difference):
        raise LadeChatError(f"The model padded to {label} is broken: its logits are not finite.")
    ulps = difference / unit_of_last_place(float(before.abs().max()), model.dtype)
    return Padding(label, model.num_parameters(), depth, width, difference, ulps)


def _check(model: Any, label: str, wanted: float) -> None:
    if not _is_like_llama(model):
        raise LadeChatError(
            f"{type(model).__name__} cannot be padded: --pad-cost knows models built like Llama, whose layers have an"
            " o_proj and an MLP of gate_proj, up_proj and down_proj."
        )
    parameters = model.num_parameters()
    if wanted <= parameters:
        raise LadeChatError(
            f"The model already has {parameters / 1e6:,.0f}M parameters: it cannot be padded to {label}."
        )
    needed, memory = wanted * model.dtype.itemsize, memory_bytes()
    if model.device.type == "cpu" and memory is not None and needed > memory:
        figures = f"It needs {needed / 1e9:.1f} GB; there are {memory / 1e9:.1f} GB."
        raise OutOfMemoryError(f"{does_not_fit_message(f'The model padded to {label}')} {figures}")


def _is_like_llama(model: Any) -> bool:
    import torch

    layers = getattr(getattr(model, "model", None), "layers", None)
    if not layers or not isinstance(layers, torch.nn.ModuleList):
        return False
    for layer in layers:
        mlp, attention = getattr(layer, "mlp", None), getattr(layer, "self_attn", None)
        parts = [*(getattr(mlp, name, None) for name in _PROJECTIONS), getattr(attention, "o_proj", None)]
        # Not a subclass: what a quantised or otherwise special projection does to zeros is not known here.
        if any(type(part) is not torch.nn.Linear for part in parts):
            return False
    return True


def _shape(model: Any, wanted: float) -> tuple[int, int]:
    """Return the number of layers and the width of their MLPs for about ``wanted`` parameters."""
    layers = model.model.layers
    usual = min(LAYERS_OF_REAL_MODELS, key=lambda size: abs(math.log(wanted / size[0])))[1]
    depth = max(len(layers), usual)
    outside = model.num_parameters() - sum(_count(layer) for layer in layers)
    attention = sum(_count(layer) - _count(layer.mlp) for layer in layers)
    attention += (depth - len(layers)) * (_count(layers[-1]) - _count(layers[-1].mlp))
    hidden = layers[0].mlp.down_proj.out_features
    width = (wanted - outside - attention) / (depth * len(_PROJECTIONS) * hidden)
    narrowest = max(layer.mlp.down_proj.in_features for layer in layers)
    return depth, max(narrowest, round(width / MULTIPLE) * MULTIPLE)


def _count(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _widen_all(layers: Sequence[Any], width: int) -> None:
    """New rows of gate and up are small random numbers; the columns of down that take them are zero."""
    import torch

    generator = torch.Generator().manual_seed(0)
    for layer in layers:
        mlp = layer.mlp
        block = torch.randn(_BLOCK, mlp.gate_proj.in_features, generator=generator).mul_(_SPREAD)
        for name in ("gate_proj", "up_proj"):
            old = getattr(mlp, name)
            new = _empty_like(old, old.in_features, width)
            _repeat(block, new.weight[old.out_features :])
            new.weight[: old.out_features] = old.weight
            if old.bias is not None:
                new.bias.zero_()
                new.bias[: old.out_features] = old.bias
            setattr(mlp, name, new)
        old = mlp.down_proj
        new = _empty_like(old, width, old.out_features)
        # Written, and not asked for as zeros: pages that were never written may all be one page of memory, which
        # would be read from the processor's cache.
        new.weight.zero_()
        new.weight[:, : old.in_features] = old.weight
        if old.bias is not None:
            new.bias.copy_(old.bias)
        mlp.down_proj = new
        if hasattr(mlp, "intermediate_size"):
            mlp.intermediate_size = width


def _empty_like(old: torch.nn.Linear, inputs: int, outputs: int) -> torch.nn.Linear:
    """A projection of this shape, of the old one's kind, its weights not yet written."""
    import torch

    settings: dict[str, Any] = {"device": old.weight.device, "dtype": old.weight.dtype}
    new: torch.nn.Linear = torch.nn.utils.skip_init(
        torch.nn.Linear, inputs, outputs, bias=old.bias is not None, **settings
    )
    new.requires_grad_(old.weight.requires_grad)
    return new.train(old.training)


def _repeat(block: torch.Tensor, rows: torch.Tensor) -> None:
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        part.copy_(block[: len(part)])


def _silent_copy(layer: Any, index: int) -> Any:
    """A layer like this one that adds nothing to the residual stream."""
    silent = copy.deepcopy(layer)
    for projection in (silent.self_attn.o_proj, silent.mlp.down_proj):
        projection.weight.zero_()
        if projection.bias is not None:
            projection.bias.zero_()
    for module in silent.modules():
        if hasattr(module, "layer_idx"):
            module.layer_idx = index
    return silent


def _tell_config(config: Any, depth: int, width: int) -> None:
    """Repeat the last entry of per-layer lists for each new layer."""
    before = config.num_hidden_layers
    for name, value in vars(config).copy().items():
        if isinstance(value, list) and len(value) == before and name != "architectures":
            setattr(config, name, [*value, *[value[-1]] * (depth - before)])
    config.num_hidden_layers, config.intermediate_size = depth, width


def _probe(model: Any) -> torch.Tensor:
    """The logits of a few tokens. Shape (tokens, vocabulary), on the CPU in float64."""
    import torch

    vocabulary = model.get_input_embeddings().weight.shape[0]
    ids = (torch.arange(_PROBE_LENGTH, device=model.device) * 37 + 11) % vocabulary
    logits: torch.Tensor = model(input_ids=ids[None], use_cache=False).logits[0]
    return logits.cpu().double()
