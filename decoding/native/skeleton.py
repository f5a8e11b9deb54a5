"""Skeleton: a model's modules and weights under transformers' names, without transformers' classes.

Importing those takes longer than importing torch, and steps in C need only the weights. At its first forward pass in
torch a skeleton becomes transformers' model in place, as a lazy module of importlib becomes the module.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar, Self

import torch
from torch import nn

SKELETON_TYPES = ("llama", "mistral", "qwen2", "qwen3", "smollm3")
"""Model types that a skeleton has the modules of."""


class PlainConfig(SimpleNamespace):
    """A model's configuration: values under transformers' names, with the members that reading it takes."""

    _attn_implementation = "sdpa"
    attribute_map: ClassVar[dict[str, str]] = {}

    @property
    def per_layer_config(self) -> list[Self]:
        """The configuration of each layer."""
        return [self] * int(self.num_hidden_layers)

    def get_text_config(self, decoder: bool = False) -> Self:
        """Return the configuration itself: the model has no parts but its text part."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the values."""
        return dict(vars(self))


class SkeletonRMSNorm(nn.Module):
    """The weight of an RMSNorm."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.empty(width)), eps


class SkeletonRotary(nn.Module):
    """Rotary embeddings whose frequencies are not scaled."""

    inv_freq: torch.Tensor
    original_inv_freq: torch.Tensor

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float, device="cpu") / config.head_dim
        for name in ("inv_freq", "original_inv_freq"):
            self.register_buffer(name, 1.0 / (config.rope_parameters["rope_theta"] ** exponents), persistent=False)

    @torch.no_grad()
    def forward(self, like: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cosines and sines in the dtype of ``like``, shape (1, positions, head size)."""
        angles = position_ids[..., None].float() * self.inv_freq
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


class Skeleton(nn.Module):
    """A Llama, Mistral, Qwen 2 or 3, or SmolLM 3 for causal language modelling.

    Attributes:
        config: of transformers' model.
        generation_config: likewise.
    """

    config: Any
    generation_config: Any

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config, self.generation_config = config, None
        self.model = _container(
            embed_tokens=nn.Embedding.from_pretrained(torch.empty(config.vocab_size, config.hidden_size), freeze=False),
            layers=nn.ModuleList(_layer(config) for _ in range(config.num_hidden_layers)),
            norm=SkeletonRMSNorm(config.hidden_size, config.rms_norm_eps),
            rotary_emb=SkeletonRotary(config),
        )
        self.lm_head: nn.Module = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie_weights()
        self.eval()

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the first parameter."""
        return next(parameter.dtype for parameter in self.parameters())

    @property
    def device(self) -> torch.device:
        """The device of the first parameter."""
        return next(parameter.device for parameter in self.parameters())

    def get_decoder(self) -> Any:
        """Return the model without its output layer."""
        return self.model

    def get_input_embeddings(self) -> Any:
        """Return the embedding."""
        return self.model.embed_tokens

    def get_output_embeddings(self) -> nn.Module:
        """Return the output layer."""
        return self.lm_head

    def set_output_embeddings(self, head: nn.Module) -> None:
        """Replace the output layer."""
        self.lm_head = head

    def tie_weights(self) -> None:
        """Give the output layer the embedding's weight, if the configuration says so."""
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.get_input_embeddings().weight

    def num_parameters(self) -> int:
        """Return the number of parameters; tied ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def generate(self, *arguments: Any, **keywords: Any) -> Any:
        """Generate as transformers' model, which this becomes."""
        return self.to_transformers().generate(*arguments, **keywords)

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: Any = None,
        logits_to_keep: Any = 0,
        **more: Any,
    ) -> Any:
        """Run the forward pass of transformers' model, which this becomes; the arguments are those of its own."""
        own = (input_ids, attention_mask, position_ids, past_key_values)
        return self.to_transformers().forward(*own, use_cache=use_cache, logits_to_keep=logits_to_keep, **more)

    @torch.inference_mode(False)
    def to_transformers(self) -> Any:
        """Become transformers' model in place, with the very same weights, and return it."""
        from transformers import AutoConfig, AutoModelForCausalLM

        with torch.device("meta"):
            theirs: Any = AutoModelForCausalLM.from_config(
                AutoConfig.for_model(**self.config.to_dict()), dtype=self.dtype
            )
        for name, module in list(self.named_modules()):
            if isinstance(module, SkeletonRMSNorm):
                theirs.get_submodule(name).weight = module.weight
            elif isinstance(module, SkeletonRotary):
                theirs.set_submodule(name, _rotary(theirs.get_submodule(name), module))
            elif not module._modules:
                theirs.set_submodule(name, module)
        theirs.generation_config = self.generation_config
        theirs.train(self.training)
        hooks = {name: value for name, value in vars(self).items() if "hooks" in name}
        vars(self).clear()
        vars(self).update({**vars(theirs), **hooks})
        self.__class__ = type(theirs)
        return self


def _rotary(theirs: Any, ours: SkeletonRotary) -> Any:
    """Return transformers' rotary embeddings, with our frequencies unless it scales them."""
    made = type(theirs)(theirs.config)
    if theirs.config.rope_parameters["rope_type"] == "default":
        made.inv_freq.copy_(ours.inv_freq)
        made.original_inv_freq.copy_(ours.original_inv_freq)
    return made


def _container(**members: Any) -> Any:
    module = nn.Module()
    for name, member in members.items():
        setattr(module, name, member)
    return module


def _layer(config: PlainConfig) -> Any:
    """Return a decoder layer; biases and norms of heads are those of the model's type."""
    kind, width, inner, size = config.model_type, config.hidden_size, config.intermediate_size, config.head_dim
    queries, keys = config.num_attention_heads * size, config.num_key_value_heads * size
    out_bias = kind in ("llama", "qwen3", "smollm3") and config.attention_bias
    in_bias = out_bias or kind == "qwen2"
    mlp_bias = kind in ("llama", "smollm3") and config.mlp_bias
    attention = _container(
        q_proj=nn.Linear(width, queries, bias=in_bias),
        k_proj=nn.Linear(width, keys, bias=in_bias),
        v_proj=nn.Linear(width, keys, bias=in_bias),
        o_proj=nn.Linear(queries, width, bias=out_bias),
        head_dim=size,
        scaling=size**-0.5,
    )
    if kind == "qwen3":
        attention.q_norm, attention.k_norm = (SkeletonRMSNorm(size, config.rms_norm_eps) for _ in "qk")
    return _container(
        self_attn=attention,
        mlp=_container(
            gate_proj=nn.Linear(width, inner, bias=mlp_bias),
            up_proj=nn.Linear(width, inner, bias=mlp_bias),
            down_proj=nn.Linear(inner, width, bias=mlp_bias),
        ),
        input_layernorm=SkeletonRMSNorm(width, config.rms_norm_eps),
        post_attention_layernorm=SkeletonRMSNorm(width, config.rms_norm_eps),
    )
