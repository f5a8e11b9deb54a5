"""llama.cpp in the benchmark: what it is asked and answers, and clear words where it cannot run."""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from lade_chat.bench.methods import llama_cpp
from lade_chat.bench.methods.all_methods import ENGINES, Setup
from lade_chat.bench.results.measurements import TimedReply
from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError
from tests.gguf_format.kept import find_real_file

COMMAND = ["bench", "--suites", "math", "--limit", "1", "--methods", "plain", "--repeats", "1", "--max-new-tokens", "6"]
MODEL = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=8192))
NGRAM_MOD = 7


class ScriptedLlama(BaseHTTPRequestHandler):
    """Answers a prompt with its own ids, each a millisecond; refuses an empty one."""

    asked: list[dict[str, Any]]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **question})
        tokens = question["prompt"][: question["n_predict"]]
        reply = {"tokens": tokens, "timings": {"prompt_ms": 5.0, "predicted_ms": float(len(tokens))}}
        if not question["prompt"]:
            reply = {"error": {"message": "there is no prompt"}}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_request(self, *_: Any) -> None:
        pass


@dataclass(eq=False)
class PackageServer:
    listening_address: str


class Package(ModuleType):
    """``xllamacpp`` as far as it is used: keeps its servers' settings, and refuses a file that is not there.

    Its server ends as soon as nothing refers to it.
    """

    def __init__(self, address: str) -> None:
        super().__init__("xllamacpp")
        self.settings: list[Any] = []
        self.common_speculative_type = SimpleNamespace(COMMON_SPECULATIVE_TYPE_NGRAM_MOD=NGRAM_MOD)
        self.running: list[weakref.ref[Any]] = []
        self._address = address

    def CommonParams(self) -> Any:  # noqa: N802 (the package's)
        parts = {name: SimpleNamespace() for name in ("model", "cpuparams", "cpuparams_batch")}
        return SimpleNamespace(**parts, speculative=SimpleNamespace(types=[]))

    def Server(self, settings: Any) -> Any:  # noqa: N802 (the package's)
        if not Path(settings.model.path).is_file():
            raise RuntimeError("Failed to init server")
        self.settings.append(settings)
        server = PackageServer(self._address)
        self.running.append(weakref.ref(server))
        return server


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    handler = type("Handler", (ScriptedLlama,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    package = Package(f"http://127.0.0.1:{server.server_address[1]}")
    package.asked = handler.asked
    monkeypatch.setitem(sys.modules, "xllamacpp", package)
    yield package
    server.shutdown()
    thread.join()
    server.server_close()


def test_llama_cpp_is_asked_for_greedy_replies_to_ids_plainly_and_with_ngrams(package: Package, tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    file.touch()
    for ngram, types in ((False, []), (True, [NGRAM_MOD])):
        answer = llama_cpp.load_package(str(file), 512, 3, ngram=ngram)
        assert package.running[-1]() is not None
        assert answer([5, 6, 7], 2) == TimedReply((5, 6), 0.007, None, 1, 0.002)
        settings = package.settings[-1]
        assert settings.speculative.types == types
        assert (settings.n_ctx, settings.n_gpu_layers, settings.cache_prompt) == (512, 0, False)
        assert settings.cpuparams.n_threads == settings.cpuparams_batch.n_threads == 3
        asked = package.asked[-1]
        assert (asked["path"], asked["prompt"], asked["n_predict"]) == ("/completion", [5, 6, 7], 2)
        assert asked["temperature"] == 0
        with pytest.raises(LadeChatError, match="there is no prompt"):
            answer([], 2)
        with pytest.raises(LadeChatError, match="cannot load the file: Failed to init server"):
            llama_cpp.load_package(str(tmp_path / "none.gguf"), 512, 1, ngram=ngram)


PROGRAM = f"""#!{sys.executable}
import sys
import weakref
from http.server import ThreadingHTTPServer
from pathlib import Path
from tests.test_bench_engines import ScriptedLlama
if not Path(sys.argv[2]).is_file():
    sys.exit(1)
Path(sys.argv[2]).with_suffix(".asked").write_text(" ".join(sys.argv))
port = int(sys.argv[sys.argv.index("--port") + 1])
ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (ScriptedLlama,), {{"asked": []}})).serve_forever()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program := tmp_path / "llama-server").write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))


@pytest.mark.usefixtures("program")
def test_the_llama_server_on_the_path_is_asked_plainly_and_with_ngrams(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    file.touch()
    plain, ngram = ENGINES["llama-server"](Setup(MODEL, gguf=file))
    assert (plain.name, ngram.name) == ("llama-server", "llama-server ngram-mod")
    for method in (plain, ngram):
        reply = method.open(None)
        assert reply([5, 6, 7], 2) == TimedReply((5, 6), 0.007, None, 1, 0.002)
        with pytest.raises(LadeChatError, match="there is no prompt"):
            reply([], 2)
        asked = file.with_suffix(".asked").read_text()
        assert f"--ctx-size 4096 --threads {torch.get_num_threads()}" in asked
        assert ("--spec-type ngram-mod" in asked) == (method is ngram)
    (broken, _) = ENGINES["llama-server"](Setup(MODEL, gguf=tmp_path / "none.gguf"))
    with pytest.raises(LadeChatError, match="llama-server cannot load the file"):
        broken.open(None)([5], 2)


def test_llama_cpp_answers_with_a_real_file() -> None:
    pytest.importorskip("xllamacpp")
    methods = ENGINES["llama.cpp"](Setup(MODEL, gguf=find_real_file()))
    assert [method.name for method in methods] == ["llama.cpp", "llama.cpp ngram-mod"]
    texts = [method.open(None)([1, 520, 9531, 198], 8) for method in methods]
    assert texts[0].ids == texts[1].ids
    assert len(texts[0].ids) == 8
    assert all(text.seconds > 0 for text in texts)


def test_an_engine_that_is_not_installed_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    file = tmp_path / "x.gguf"
    file.touch()
    assert main([*COMMAND, "--engines", "llama.cpp", "--model-path", str(file)]) == 1
    told = "error: --engines llama.cpp needs a package that is not installed. To install: pip install xllamacpp\n"
    assert capsys.readouterr().err == told
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([*COMMAND, "--engines", "llama-server", "--model-path", str(file)]) == 1
    told = "error: --engines llama-server needs llama.cpp's program of that name on the PATH\n"
    assert capsys.readouterr().err == told


def test_an_engine_answers_refuses_and_crashes_in_a_process_of_its_own(tmp_path: Path) -> None:
    setup = Setup(MODEL, gguf=tmp_path / "x.gguf")
    method, other = llama_cpp.methods(setup, name="x", loader="tests.fragile_engine:load")
    assert (method.name, other.name, method.may_refuse) == ("x", "x ngram-mod", True)
    reply = method.open(None)
    assert reply([5, 6, 7], 2) == TimedReply((5, 6), torch.get_num_threads(), None, 1, 0.5)
    with pytest.raises(LadeChatError, match="too short"):
        reply([5], 2)
    assert method.open(None)([5, 6], 2).ids == (5, 6)
    for _ in range(2):
        with pytest.raises(LadeChatError, match="it was ended by SIGSEGV"):
            reply([], 2)


def test_an_engine_is_left_out_where_tokens_are_drawn_or_penalised(tmp_path: Path) -> None:
    from decoding import SamplingConfig

    for sampling in (SamplingConfig(temperature=1.0), SamplingConfig(temperature=0.0, repetition_penalty=1.2)):
        setup = Setup(MODEL, gguf=tmp_path / "x.gguf", sampling=sampling)
        method, _ = llama_cpp.methods(setup, name="x", loader="tests.fragile_engine:load")
        with pytest.raises(LadeChatError, match="only greedy"):
            method.open(None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engines", "vllm"], "no engine 'vllm'; choose from llama.cpp"),
        (["--engines", "llama.cpp"], "llama.cpp reads .gguf files only: give one with --model-path."),
        (["--engines", "llama.cpp", "--model-path", "org/name"], "give one with --model-path."),
        (["--engines", "llama.cpp", "--model-path", "org/name:Q8_0", "--random-weights", "1"], "reads .gguf files"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *arguments]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
