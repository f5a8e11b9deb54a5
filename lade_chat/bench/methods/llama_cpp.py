"""llama.cpp, by its Python package ``xllamacpp``: greedy decoding from a prompt's ids, plainly or with n-grams."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlsplit

import xllamacpp

from lade_chat.bench.methods.engine_child import LoadedEngine, Wanted
from lade_chat.bench.methods.llama_server import MAX_CONTEXT, answer
from lade_chat.errors import LadeChatError


def load(wanted: Wanted) -> LoadedEngine:
    """Load the file for plain decoding."""
    return _loaded(wanted, speculation=[])


def load_ngram(wanted: Wanted) -> LoadedEngine:
    """Load the file for decoding with ``ngram-mod``, which keeps its n-grams from prompt to prompt."""
    return _loaded(wanted, speculation=[xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MOD])


def _loaded(wanted: Wanted, speculation: list[Any]) -> LoadedEngine:
    settings = xllamacpp.CommonParams()
    settings.model.path = wanted.gguf
    settings.n_ctx, settings.n_parallel = min(MAX_CONTEXT, wanted.context or MAX_CONTEXT), 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = wanted.threads
    settings.n_gpu_layers = 0
    # Every prompt is prefilled from its start, as by the other methods.
    settings.cache_prompt, settings.cache_ram_mib = False, 0
    if speculation:
        settings.speculative.types = speculation
    try:
        server = xllamacpp.Server(settings)
    except (OSError, RuntimeError) as error:
        raise LadeChatError(f"llama.cpp cannot load the file: {error}") from error
    # Over HTTP, since ``Server.handle_completions`` returns no ids.
    return partial(answer, urlsplit(server.listening_address).netloc)
