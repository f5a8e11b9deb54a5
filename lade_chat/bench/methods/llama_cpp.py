"""llama.cpp, by its Python package ``xllamacpp``: greedy decoding from a prompt's ids, plainly or with n-grams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import xllamacpp

from lade_chat.bench.methods.engine_child import EngineAnswer, LoadedEngine, Wanted
from lade_chat.errors import LadeChatError

MAX_CONTEXT = 4096
"""Tokens of prompt and reply; a longer context would only take memory."""


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
    return partial(_answer, server)


def _answer(server: Any, ids: Sequence[int], max_new_tokens: int) -> EngineAnswer:
    """Ask over HTTP, since ``Server.handle_completions`` returns no ids; the time is llama.cpp's own."""
    connection = HTTPConnection(urlsplit(server.listening_address).netloc)
    question = {"prompt": list(ids), "n_predict": max_new_tokens, "temperature": 0, "top_k": 1, "return_tokens": True}
    connection.request("POST", "/completion", json.dumps(question), {"Content-Type": "application/json"})
    reply = json.load(connection.getresponse())
    connection.close()
    if "error" in reply:
        raise LadeChatError(reply["error"]["message"])
    # The first token is chosen within the prompt's time, though ``predicted_n`` counts it, too.
    prompt, predicted = (reply["timings"][name] / 1000 for name in ("prompt_ms", "predicted_ms"))
    return EngineAnswer(tuple(reply["tokens"]), prompt + predicted, predicted)
