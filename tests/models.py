"""Small models for tests: random weights from configurations, and models that say what a test wants them to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers as hf

from decoding import Session, Step, lookahead_support

VOCABULARY = 97
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    # None, so that a text of random weights has the length that was asked for.
    "eos_token_id": None,
    "pad_token_id": 0,
}
ONE_HEAD_EACH = {key: value for key, value in COMMON.items() if key != "num_key_value_heads"}
GPT2: dict[str, Any] = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
SLIDING = 9
"""A window shorter than every text of the tests."""

CONFIGS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "llama": lambda: hf.LlamaConfig(**COMMON),
    "mistral": lambda: hf.MistralConfig(**COMMON, sliding_window=SLIDING),
    "qwen2": lambda: hf.Qwen2Config(**COMMON),
    "qwen2-sliding": lambda: hf.Qwen2Config(
        **COMMON, use_sliding_window=True, sliding_window=SLIDING, max_window_layers=1
    ),
    "qwen3": lambda: hf.Qwen3Config(**COMMON, head_dim=8),
    "gemma2": lambda: hf.Gemma2Config(**COMMON, head_dim=8, sliding_window=SLIDING),
    "gemma3": lambda: hf.Gemma3TextConfig(**COMMON, head_dim=8, sliding_window=SLIDING),
    "phi3": lambda: hf.Phi3Config(**COMMON),
    "phi3-sliding": lambda: hf.Phi3Config(**COMMON, sliding_window=SLIDING),
    "gpt2": lambda: hf.GPT2Config(**GPT2, bos_token_id=1, eos_token_id=None),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**ONE_HEAD_EACH),
    "olmo2": lambda: hf.Olmo2Config(**COMMON),
    "smollm3": lambda: hf.SmolLM3Config(**COMMON),
    "granite": lambda: hf.GraniteConfig(**COMMON),
    # transformers' grouped matrix product for experts knows no float64.
    "mixtral": lambda: hf.MixtralConfig(**COMMON, num_local_experts=4, experts_implementation="eager"),
    # With two layers it repeats itself too little.
    "llama4-chunked": lambda: hf.Llama4TextConfig(
        **{**COMMON, "num_hidden_layers": 3},
        head_dim=8,
        attention_chunk_size=SLIDING,
        num_local_experts=2,
        intermediate_size_mlp=48,
        experts_implementation="eager",
    ),
}
"""Families that lookahead serves, each with its own masks."""

PLAIN_ONLY: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "bloom": lambda: hf.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4),
    "mpt": lambda: hf.MptConfig(vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4, max_seq_len=256),
    "falcon-alibi": lambda: hf.FalconConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True
    ),
    "gpt_neo": lambda: hf.GPTNeoConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=SLIDING,
    ),
    "mamba": lambda: hf.MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2),
    "rwkv": lambda: hf.RwkvConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2),
}
"""Families that it does not: position biases, windows by index, recurrent states."""


def config_of(family: str, layers: int | None = None) -> Any:
    """The configuration of a small model, of its first layers alone if their number is given."""
    config: Any = {**CONFIGS, **PLAIN_ONLY}[family]()
    if layers is not None:
        config.num_hidden_layers = layers
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:layers]
    return config


CODE = "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result"


def random_model(
    family: str,
    seed: int = 0,
    attention: str | None = None,
    positions: int | None = None,
    layers: int | None = None,
) -> Any:
    """A float64 model of random weights, large enough that its logits depend on every token seen.

    Args:
        positions: how many it has, in place of 256.
        layers: how many it has, in place of the family's own number.
    """
    torch.manual_seed(seed)
    config = config_of(family, layers)
    if positions is not None:
        config.max_position_embeddings = positions
    model = hf.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    model = model.eval().double()
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return checked_once(model, family, seed, attention, positions, layers)


_served: dict[tuple[object, ...], bool] = {}


def checked_once(model: Any, *kind: object) -> Any:
    """The model, whose masks are checked for the first of its kind alone: that takes a dozen forward passes."""
    if kind not in _served:
        _served[kind] = lookahead_support(model).supported
    elif _served[kind]:
        lookahead_support(model, checked=True)
    return model


def random_prompt(length: int, seed: int = 0) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (length,), generator=generator).tolist()


class Recorder:
    """A streamer that is none of transformers': it keeps what it is given, and that it ended."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def put(self, value: torch.Tensor) -> None:
        self.given.append(value.tolist())

    def end(self) -> None:
        self.given.append("end")


def hf_greedy(model: Any, prompt: Sequence[int], max_new_tokens: int, eos: list[int] | None = None) -> list[int]:
    """What `generate` says, the prompt left out."""
    input_ids = torch.tensor([list(prompt)])
    output = model.generate(
        input_ids,
        attention_mask=torch.ones_like(input_ids),
        do_sample=False,
        max_new_tokens=max_new_tokens,
        eos_token_id=eos,
        pad_token_id=0,
    )
    return output[0, len(prompt) :].tolist()


def cached_layers(session: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The keys and values that the session holds, layer by layer."""
    return [(layer.keys, layer.values) for layer in session.prefix.cache.layers]


def assert_cache_is_the_prefix(session: Session) -> None:
    """Every layer holds what a fresh forward over the text, its last token left out, would leave."""
    assert session.cached == len(session.ids) - 1
    fresh = Session(session.model)
    fresh.sync(session.ids)
    fresh.read(len(session.ids) - 1)
    for layer, expected in zip(cached_layers(session), cached_layers(fresh), strict=True):
        # Some families normalise in float32 whatever the model's dtype is, and the steps read other numbers of tokens.
        torch.testing.assert_close(layer, expected, rtol=1e-6, atol=1e-6)


def tokens_of(steps: Iterable[Step]) -> list[int]:
    """What the steps settled, in one list."""
    return [token for step in steps for token in step.tokens]


def reciting_model(text: Sequence[int], vocabulary: int = VOCABULARY) -> Any:
    """Says ``text[p + 1]`` at position p, whatever it has read: a GPT-2 whose positions alone speak."""
    model = _speaking_model(width=len(text), positions=len(text), vocabulary=vocabulary)
    with torch.no_grad():
        model.transformer.wpe.weight.copy_(torch.eye(len(text)))
        for position in range(len(text) - 1):
            model.lm_head.weight[text[position + 1], position] = 1.0
    return model


def code_reciting_model() -> tuple[Any, Any, Any]:
    """A model that recites a Python function and ends, the bundled model's tokenizer, and a question's inputs."""
    tokenizer = hf.AutoTokenizer.from_pretrained(Path(__file__).parents[1] / "assets" / "model")
    question = [{"role": "user", "content": "Write a Python function that returns the sum of a list."}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    end = tokenizer.convert_tokens_to_ids("<|end|>")
    text = [*inputs["input_ids"][0].tolist(), *tokenizer.encode(CODE, add_special_tokens=False), *[end] * 40]
    model = reciting_model(text, len(tokenizer))
    model.generation_config.eos_token_id = end
    return model, tokenizer, inputs


def successor_model(successor: dict[int, int]) -> Any:
    """Says ``successor[t]`` after token t, wherever it stands: a GPT-2 whose tokens alone speak."""
    model = _speaking_model(width=VOCABULARY, positions=256)
    with torch.no_grad():
        model.transformer.wte.weight.copy_(torch.eye(VOCABULARY))
        for token, following in successor.items():
            model.lm_head.weight[following, token] = 1.0
    return model


def _speaking_model(width: int, positions: int, vocabulary: int = VOCABULARY) -> Any:
    """A GPT-2 that is silent but for its layer norms, until a test writes into its embeddings and its head."""
    config = hf.GPT2Config(
        vocab_size=vocabulary, n_embd=width, n_layer=1, n_head=1, n_positions=positions, tie_word_embeddings=False
    )
    model = hf.AutoModelForCausalLM.from_config(config).eval().double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "ln_" not in name:
                parameter.zero_()
    return model


CYCLE = [10, 11, 12, 13, 14, 15, 16]


def cycling_model() -> Any:
    return successor_model(dict(zip(CYCLE, [*CYCLE[1:], CYCLE[0]], strict=True)))
