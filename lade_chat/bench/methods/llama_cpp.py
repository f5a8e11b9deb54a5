"""llama.cpp as methods of the benchmark: its package ``xllamacpp``, or the ``llama-server`` on the PATH.

The one is built for any processor, the other perhaps for this very one. Each runs in a child process, greedily; one
that crashes is left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from http.client import HTTPConnection
from pkgutil import resolve_name
from socket import socket
from urllib.parse import urlsplit

import msgspec

from lade_chat.bench.methods.all_methods import Method, Replier, Setup
from lade_chat.bench.results.measurements import TimedReply
from lade_chat.child_processes import Child, claim_stdio, end_with_parent
from lade_chat.errors import LadeChatError, summary

MAX_CONTEXT = 4096
"""Tokens of prompt and reply; a longer context would only take memory."""
LOADING_SECONDS = 300


def methods(setup: Setup, *, name: str, loader: str) -> list[Method]:
    """Return an engine's methods, which decode with this process's threads: plainly, and with its own n-grams.

    ``loader``: ``module:function`` of a file, the tokens of its context, the number of threads, and ``ngram``, True
    for ``ngram-mod``, which keeps its n-grams from prompt to prompt; called once for each method, unmeasured.
    """
    return [
        Method(each, learns=False, open=_opener(setup, loader, ngram), may_refuse=True)
        for each, ngram in ((name, ""), (f"{name} ngram-mod", "ngram"))
    ]


def _opener(setup: Setup, loader: str, ngram: str) -> Callable[[int | None], Replier]:
    started = cache(lambda: _start(setup, loader, ngram))

    def opened(seed: int | None) -> Replier:
        if setup.sampling is not None:
            raise LadeChatError("only greedy decoding without a penalty is compared with other engines")
        return partial(_reply, started())

    return opened


def _start(setup: Setup, loader: str, ngram: str) -> Child:
    import torch

    assert setup.gguf is not None, "the plan requires a file"
    context = min(MAX_CONTEXT, getattr(setup.model.config, "max_position_embeddings", None) or MAX_CONTEXT)
    arguments = map(str, (setup.gguf, context, torch.get_num_threads(), ngram))
    return Child("lade_chat.bench.methods.llama_cpp:main", loader, *arguments, logged=False)


def _reply(child: Child, ids: Sequence[int], max_new_tokens: int) -> TimedReply:
    """Answer a prompt. Raises LadeChatError if the engine refuses, or has crashed."""
    child.send(msgspec.json.encode((ids, max_new_tokens)) + b"\n")
    line = child.stdout.readline()
    if not line:
        raise LadeChatError(f"it {child.ended()}")
    answer = msgspec.json.decode(line, type=TimedReply | str)
    if isinstance(answer, str):
        raise LadeChatError(answer)
    return answer


def main() -> None:
    """Serve stdin until it is closed: a line a prompt, answered by a reply, or the reason why there is none."""
    lines, answers = claim_stdio()
    loader, gguf, context, threads, ngram = sys.argv[1:]
    loaded = cache(lambda: resolve_name(loader)(gguf, int(context), int(threads), ngram=bool(ngram)))
    for line in lines:
        ids, max_new_tokens = msgspec.json.decode(line, type=tuple[tuple[int, ...], int])
        try:
            answer: TimedReply | str = loaded()(ids, max_new_tokens)
        except Exception as error:  # engines fail in many ways, and each is a reason to be left out
            answer = str(error) if isinstance(error, LadeChatError) else summary(error)
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


def load_package(gguf: str, context: int, threads: int, *, ngram: bool) -> Replier:
    """Load a file in the package's server, which is asked over HTTP: ``handle_completions`` returns no ids."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = gguf
    settings.n_ctx, settings.n_parallel = context, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.n_gpu_layers = 0
    # Every prompt is prefilled from its start, as by the other methods.
    settings.cache_prompt, settings.cache_ram_mib = False, 0
    if ngram:
        settings.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]
    try:
        server = xllamacpp.Server(settings)
    except (OSError, RuntimeError) as error:
        raise LadeChatError(f"llama.cpp cannot load the file: {error}") from error

    def answered(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
        return _answer(urlsplit(server.listening_address).netloc, ids, max_new_tokens)

    return answered  # which keeps the server alive


def load_server(gguf: str, context: int, threads: int, *, ngram: bool) -> Replier:
    """Load a file in the program on the PATH, which ends with this process."""
    program = shutil.which("llama-server")
    if program is None:
        raise LadeChatError("there is no llama-server on the PATH")
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
    address, size = f"{host}:{port}", str(threads)
    command = [program, "--model", gguf, "--host", host, "--port", str(port), "--parallel", "1"]
    command += ["--ctx-size", str(context), "--threads", size, "--threads-batch", size, "--n-gpu-layers", "0"]
    # Every prompt is prefilled from its start, as by the other methods.
    command += ["--no-cache-prompt", "--cache-ram", "0", *(["--spec-type", "ngram-mod"] if ngram else [])]
    server, end = Child(f"{__name__}:run_program", *command, logged=False), time.monotonic() + LOADING_SECONDS
    while not _is_ready(address):
        if not server.is_running or time.monotonic() > end:
            raise LadeChatError("llama-server cannot load the file")
        time.sleep(0.05)

    def answered(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
        if not server.is_running:
            raise LadeChatError(f"llama-server {server.ended()}")
        return _answer(address, ids, max_new_tokens)

    return answered


def run_program() -> None:
    """Run the command that the arguments give, which ends with the process that started this one."""
    # Nobody reads what it prints, and a full pipe would halt it.
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end_with_parent(program.kill)
    sys.exit(program.wait())


def _is_ready(address: str) -> bool:
    connection = HTTPConnection(address)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _answer(address: str, ids: Sequence[int], max_new_tokens: int) -> TimedReply:
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
    tokens = tuple(reply["tokens"])
    return TimedReply(tokens, prompt + predicted, None, max(0, len(tokens) - 1), predicted)
