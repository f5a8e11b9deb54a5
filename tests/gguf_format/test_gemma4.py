"""Files of Gemma 4: layers that differ, inputs of their own, experts beside an MLP, and a vocabulary of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, quants
from transformers import AutoConfig, AutoModelForCausalLM

from decoding import AutoregressiveDecoder, load_gguf, native_support
from decoding.gguf.metadata import GgufError, Metadata
from decoding.gguf.tokenizer import build_tokenizer
from decoding.gguf.vocabulary import Vocabulary
from decoding.native.kernels import native_kernels
from tests.costs import NEARLY_FREE, budgeted
from tests.gguf_format.files import write
from tests.gguf_format.models import trained, vocabulary
from tests.models import tokens_of

TEXT = [5, 17, 80, 3, 200, 41, 41, 7, 99, 250, 12, 64] * 3
KINDS = ["sliding_attention", "full_attention"] * 3
SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "global_head_dim": 32,
    "layer_types": KINDS,
    "sliding_window": 16,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "hidden_size_per_layer_input": 0,
    "final_logit_softcapping": 30.0,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1e5, "partial_rotary_factor": 0.25},
    },
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
MODELS: dict[str, dict[str, Any]] = {
    "inputs of layers, shared keys and values": {
        "hidden_size_per_layer_input": 32,
        "num_kv_shared_layers": 2,
        "use_double_wide_mlp": True,
    },
    "keys as values": {
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
        "final_logit_softcapping": 5.0,
        "tie_word_embeddings": False,
    },
    "experts": {"enable_moe_block": True, "num_experts": 8, "top_k_experts": 3, "moe_intermediate_size": 64},
}
NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "embed_tokens_per_layer": "per_layer_token_embd",
    "per_layer_model_projection": "per_layer_model_proj",
    "per_layer_projection_norm": "per_layer_proj_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
    "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "router.proj": "ffn_gate_inp",
    "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj",
    "post_per_layer_input_norm": "post_norm",
}
WHOLE_NAMES = {
    "layer_scalar": "layer_output_scale.weight",
    "router.scale": "ffn_gate_inp.scale",
    "router.per_expert_scale": "ffn_down_exps.scale",
    "experts.gate_up_proj": "ffn_gate_up_exps.weight",
    "experts.down_proj": "ffn_down_exps.weight",
}


def model_of(name: str) -> Any:
    """A small model with random weights, and scores of its experts far apart."""
    size = trained().get_vocab_size()
    config = AutoConfig.for_model(
        "gemma4_text", vocab_size=size, vocab_size_per_layer_input=size, **{**SIZES, **MODELS[name]}
    )
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for each, tensor in model.state_dict().items():
            if tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor) * 0.1)
            else:
                tensor.mul_(40 if "router" in each else 4)
            if "q_norm" in each:
                tensor.mul_(0.2)
    model.generation_config.eos_token_id = None
    return model


def tensors_of(model: Any, kind: str) -> dict[str, Any]:
    """The model's tensors as llama.cpp's converter names them; its own weights are rounded to the type."""
    quantised, found = GGMLQuantizationType[kind], {}
    scalars = {name: buffer for name, buffer in model.named_buffers() if name.endswith("layer_scalar")}
    for name, tensor in {**dict(model.named_parameters()), **scalars}.items():
        local, prefix = name.removeprefix("model."), ""
        if local.startswith("layers."):
            _, layer, local = local.split(".", 2)
            prefix = f"blk.{layer}."
        target = WHOLE_NAMES.get(local) or f"{NAMES[local.removesuffix('.weight')]}.weight"
        if tensor.dim() == 1 or "router" in name:
            found[prefix + target] = tensor.detach().numpy()
        else:
            blocks = quants.quantize(tensor.detach().numpy(), quantised)
            tensor.data.copy_(torch.from_numpy(quants.dequantize(blocks, quantised)))
            found[prefix + target] = (quantised, tensor.detach().numpy())
    pairs = model.config.global_head_dim // 2 if hasattr(model.config, "global_head_dim") else 16
    found["rope_freqs.weight"] = np.array([1.0] * (pairs // 4) + [1e30] * (pairs - pairs // 4), np.float32)
    return found


def metadata_of(name: str) -> dict[str, Any]:
    sizes = {**SIZES, **MODELS[name]}
    slides, shared = [kind == KINDS[0] for kind in KINDS], sizes.get("num_kv_shared_layers", 0)
    inner = [96 * (2 if shared and layer >= 6 - shared else 1) for layer in range(6)]
    full_heads = sizes.get("num_global_key_value_heads", 2)
    found = {
        "context_length": 128,
        "embedding_length": 64,
        "block_count": 6,
        "feed_forward_length": inner if shared else 96,
        "attention.head_count": 4,
        "attention.head_count_kv": [2 if each else full_heads for each in slides],
        "attention.key_length": 32,
        "attention.value_length": 32,
        "attention.key_length_swa": 16,
        "attention.value_length_swa": 16,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window": 16,
        "attention.sliding_window_pattern": slides,
        "attention.shared_kv_layers": shared,
        "embedding_length_per_layer_input": sizes["hidden_size_per_layer_input"],
        "rope.freq_base": 1e5,
        "rope.freq_base_swa": 1e4,
        "rope.dimension_count": 32,
        "rope.dimension_count_swa": 16,
    }
    if sizes["final_logit_softcapping"] != 30.0:  # which is meant where a file says nothing
        found["final_logit_softcapping"] = sizes["final_logit_softcapping"]
    if "num_experts" in sizes:
        found |= {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 64}
    return {f"gemma4.{key}": value for key, value in found.items()} | vocabulary()


def file_of(name: str, path: Path, kind: str = "F32") -> tuple[Path, Any]:
    model = model_of(name)
    return write(path / "model.gguf", metadata_of(name), tensors_of(model, kind), "gemma4"), model


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = model(torch.tensor([TEXT])).logits[0]
        return found


@pytest.mark.parametrize("kind", ["F32", "BF16", "Q8_0"])
@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_the_same_weights_in_transformers(name: str, kind: str, tmp_path: Path) -> None:
    path, model = file_of(name, tmp_path, kind)
    loaded, _ = load_gguf(path)
    found, expected = logits(loaded), logits(model)
    if kind in ("BF16", "Q8_0"):  # the median: where scores of a router are nearly equal, rounding swaps experts
        assert (found - expected).square().mean(-1).sqrt().median() < 0.05 * expected.std()
    else:
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    if native_kernels() is not None:
        assert native_support(loaded).supported, native_support(loaded).reason


@pytest.mark.parametrize("name", MODELS)
def test_on_and_off_agree_bit_for_bit(name: str, tmp_path: Path) -> None:
    loaded, _ = load_gguf(file_of(name, tmp_path, "Q8_0")[0])
    plain = tokens_of(AutoregressiveDecoder(loaded).generate(TEXT, max_new_tokens=30))
    assert tokens_of(budgeted(loaded, NEARLY_FREE).generate(TEXT, max_new_tokens=30)) == plain


def test_layers_that_share_may_have_unused_tensors_and_no_scale(tmp_path: Path) -> None:
    name = "inputs of layers, shared keys and values"
    model = model_of(name)
    with torch.no_grad():
        for each, buffer in model.named_buffers():
            if each.endswith("layer_scalar"):
                buffer.fill_(1)
    tensors = tensors_of(model, "F32")
    tensors["blk.5.attn_k.weight"], tensors["blk.4.attn_k_norm.weight"] = np.ones((64, 64)), np.ones(16)
    kept = {each: value for each, value in tensors.items() if "layer_output_scale" not in each}
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata_of(name), kept, "gemma4"))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("feed_forward_length", [96, 96, 96, 96, 96, 192]),
        ("attention.head_count_kv", [2, 1, 2, 2, 2, 1]),
        ("attention.sliding_window_pattern", [True] * 6),
        ("attention.sliding_window_pattern", [False] * 4 + [True, False]),
        ("attention.shared_kv_layers", 6),
        ("attention.shared_kv_layers", 77),
        ("attention.key_length_swa", 2**31 - 2),
    ],
)
def test_layers_that_differ_otherwise_are_refused(key: str, value: Any, tmp_path: Path) -> None:
    name = "inputs of layers, shared keys and values"
    entries = {**metadata_of(name), f"gemma4.{key}": value}
    with pytest.raises(GgufError, match="its layers differ"):
        load_gguf(write(tmp_path / "model.gguf", entries, tensors_of(model_of(name), "F32"), "gemma4"))


def test_shared_keys_without_inputs_of_layers_are_refused_before_the_first_text(tmp_path: Path) -> None:
    name = "inputs of layers, shared keys and values"
    entries = {**metadata_of(name), "gemma4.embedding_length_per_layer_input": 0}
    with pytest.raises(GgufError, match="its layers share keys without inputs of their own"):
        load_gguf(write(tmp_path / "model.gguf", entries, tensors_of(model_of(name), "F32"), "gemma4"))


def test_a_window_of_no_tokens_is_refused_by_name(tmp_path: Path) -> None:
    entries = {**metadata_of("experts"), "gemma4.attention.sliding_window": 0}
    with pytest.raises(GgufError, match=r"has a 'gemma4.attention.sliding_window' of 0"):
        load_gguf(write(tmp_path / "model.gguf", entries, tensors_of(model_of("experts"), "F32"), "gemma4"))


def test_a_vocabulary_of_character_pairs() -> None:
    """Pairs reach over spaces, not over line breaks; what has no token is given in bytes; equal tokens read alike."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["▁", "a", "b", "\n", "a▁", "a▁b", "\n\n", "b", "#", "#"]
    merges = ["a ▁", "a▁ b", "\n \n"]
    own: dict[str, Any] = {
        "tokenizer.ggml.model": "gemma4",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array([3, 3, 3, 2, *[6] * 256, *[1] * 10]),
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.unknown_token_id": 3,
        "tokenizer.ggml.add_bos_token": True,
    }
    tokenizer = build_tokenizer(Metadata(own), Vocabulary.read(Metadata(own)))
    at = {token: id_ for id_, token in enumerate(tokens)}

    def ids_of(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return found

    assert ids_of("a b") == [at["a▁b"]]
    assert ids_of("a\n\nb#") == [at["a"], at["\n\n"], at["b"], at["#"]]
    assert ids_of("é") == [4 + 0xC3, 4 + 0xA9]
    assert tokenizer.encode("a")[0] == 2
    for text in ("a b\n\n  b", "é#", "b\n\n\na"):
        assert tokenizer.decode(ids_of(text)) == text
    assert tokenizer.decode([len(tokens) - 2, len(tokens) - 1]) == "##"
