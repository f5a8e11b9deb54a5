"""A model's support for steps in C: what it is made of, and a check of some logits against those of transformers."""

from __future__ import annotations

from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import nn

from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.mask_check import distance
from decoding.model.step_inputs import AttentionPattern, StepInputs
from decoding.native.architectures import ARCHITECTURES
from decoding.native.kernels import DTYPES, NativeKernels, fits, native_kernels
from decoding.native.skeleton import Skeleton
from decoding.native_forward.experts import EXPERTS
from decoding.native_forward.hybrid_prefix import HybridPrefix
from decoding.native_forward.layer_parts import first_attention, misshapen_module, recurrent_modules
from decoding.native_forward.model_structures import NativeForward
from decoding.native_forward.native_prefix import NativePrefix
from decoding.native_forward.recurrent_states import recurrent_sizes
from decoding.quantization.file_experts import FileExperts
from decoding.quantization.int8 import Int8Linear
from decoding.quantization.narrow import NarrowLinear
from decoding.quantization.packed import Packed

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_HEAD_SIZE, HEAD_MULTIPLE = 512, 16
PREFIX_TOKENS, STEP_TOKENS = 3, 6
MAX_DISTANCE = {torch.float32: 1e-3, torch.bfloat16: 0.1}
"""Allowed root mean square difference of the logits, in units of their standard deviation. Rounding makes up to 1e-5 in
float32 and 0.03 in bfloat16; a model with another activation or norm differs by 0.5 or more."""
MAX_DISTANCE_OF_ROUNDED = 0.1
"""The same where products round activations to int8 or bfloat16: a last bit of difference may round one to the
neighbouring value. Differences of up to 0.01 were seen."""


def why_not_native(model: PreTrainedModel, capabilities: ModelCapabilities) -> str | None:
    """Return the reason why a model's steps do not run in C, as the end of a sentence about it; None if they do."""
    config, kernels = model.config.get_text_config(decoder=True), native_kernels()
    architecture = ARCHITECTURES.get(getattr(config, "model_type", ""))
    if kernels is None:
        return "there is no C compiler here, or it makes no kernels that work"
    own = isinstance(model, Skeleton) or type(model).__module__.startswith("transformers.")
    if architecture is None or not own:
        return f"its forward pass is not known in C ({', '.join(ARCHITECTURES)} are)"
    if any(parameter.device.type != "cpu" for parameter in model.parameters()) or model.dtype not in DTYPES:
        return "it is not on the CPU in float32 or bfloat16"
    patterns = capabilities.attention_patterns
    each = [patterns] if isinstance(patterns, AttentionPattern) else [*(patterns or {}).values()]
    if capabilities.reason is not None or capabilities.lengths is not None or any(one.chunk_size for one in each):
        return "its attention or its positions depend on the length of the text"
    if model.training or architecture.activation_of(config) is None:
        return "it is in training mode, or has another activation function"
    if getattr(config, "clip_qkv", None) is not None:
        return "its queries, keys and values are clipped"
    if not all(_is_known(module, model.dtype, kernels) for module in _modules_of_text(model)):
        return "some of its modules are patched, hooked, quantised otherwise, or not those of its type"
    inner: Any = model.get_decoder()
    if first_attention(inner) is None or len(inner.layers) > config.num_hidden_layers:
        return "it has no layer with attention, or more layers than its configuration says"
    recurrent = recurrent_modules(inner, architecture)
    head_sizes = {layer.self_attn.head_dim for layer in inner.layers if hasattr(layer, "self_attn")}
    if recurrent and not (capabilities.one_chain and recurrent_sizes(recurrent).is_known):
        return "its recurrent layers are of other sizes or kinds"
    if odd_size := next((size for size in head_sizes if size % HEAD_MULTIPLE or size > MAX_HEAD_SIZE), None):
        return f"its attention heads are {odd_size} wide"
    if odd := misshapen_module(inner, config, architecture):
        return f"{odd} has another shape than the first layer and the configuration say"
    return None


@torch.inference_mode()
def matches_transformers(model: PreTrainedModel, capabilities: ModelCapabilities, forward: NativeForward) -> bool:
    """Return True if a text gets the same logits from two steps in C as from one forward pass of transformers."""
    draw = Random(3)
    text = [draw.randrange(vocabulary_size(model)) for _ in range(PREFIX_TOKENS + STEP_TOKENS)]
    wanted = model(input_ids=torch.tensor([text]), use_cache=False, return_dict=True).logits[0, PREFIX_TOKENS:]
    prefix = _prefix(model, capabilities, forward)
    prefix.next_logits(text[:PREFIX_TOKENS])
    step = StepInputs.chain(text[PREFIX_TOKENS:])
    most = MAX_DISTANCE_OF_ROUNDED if forward.rounds else MAX_DISTANCE[forward.dtype]
    found = prefix.branch_logits(step)
    if forward.has_experts:  # rounded scores of a router may tie, and another expert is chosen then
        return median(map(distance, found, wanted)) <= most
    return distance(found, wanted) <= most


def yields_numbers(model: PreTrainedModel, capabilities: ModelCapabilities, forward: NativeForward) -> bool:
    """Return True if a step in C yields logits that are not NaN."""
    return not bool(_prefix(model, capabilities, forward).next_logits([0]).isnan().any())


def _prefix(model: PreTrainedModel, capabilities: ModelCapabilities, forward: NativeForward) -> NativePrefix:
    """Return an empty prefix whose forward passes run in C."""
    if not capabilities.one_chain:
        return NativePrefix(model, capabilities, lambda: forward)

    def no_fallback() -> NoReturn:
        raise AssertionError("nothing is in force that keeps a model from C where its steps are checked")

    return HybridPrefix(model, capabilities, lambda: forward, no_fallback)


def _modules_of_text(model: PreTrainedModel) -> list[nn.Module]:
    """Return the modules that a text passes: a model may have others, that read pictures or sounds."""
    inner: Any = model.get_decoder()
    path = next(name for name, module in model.named_modules() if module is inner).split(".")
    around = [model.get_submodule(".".join(path[:depth])) for depth in range(len(path))]
    head: Any = model.get_output_embeddings()
    return [*around, *inner.modules(), head]


def _is_known(module: nn.Module, dtype: torch.dtype, kernels: NativeKernels) -> bool:
    """Return True if a module is unpatched, and the kernels support its weight's dtype and layout."""
    own = vars(module)
    if "forward" in own or own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_parameters"].keys() - _NAMES:
        return False
    if isinstance(module, Packed):
        return True
    if isinstance(module, FileExperts):
        return module.fits(dtype)
    if isinstance(module, NarrowLinear):
        return fits(module.get_buffer("weight").dtype, dtype)
    if isinstance(module, Int8Linear):
        return module.weight is not None
    parameters = own["_parameters"]
    if any(name in parameters and not _is_plain(parameters[name], dtype) for name in EXPERTS):
        return False
    weight, bias = parameters.get("weight"), parameters.get("bias")
    if isinstance(weight, torch.Tensor):
        if bias is not None and len(bias) != len(weight):
            return False
        standard = type(module) in (nn.Linear, nn.Embedding) or type(module).__name__.endswith(_KNOWN_ENDINGS)
        return standard and _is_plain(weight, dtype)
    return not isinstance(module, nn.Linear)


def _is_plain(weight: Any, dtype: torch.dtype) -> bool:
    return type(weight) is nn.Parameter and weight.dtype == dtype and weight.is_contiguous()


_NAMES = {"weight", "bias", "A_log", "dt_bias", "scale", "per_expert_scale", *EXPERTS}
_KNOWN_ENDINGS = ("Conv1d", "TopKRouter", "RMSNorm", "RMSNormGated", "LayerNorm", "ScaledWordEmbedding")
"""Endings of the names of transformers' own modules."""
