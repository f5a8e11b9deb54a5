"""Checkpoints that answer one question with a text of the test's choice: a GPT-2 whose positions alone speak."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import Prompt, prompt_for
from lade_chat.engine.text.control_tokens import encode
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.text.thinking import DEFAULT, Thinking
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import Event, Loaded
from lade_chat.protocol.values import DecodingOptions, Message, ModelInfo, ModelOptions

POSITIONS = 512
_MARK = "\0"
SILENCE = 8
"""Positions behind the reply, so that a text without an end of its own ends at the limit of tokens."""


def prompt_of(
    messages: Sequence[Message],
    tokenizer: Any,
    *,
    window: int = 4096,
    new: int = 16,
    raw: bool = False,
    thinking: Thinking = DEFAULT,
) -> Prompt:
    """The prompt for a model of this tokenizer that has an embedding for every token."""
    model = SimpleNamespace(get_input_embeddings=lambda: SimpleNamespace(num_embeddings=1_000_000))
    info = ModelInfo("model", "cpu", "float32", 0, window, lookahead_supported=True)
    return prompt_for(LoadedModel(model, tokenizer, info, (), thinking), messages, new, raw=raw)


def make_speaking(folder: Path, tokenizer: Any, messages: Sequence[Message], said: str | Sequence[int]) -> Path:
    """A checkpoint that answers ``messages`` with ``said``: tokens, or a text in which names of tokens are tokens.

    The tokenizer is saved unless the folder has one.
    """
    prompt = prompt_of(messages, tokenizer, window=POSITIONS, new=1).ids
    text = [*prompt, *(encode(tokenizer, f"{_MARK}{said}", _MARK) if isinstance(said, str) else said)]
    sizes = {"vocab_size": len(tokenizer), "n_embd": len(text) + SILENCE, "n_layer": 1, "n_head": 1}
    ids = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.GPT2Config(n_positions=POSITIONS, tie_word_embeddings=False, **sizes, **ids)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "ln_" not in name:
                parameter.zero_()
        model.transformer.wpe.weight[: len(text) + SILENCE].copy_(torch.eye(len(text) + SILENCE))
        for position, token in enumerate(text[1:]):
            model.lm_head.weight[token, position] = 1.0
    model.save_pretrained(folder)
    if not any(folder.glob("tokenizer*")):
        tokenizer.save_pretrained(folder)
    return folder


def loaded_engine(folder: Path) -> ChatEngine:
    """An engine that has loaded the checkpoint."""
    engine = ChatEngine()
    *_, loaded = engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float64"))))
    assert isinstance(loaded, Loaded), loaded
    return engine


def reply_to(
    engine: ChatEngine, messages: Sequence[Message], written: Sequence[int] = (), **options: Any
) -> list[Event]:
    """The events of a reply, which may have begun with the tokens ``written``."""
    decoding = DecodingOptions(**{"max_new_tokens": 60, **options})
    return list(engine.handle(Job(Reply(tuple(messages), decoding, written=tuple(written)))))
