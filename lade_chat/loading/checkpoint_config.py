"""Reads a checkpoint's configuration, and checks that its model is a causal language model that can run here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lade_chat.errors import HOW_TO_TRUST, ModelError, is_out_of_memory, summary
from lade_chat.loading.checkpoint import CONFIG, read_config
from lade_chat.loading.config_entries import check_declared, check_parsed

_DEFAULT_CONTEXT = 2048
_MAX_CONTEXT = 100_000_000
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "n_ctx", "max_sequence_length")


def import_model_types() -> None:
    """Import the package of transformers' models, which lists its 1,600 files: transformers has read them once already.

    Reading them again would take a quarter as long as the import of torch.
    """
    import transformers
    from transformers.utils import import_utils

    folder, listed = Path(transformers.__file__).parent / "models", import_utils.create_import_structure_from_path
    import_utils.create_import_structure_from_path = lambda path: listed(  # type: ignore[assignment]
        folder if Path(path) == folder / "__init__.py" else path  # cached by this name
    )
    try:
        import transformers.models
    finally:
        import_utils.create_import_structure_from_path = listed


def load_config(folder: Path, *, name: str = "", trust_remote_code: bool) -> Any:
    """Load the folder's configuration. Raises ModelError, with the model's ``name``, unless it is a causal LM's."""
    from transformers import AutoConfig

    declared, name = read_config(folder), name or str(folder)
    check_declared(name, declared)
    _check_code(name, declared, trust_remote_code=trust_remote_code)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    except Exception as error:  # config classes validate, each in its own way
        why = summary(error.__cause__ or error).rstrip(".")
        raise ModelError(f"{folder / CONFIG} is not a valid configuration: {why}. Download it again.") from error
    if not (trust_remote_code and _brings_code(declared)):
        _check_causal(name, config)
    check_parsed(name, config.get_text_config(decoder=True))
    config.return_dict = True  # decoding takes a model's output by its names
    return config


def check_before_download(config: Path, name: str, *, trust_remote_code: bool) -> None:
    """Raise ModelError if this config.json shows that the model called ``name`` is no causal LM.

    A model that brings its own code can only be checked once that is downloaded too.
    """
    if not (trust_remote_code and _brings_code(read_config(config.parent))):
        load_config(config.parent, name=name, trust_remote_code=False)


def _brings_code(declared: dict[str, Any]) -> bool:
    auto_map = declared.get("auto_map")
    return isinstance(auto_map, dict) and "AutoModelForCausalLM" in auto_map


def _check_code(name: str, declared: dict[str, Any], *, trust_remote_code: bool) -> None:
    """Raise ModelError if neither transformers nor trusted code knows the architecture."""
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    kind = declared.get("model_type")
    if _brings_code(declared):
        if not trust_remote_code and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            raise ModelError(
                f"{name} needs its own code to run (model type '{kind}'):"
                f" if you trust where it comes from, {HOW_TO_TRUST}."
            )
    elif not kind:
        raise ModelError(f"The {CONFIG} of {name} names no model_type: it is no transformers checkpoint.")
    elif kind not in CONFIG_MAPPING:
        raise ModelError(
            f"The model type '{kind}' of {name} is unknown to transformers {transformers.__version__}:"
            " a newer transformers may know it."
        )


_BIDIRECTIONAL_BY_DEFAULT = frozenset(
    {
        *("bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert"),
        *("reformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta"),
        *("xlm-roberta-xl", "xmod"),
    }
)
"""Listed by transformers as causal LMs, though bidirectional unless ``is_decoder`` is set. (GPT-NeoX's configuration
does not set it either, but nothing reads it there.)"""


def _check_causal(name: str, config: Any) -> None:
    """Raise ModelError unless the architecture writes text from left to right."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    classes = getattr(config, "architectures", None) or []
    known = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values(), *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()}
    causal = (
        config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and not getattr(config, "is_encoder_decoder", False)
        and (config.model_type not in _BIDIRECTIONAL_BY_DEFAULT or config.is_decoder)
        and (not classes or any(name in known for name in classes))
    )
    if not causal:
        what = f"{classes[0]} (model type '{config.model_type}')" if classes else f"model type '{config.model_type}'"
        raise ModelError(f"{name} is no causal language model but {what}: it cannot write replies.")


def plain_attention(config: Any) -> str | None:
    """Let transformers choose sdpa or eager attention; returns a notice if that overrides the checkpoint.

    Flash kernels do not support lookahead's masks.
    """
    wanted = None
    # A multimodal model has a separate configuration for its text part.
    for part in (config, config.get_text_config(decoder=True)):
        name = getattr(part, "_attn_implementation", None)
        if name not in (None, "eager", "sdpa"):
            wanted = name
            part._attn_implementation = None
    if wanted is None:
        return None
    return f"The checkpoint asks for {wanted}; it runs with sdpa attention, which takes lookahead's masks."


def context_window(config: Any) -> int:
    """The model's context window in tokens, prompt and reply together."""
    text = config.get_text_config(decoder=True)
    for name in _CONTEXT_NAMES:
        length = getattr(text, name, None)
        if isinstance(length, int) and 0 < length < _MAX_CONTEXT:
            return length
    return _DEFAULT_CONTEXT


def no_kernels_notice(model: Any) -> str | None:
    """Return a notice for a model on the CPU whose steps would run in C, if there are no kernels, with the reason."""
    from decoding.native.architectures import ARCHITECTURES
    from decoding.native.build import compile_problem
    from decoding.native.kernels import native_kernels

    is_known = model.config.get_text_config(decoder=True).model_type in ARCHITECTURES
    if model.device.type != "cpu" or not is_known or native_kernels() is not None:
        return None
    problem = compile_problem()
    return None if problem is None else f"Steps run in PyTorch, several times slower than in C: {problem}."


def check_forward(model: Any, tokenizer: Any, *, what: str) -> None:
    """Raise ModelError, about ``what``, if plain decoding, as of any reply, fails or computes NaN."""
    from decoding import AutoregressiveDecoder

    try:
        for _ in AutoregressiveDecoder(model).generate([tokenizer.bos_token_id or 0], max_new_tokens=2):
            pass
    except FloatingPointError as error:
        raise ModelError(f"{what} computes NaN: {origin_of_nan(model)}") from error
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
    """Say where the NaN comes from, and what to do; a dtype is suggested only if it is wider than the model's."""
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


_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "aqlm": ("aqlm[cpu]", "accelerate"),
    "auto-round": ("auto-round",),
    "awq": ("gptqmodel", "accelerate"),
    "bitnet": ("accelerate",),
    "bitsandbytes": ("bitsandbytes", "accelerate"),
    "bitsandbytes_4bit": ("bitsandbytes", "accelerate"),
    "bitsandbytes_8bit": ("bitsandbytes", "accelerate"),
    "eetq": ("kernels", "accelerate"),
    "fp8": ("accelerate",),
    "gptq": ("optimum", "gptqmodel"),
    "higgs": ("flute-kernel", "fast_hadamard_transform", "accelerate"),
    "mxfp4": ("kernels", "accelerate"),
    "quanto": ("optimum-quanto", "accelerate"),
    "spqr": ("spqr_quant[gpu]", "accelerate"),
    "vptq": ("vptq", "accelerate"),
}
"""By method; any other method's is named like it."""


def quantisation(config: Any) -> str | None:
    """Name of the checkpoint's quantisation method, if any."""
    declared = getattr(config, "quantization_config", None)
    if declared is None:
        return None
    method = declared.get("quant_method") if isinstance(declared, dict) else getattr(declared, "quant_method", None)
    return str(getattr(method, "value", method) or "a method that it does not name")


def missing_packages(method: str) -> tuple[str, ...]:
    """Return the packages that a quantisation method needs and that are not installed."""
    missing = []
    for package in _PACKAGES.get(method, (method,)):
        try:
            version(package.partition("[")[0])
        except (PackageNotFoundError, ValueError):
            missing.append(package)
    return tuple(missing)
