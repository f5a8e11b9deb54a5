"""llama.cpp, by its Python binding, as a method of the benchmark: plain greedy decoding from a prompt's ids."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from lade_chat.bench.engines.gguf_file import write_gguf
from lade_chat.bench.methods.method import Method, Replier, Setup
from lade_chat.bench.results.values import Reply
from lade_chat.errors import LadeChatError

MAX_CONTEXT = 4096
"""Tokens of prompt and reply; a longer context would only take memory."""


def llama_cpp(setup: Setup, *, name: str) -> list[Method]:
    """llama.cpp on the checkpoint's weights, in the dtype of this package's methods, or on ``--gguf``'s file.

    The model is loaded before the first reply, which is not measured.
    """
    loaded: list[Any] = []

    def opened(seed: int | None) -> Replier:
        if seed is not None:
            raise LadeChatError("only greedy decoding is compared with other engines")

        def reply(ids: Sequence[int], max_new_tokens: int) -> Reply:
            if not loaded:
                loaded.append(_loaded(setup))
            return _timed(loaded[0], ids, max_new_tokens, setup.eos_token_ids)

        return reply

    return [Method(name, learns=False, open=opened, may_refuse=True)]


def _loaded(setup: Setup) -> Any:
    """Return a ``llama_cpp.Llama`` with this process's threads. Raises LadeChatError if that cannot be."""
    import torch

    try:
        from llama_cpp import Llama
    except (ImportError, OSError, RuntimeError) as error:
        raise LadeChatError("not installed: pip install 'lade-chat[engines]'") from error
    with ExitStack() as stack:
        file = setup.gguf
        if file is None:
            file = _written(setup, Path(stack.enter_context(TemporaryDirectory())))
        threads = torch.get_num_threads()
        context = min(MAX_CONTEXT, getattr(setup.model.config, "max_position_embeddings", MAX_CONTEXT))
        settings: dict[str, Any] = {"n_threads": threads, "n_threads_batch": threads, "n_gpu_layers": 0}
        try:
            # Not mapped: the file is gone in a moment.
            return Llama(str(file), n_ctx=context, use_mmap=False, verbose=False, **settings)
        except (OSError, ValueError, RuntimeError) as error:
            raise LadeChatError(f"llama.cpp cannot load {file.name}: {error}") from error


def _written(setup: Setup, folder: Path) -> Path:
    if setup.checkpoint is None:
        raise LadeChatError("these weights lie in no checkpoint that could be written as GGUF")
    dtype = setup.quantize or str(setup.model.dtype).removeprefix("torch.")
    file = folder / f"{setup.checkpoint.name}-{dtype}.gguf"
    try:
        write_gguf(setup.checkpoint, setup.model.config, file, dtype)
    except ImportError as error:
        raise LadeChatError("not installed: pip install 'lade-chat[engines]'") from error
    return file


def _timed(llama: Any, ids: Sequence[int], max_new_tokens: int, eos_token_ids: Sequence[int]) -> Reply:
    # Or else it would keep what the last prompt and this one have in common.
    llama.reset()
    started = perf_counter()
    tokens: list[int] = []
    for token in llama.generate(list(ids), temp=0.0, repeat_penalty=1.0):
        tokens.append(int(token))
        if len(tokens) == max_new_tokens or token in eos_token_ids:
            break
    return Reply(tuple(tokens), perf_counter() - started)
