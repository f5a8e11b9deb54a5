"""A small configuration of any family: sizes by whichever names its configuration has, and what some need beside."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from transformers import CONFIG_MAPPING, PretrainedConfig

VOCABULARY = 97
SLIDING = 9
"""A window shorter than every text of the tests."""
LAYERS = 2


def _each(value: Any, names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), value)


SIZES: dict[str, Any] = {
    **_each(VOCABULARY, "vocab_size vocab_size_per_layer_input shape_vocab_size pronunciation_vocab_size"),
    **_each(32, "hidden_size d_model n_embd emb_dim embedding_dim embedding_size input_embedding_size embed_dim"),
    **_each(32, "output_embedding_size word_embed_proj_dim lru_width out_hidden_size vision_output_dim"),
    **_each(32, "adapter_input_size projection_dim shape_embed_dim pronunciation_embed_dim mamba_headdim"),
    **_each(32, "adapter_in_dim adapter_out_dim"),
    **_each(48, "intermediate_size ffn_dim decoder_ffn_dim encoder_ffn_dim dff dim_ff d_inner n_inner ffn_hidden_size"),
    **_each(48, "feed_forward_size intermediate_size_mlp dense_intermediate_size prefix_dense_intermediate_size"),
    **_each(16, "moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size"),
    **_each(16, "moe_shared_expert_intermediate_size expert_ffn_hidden_size shared_experts_intermediate_size"),
    **_each(LAYERS, "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers num_decoder_layers"),
    **_each(LAYERS, "num_encoder_layers num_blocks depth"),
    **_each(4, "num_attention_heads n_head n_heads num_heads attention_heads decoder_attention_heads"),
    **_each(4, "encoder_attention_heads num_decoder_attention_heads num_encoder_attention_heads"),
    **_each(2, "num_key_value_heads num_kv_heads num_global_key_value_heads swa_num_key_value_heads"),
    **_each(8, "head_dim global_head_dim kv_channels dim_head d_head d_kv attention_head_size swa_head_dim"),
    **_each(8, "swa_v_head_dim rotary_dim"),
    **_each(256, "max_position_embeddings n_positions n_ctx max_seq_len max_target_positions max_source_positions"),
    **_each(256, "context_length"),
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "forced_eos_token_id": None,
    "tie_word_embeddings": False,
    "is_decoder": True,
    **_each(SLIDING, "sliding_window attention_chunk_size local_attention attention_window_size window_size"),
    # Mixtures of experts.
    **_each(4, "num_experts num_local_experts n_routed_experts moe_num_experts"),
    **_each(2, "num_experts_per_tok moe_k moe_topk moe_top_k top_k_experts zero_expert_num"),
    **_each(1, "n_group topk_group n_shared_experts num_shared_experts moe_num_shared_experts first_k_dense_replace"),
    "num_dense_layers": 1,
    "router_hidden_size": 16,
    # transformers' grouped matrix product for experts knows no float64.
    "experts_implementation": "eager",
    # Latent and sparse attention. With fewer index heads, their scores are zero, and equal, too often.
    **_each(16, "q_lora_rank kv_lora_rank qk_head_dim attention_head_dim index_n_heads"),
    **_each(8, "qk_rope_head_dim qk_nope_head_dim v_head_dim o_lora_rank index_head_dim"),
    "o_groups": 2,
    "index_topk": 64,
    "keep_window_size": 64,
    # Recurrent states.
    **_each(2, "linear_num_key_heads linear_num_value_heads n_mamba_heads mamba_expand linear_num_heads"),
    **_each(8, "linear_key_head_dim linear_value_head_dim linear_head_dim mamba_d_state ssm_state_size state_size"),
    **_each(4, "mamba_n_heads mamba_num_heads mamba_dt_rank time_step_rank"),
    **_each(16, "mamba_d_head mamba_head_dim"),
    **_each(1, "mamba_n_groups n_groups mamba_ngroups"),
    "mamba_d_ssm": 64,
    "chunk_size": 8,
    # Gemma's.
    "hidden_size_per_layer_input": 8,
    "laurel_rank": 8,
    "num_kv_shared_layers": 0,
    # Pictures and sound, of which the tests have none.
    **_each(16, "image_size num_position_embeddings"),
    "patch_size": 8,
}
"""Values by the names that configurations have for them."""

KINDS = ("layer_types", "mlp_layer_types", "layers_block_type")
LINEAR, FULL, SLIDES = "linear_attention", "full_attention", "sliding_attention"
ROPE = {"rope_type": "default", "rope_theta": 10000.0}

OWN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "cohere_compass_text": {"layer_types": [SLIDES, FULL], "rope_parameters": {SLIDES: ROPE, FULL: ROPE}},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "dots3_note_text": {
        **_each(4, "swa_num_attention_heads swa_num_key_value_heads"),
        **_each(16, "swa_q_lora_rank swa_kv_lora_rank swa_head_dim"),
        **_each(8, "swa_qk_nope_head_dim swa_v_head_dim"),
    },
    "gemma3n_text": {"num_hidden_layers": 3, "num_kv_shared_layers": 1},
    "gemma4_text": {"per_layer_config": {1: {"head_dim": 16}}},
    "gemma4_unified_text": {"per_layer_config": {1: {"head_dim": 16}}},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": [LINEAR, FULL]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2": {"layer_types": ["conv", FULL]},
    "lfm2_moe": {"layer_types": ["conv", FULL]},
    "mamba2": {"head_dim": 16},
    "minimax_m3_vl_text": {
        "layer_types": [FULL, "minimax_m3_sparse"],
        **_each(2, "index_n_heads index_topk_blocks"),
        "index_block_size": 4,
    },
    "mllama_text_model": {"cross_attention_layers": [1], "num_hidden_layers": 3},
    "qwen4_exp_text": {
        **_each(2, "indexer_n_heads indexer_compress_ratio"),
        "indexer_kv_heads": 1,
        **_each(8, "indexer_head_dim hc_lowrank"),
        "indexer_budget": 4,
    },
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {
        "hash_seed": 0,
        **_each([16, 16], "axial_pos_shape axial_pos_embds_dim"),
        "attn_layers": ["local", "lsh"],
        **_each(8, "local_attn_chunk_length lsh_attn_chunk_length"),
        "num_buckets": 4,
    },
    "xlstm": {**_each(128, "hidden_size embedding_dim"), "num_heads": 2, "chunk_size": 16},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"layers_block_type": [LINEAR, LINEAR, "hybrid", LINEAR, "hybrid"], "num_key_value_heads": 4},
    "zaya": {"num_experts_per_tok": 1},
}
"""What a family needs beside, or shows more with."""


def small_config(model_type: str) -> Any:
    """A configuration of this family with a few thousand parameters, every kind of its layers among them.

    Raises:
        Exception: whatever the configuration's class raises if it cannot be made small.
    """
    return _small(CONFIG_MAPPING[model_type], OWN.get(model_type, {}))


def _small(kind: type[PretrainedConfig], own: Mapping[str, Any]) -> Any:
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = {name: value for name, value in SIZES.items() if name in names or name == "experts_implementation"}
    if "kv_lora_rank" in names:
        values["num_key_value_heads"] = values["num_attention_heads"]
    usual = kind()
    kinds = {name: list(dict.fromkeys(getattr(usual, name, None) or ())) for name in KINDS if name in names}
    kinds.update({name: value for name, value in own.items() if name in KINDS})
    layers: int = max([own.get("num_hidden_layers", LAYERS), *map(len, kinds.values())])
    for name, of_layers in kinds.items():
        if of_layers:
            values[name] = [of_layers[layer % len(of_layers)] for layer in range(layers)]
    if "num_hidden_layers" in names:
        values["num_hidden_layers"] = layers
    for name in kind.sub_configs or {}:
        part = getattr(usual, name, None)
        if isinstance(part, PretrainedConfig) and name not in own:
            values[name] = _small(type(part), OWN.get(part.model_type, {}))
    return kind(**{**values, **own, **{name: values[name] for name in kinds if name in values}})
