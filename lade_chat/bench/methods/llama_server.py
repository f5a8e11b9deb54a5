"""llama.cpp, by the ``llama-server`` on the PATH, which may be compiled for this very processor."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from socket import socket

from lade_chat.bench.methods.engine_child import EngineAnswer, LoadedEngine, Wanted
from lade_chat.child_process import Child, end_with_parent
from lade_chat.errors import LadeChatError

MAX_CONTEXT = 4096
"""Tokens of prompt and reply; a longer context would only take memory."""
LOADING_SECONDS = 300


def load(wanted: Wanted) -> LoadedEngine:
    """Load the file for plain decoding."""
    return _loaded(wanted)


def load_ngram(wanted: Wanted) -> LoadedEngine:
    """Load the file for decoding with ``ngram-mod``, which keeps its n-grams from prompt to prompt."""
    return _loaded(wanted, "--spec-type", "ngram-mod")


def _loaded(wanted: Wanted, *more: str) -> LoadedEngine:
    program = shutil.which("llama-server")
    if program is None:
        raise LadeChatError("there is no llama-server on the PATH")
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    host, port = address.split(":")
    context, threads = str(min(MAX_CONTEXT, wanted.context or MAX_CONTEXT)), str(wanted.threads)
    command = [program, "--model", wanted.gguf, "--host", host, "--port", port, "--parallel", "1", *more]
    command += ["--ctx-size", context, "--threads", threads, "--threads-batch", threads, "--n-gpu-layers", "0"]
    # Every prompt is prefilled from its start, as by the other methods.
    command += ["--no-cache-prompt", "--cache-ram", "0"]
    server, end = Child(f"{__name__}:serve", *command, logged=False), time.monotonic() + LOADING_SECONDS
    while not _is_ready(address):
        if not server.is_running or time.monotonic() > end:
            raise LadeChatError("llama-server cannot load the file")
        time.sleep(0.05)

    def answered(ids: Sequence[int], max_new_tokens: int) -> EngineAnswer:
        if not server.is_running:
            raise LadeChatError(f"llama-server {server.ended()}")
        return answer(address, ids, max_new_tokens)

    return answered


def serve() -> None:
    """Run the command that the arguments give, which ends with the process that started this one."""
    server = subprocess.Popen(sys.argv[1:])
    end_with_parent(server.kill)
    sys.exit(server.wait())


def _is_ready(address: str) -> bool:
    connection = HTTPConnection(address)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def answer(address: str, ids: Sequence[int], max_new_tokens: int) -> EngineAnswer:
    """Ask a server of llama.cpp for the greedy reply to a prompt's ids; the time is llama.cpp's own."""
    connection = HTTPConnection(address)
    question = {"prompt": list(ids), "n_predict": max_new_tokens, "temperature": 0, "top_k": 1, "return_tokens": True}
    connection.request("POST", "/completion", json.dumps(question), {"Content-Type": "application/json"})
    reply = json.load(connection.getresponse())
    connection.close()
    if "error" in reply:
        raise LadeChatError(reply["error"]["message"])
    # The first token is chosen within the prompt's time, though ``predicted_n`` counts it, too.
    prompt, predicted = (reply["timings"][name] / 1000 for name in ("prompt_ms", "predicted_ms"))
    return EngineAnswer(tuple(reply["tokens"]), prompt + predicted, predicted)
