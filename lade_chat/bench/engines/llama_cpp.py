"""llama.cpp, by its Python binding: plain greedy decoding from a prompt's ids."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from llama_cpp import Llama

from lade_chat.bench.engines.server import Answer, Loaded, Wanted
from lade_chat.errors import LadeChatError

MAX_CONTEXT = 4096
"""Tokens of prompt and reply; a longer context would only take memory."""


def load(wanted: Wanted) -> Loaded:
    """Load ``--gguf``'s file, or else the checkpoint's weights in the dtype of this package's methods."""
    with ExitStack() as stack:
        file = Path(wanted.gguf or _written(wanted, Path(stack.enter_context(TemporaryDirectory()))))
        settings: dict[str, Any] = {"n_threads": wanted.threads, "n_threads_batch": wanted.threads, "n_gpu_layers": 0}
        context = min(MAX_CONTEXT, wanted.context or MAX_CONTEXT)
        try:
            # Not mapped: the file is gone in a moment.
            llama = Llama(str(file), n_ctx=context, use_mmap=False, verbose=False, **settings)
        except (OSError, ValueError, RuntimeError) as error:
            raise LadeChatError(f"llama.cpp cannot load {file.name}: {error}") from error
    return partial(_answer, llama, wanted.eos_token_ids)


def _written(wanted: Wanted, folder: Path) -> Path:
    from transformers import AutoConfig

    from lade_chat.bench.engines.gguf_file import write_gguf

    if wanted.checkpoint is None:
        raise LadeChatError("these weights lie in no checkpoint that could be written as GGUF")
    checkpoint, dtype = Path(wanted.checkpoint), wanted.quantize or wanted.dtype
    file = folder / f"{checkpoint.name}-{dtype}.gguf"
    write_gguf(checkpoint, AutoConfig.from_pretrained(checkpoint, local_files_only=True), file, dtype)
    return file


def _answer(llama: Any, eos_token_ids: Sequence[int], ids: Sequence[int], max_new_tokens: int) -> Answer:
    # Or else it would keep what the last prompt and this one have in common.
    llama.reset()
    started = perf_counter()
    tokens: list[int] = []
    for token in llama.generate(list(ids), temp=0.0, repeat_penalty=1.0):
        tokens.append(int(token))
        if len(tokens) == max_new_tokens or token in eos_token_ids:
            break
    return Answer(tuple(tokens), perf_counter() - started)
