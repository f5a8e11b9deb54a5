"""Makes small real checkpoints on the spot: random weights of many architectures, tokenizers trained on a few lines."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A template that takes any roles in any order, and writes no BOS."""

STRICT = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate user/assistant/user/assistant') }}{% endif %}"
    "{% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]"
    "{% else %} {{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
)
"""Mistral's manner: a BOS, no system role, user and assistant strictly in turn."""

_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    # Heads of 16, so that steps run in C where the architecture and the dtype are known there.
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}


@cache
def corpus(lines: int = 400) -> tuple[str, ...]:
    """Generated sentences and code, the same ones every time."""
    dice = random.Random(0)
    names, verbs = ("Ada", "Bo", "Cleo", "Dan", "Eve"), ("counts", "sees", "adds", "keeps", "returns")
    things = ("apples", "numbers", "a list", "the sum", "two words", "three stones", "déjà vu", "naïve cafés")
    sentences = [f"{dice.choice(names)} {dice.choice(verbs)} {dice.choice(things)}." for _ in range(lines)]
    code = [f"def {dice.choice(verbs)}(x):\n    return x + {dice.randrange(100)}" for _ in range(lines // 4)]
    return (*sentences, *code)


@cache
def sentencepiece_model(vocab_size: int = 420, *symbols: str) -> bytes:
    """A sentencepiece model in Llama 2's manner: BPE with byte fallback, <unk> 0, <s> 1, </s> 2, then ``symbols``."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in corpus() for line in text.split("\n")),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        user_defined_symbols=list(symbols),
        minloglevel=2,
    )
    return model.getvalue()


def byte_level_tokenizer(vocab_size: int = 600, chat_template: str | None = CHATML, **special: str) -> Any:
    """A byte-level BPE tokenizer in Qwen's and GPT-2's manner, with ChatML's special tokens."""
    tokenizer = Tokenizer.from_str(_trained_bpe(vocab_size))
    special = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"} | special
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=chat_template, clean_up_tokenization_spaces=False, **special
    )


@cache
def _trained_bpe(vocab_size: int) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer.to_str()


def with_ordinary(tokenizer: Any, *names: str) -> Any:
    """The tokenizer with these added tokens not marked as special."""
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    for token in content["added_tokens"]:
        token["special"] = token["special"] and token["content"] not in names
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)),
        chat_template=tokenizer.chat_template,
        clean_up_tokenization_spaces=False,
        eos_token=tokenizer.eos_token,
        pad_token=tokenizer.pad_token,
    )


def llama_tokenizer(folder: Path, **options: Any) -> Any:
    """The Llama tokenizer over ``sentencepiece_model``, made in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(sentencepiece_model())
    return transformers.LlamaTokenizer.from_pretrained(folder, **options)


def save_random(folder: Path, config: Any, class_: Any = None, **options: Any) -> Path:
    """A model of ``config`` with seeded random weights, saved in ``folder``."""
    torch.manual_seed(4)  # one of the seeds whose replies are long
    class_ = class_ or transformers.AutoModelForCausalLM
    model = class_.from_config(config) if hasattr(class_, "from_config") else class_(config)
    model.eval().save_pretrained(folder, **options)
    return folder


def make_llama_tokenizer_model(folder: Path, **options: Any) -> Path:
    """A Llama-2-style checkpoint: ``tokenizer.model`` is all there is of its tokenizer; no chat template."""
    vocab_size = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model()).vocab_size()
    sizes = {**_SIZES, "vocab_size": vocab_size, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
    save_random(folder, transformers.LlamaConfig(**sizes), **options)
    (folder / "tokenizer.model").write_bytes(sentencepiece_model())
    return folder


def make_qwen2(folder: Path, *, chat_template: str | None = CHATML, **options: Any) -> Path:
    """A Qwen2 checkpoint with ``tokenizer.json`` and ChatML; its end of turn is in no list of EOS tokens."""
    return _with_byte_level(folder, transformers.Qwen2Config, chat_template, **options)


def make_gpt2(folder: Path, **options: Any) -> Path:
    """GPT-2 with ``tokenizer.json``, learnt positions and no chat template."""
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 256}
    return _with_byte_level(folder, transformers.GPT2Config, None, sizes=sizes, **options)


def make_gpt_neox(folder: Path, **options: Any) -> Path:
    """GPT-NeoX, as Pythia: its configuration says that it is no decoder, which means nothing."""
    sizes = {name: size for name, size in _SIZES.items() if name != "num_key_value_heads"}
    return _with_byte_level(folder, transformers.GPTNeoXConfig, CHATML, sizes=sizes, **options)


def make_mamba(folder: Path, **options: Any) -> Path:
    """Mamba, which is recurrent: lookahead cannot serve it."""
    sizes = {"hidden_size": 32, "state_size": 4, "num_hidden_layers": 1}
    return _with_byte_level(folder, transformers.MambaConfig, CHATML, sizes=sizes, **options)


def make_bloom(folder: Path, **options: Any) -> Path:
    """Bloom, whose ALiBi takes positions from the mask: lookahead cannot serve it."""
    sizes = {"hidden_size": 32, "n_layer": 1, "n_head": 4}
    return _with_byte_level(folder, transformers.BloomConfig, None, sizes=sizes, **options)


def make_bert(folder: Path) -> Path:
    """BERT for masked words, which is no causal LM."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    return _with_byte_level(folder, transformers.BertConfig, None, sizes=sizes, class_=transformers.BertForMaskedLM)


def make_t5(folder: Path) -> Path:
    """T5, an encoder and a decoder, which is no causal LM."""
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4}
    class_ = transformers.T5ForConditionalGeneration
    return _with_byte_level(folder, transformers.T5Config, None, sizes=sizes, class_=class_)


def make_vit(folder: Path) -> Path:
    """A picture classifier, which knows no text at all."""
    config = transformers.ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, image_size=32, patch_size=16
    )
    return save_random(folder, config, transformers.ViTForImageClassification)


def make_pickled(folder: Path) -> Path:
    """A Qwen2 checkpoint whose only weights are ``pytorch_model.bin``."""
    make_qwen2(folder)
    weights = folder / "model.safetensors"
    torch.save(transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict(), folder / "pytorch_model.bin")
    weights.unlink()
    return folder


def make_sharded(folder: Path) -> Path:
    """A Qwen2 checkpoint in several safetensors files."""
    make_qwen2(folder, max_shard_size="60KB")
    assert len(shards(folder)) > 2
    return folder


def shards(folder: Path) -> list[Path]:
    """The weights' files, in order."""
    return sorted(folder.glob("model*.safetensors"))


def truncate(file: Path, keep: float = 0.5) -> None:
    """Cuts a file short, as an interrupted download does."""
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])


def edit_json(file: Path, **changes: Any) -> None:
    """Sets keys of a JSON file; a value of None takes the key out."""
    content = json.loads(file.read_text())
    content.update(changes)
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def _with_byte_level(
    folder: Path,
    config_class: Any,
    chat_template: str | None,
    *,
    sizes: dict[str, Any] | None = None,
    class_: Any = None,
    **options: Any,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    alike = tuple(sorted((sizes or _SIZES).items())), class_, tuple(sorted(options.items()))
    for name, content in _files(config_class, chat_template, *alike).items():
        (folder / name).write_bytes(content)
    return folder


@cache
def _files(
    config_class: Any, chat_template: str | None, sizes: tuple[Any, ...], class_: Any, options: tuple[Any, ...]
) -> dict[str, bytes]:
    """A checkpoint's files by name, made once and written wherever a test wants them."""
    tokenizer = byte_level_tokenizer(chat_template=chat_template)
    ids = {"vocab_size": len(tokenizer), "bos_token_id": None, "eos_token_id": 0, "pad_token_id": 0}
    config = config_class(**{**dict(sizes), **ids, "decoder_start_token_id": 0})
    with TemporaryDirectory() as name:
        folder = save_random(Path(name), config, class_, **dict(options))
        tokenizer.save_pretrained(folder)
        return {file.name: file.read_bytes() for file in folder.iterdir()}


def every_causal() -> Iterator[tuple[str, Any]]:
    """The makers of causal checkpoints, by name."""
    yield from (
        ("llama", make_llama_tokenizer_model),
        ("qwen2", make_qwen2),
        ("gpt2", make_gpt2),
        ("mamba", make_mamba),
        ("bloom", make_bloom),
    )
