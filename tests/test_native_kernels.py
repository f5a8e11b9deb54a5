"""Kernels in C: right products, rows that do not depend on each other, and machines on which there are none."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
import torch
from torch.nn import functional

from decoding.native.build import compile_problem, compiled_library
from decoding.native.kernels import NativeKernels, native_kernels

SHAPES = [(64, 32), (896, 128), (100, 33), (320, 70), (48, 3), (17, 1)]
COUNTS = (1, 2, 3, 5, 8, 13, 16, 17, 32, 33, 50, 70)


@pytest.fixture
def kernels() -> NativeKernels:
    found = native_kernels()
    if found is None:
        pytest.skip("no C compiler here")
    return found


@pytest.fixture
def build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DECODING_NATIVE", raising=False)
    return tmp_path / "lade-chat" / "native"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("width", "outputs"), SHAPES)
def test_products_are_right_and_rows_independent(
    kernels: NativeKernels, width: int, outputs: int, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    rows, weight, bias = torch.randn(70, width).to(dtype), torch.randn(outputs, width).to(dtype), torch.randn(outputs)
    bias = bias.to(dtype)
    expected = functional.linear(rows.double(), weight.double(), bias.double())
    alone = torch.cat([kernels.product(row[None], weight, bias) for row in rows])
    for count in COUNTS:
        assert torch.equal(kernels.product(rows[:count], weight, bias), alone[:count])
    tolerance = 1e-5 if dtype is torch.float32 else 1e-2
    torch.testing.assert_close(alone.double(), expected, rtol=tolerance, atol=tolerance * float(expected.abs().max()))
    torch.testing.assert_close(kernels.product(rows, weight), functional.linear(rows, weight), rtol=0.02, atol=0.3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_int8_products_are_sums_of_integers(kernels: NativeKernels, dtype: torch.dtype) -> None:
    if not kernels.tiles:
        pytest.skip("no tiles on this processor")
    torch.manual_seed(0)
    rows, bias, scales = torch.randn(50, 320).to(dtype), torch.randn(70).to(dtype), torch.rand(70) + 0.1
    rows[3] = 0
    weight = torch.randint(-127, 128, (70, 320), dtype=torch.int8)
    # A row has a scale for each 64 numbers, so that an outlier spoils those alone.
    blocks = rows.float().view(50, 5, 64)
    scale = blocks.abs().amax(2, keepdim=True).clamp_min(1e-30) / 127
    rounded = ((blocks / scale).round() * scale).view(50, 320)
    alone = torch.cat([kernels.product(row[None], weight, bias, scales) for row in rows])
    expected = rounded.double() @ weight.double().t() * scales + bias.double()
    # A number half-way between two integers may be rounded otherwise.
    assert (alone.double() - expected).abs().mean() < 1e-2 * expected.abs().mean()
    for count in COUNTS:
        assert torch.equal(kernels.product(rows[:count], weight, bias, scales), alone[:count])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("vocabulary", [5, 255, 256, 4096, 5003])
def test_the_largest_come_first_and_of_equal_ones_the_first(
    kernels: NativeKernels, vocabulary: int, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    rows = torch.randint(-40, 40, (7, vocabulary)).to(dtype)
    rows[2] = 1
    rows[3, 0] = float("nan")
    rows[4] = float("-inf")
    rows[5, 3:] = float("-inf")
    for count in (1, 4, 5):
        values, places = (torch.tensor(found) for found in kernels.largest(rows, count))
        expected, order = (
            rows.float().nan_to_num(float("-inf"), neginf=float("-inf")).sort(descending=True, stable=True)
        )
        assert torch.equal(values, expected[:, :count])
        assert torch.equal(places[expected[:, :count].isfinite()], order[:, :count][expected[:, :count].isfinite()])
        assert places.max() < vocabulary
        assert all(len({*row}) == count for row in places.tolist())
    first = kernels.argmax(rows)
    assert first == [row[0] for row in kernels.largest(rows, 1)[1]]
    assert [kernels.argmax_of_row(row) for row in rows] == first


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: NativeKernels) -> Callable[[], int]:
    """How often a library was linked by a compiler that writes empty files."""
    log, compiler = tmp_path / "log", tmp_path / "gcc"
    compiler.write_text(f'#!/bin/sh\necho "$*" >> {log}\nsleep 0.2\nwhile [ "$1" != -o ]; do shift; done\ntouch "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    return lambda: log.read_text().count(" -shared ")


def test_what_was_compiled_is_kept_and_two_that_need_it_at_once_compile_once(
    compilations: Callable[[], int], build_folder: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: compiled_library(), range(2))
    assert first is not None
    assert first == second == compiled_library()
    assert compilations() == 1
    assert os.listdir(build_folder) == [first.name]
    # Cut short, it would kill the process that loads it.
    first.write_bytes(first.read_bytes()[:-1])
    assert compiled_library() == first
    assert compilations() == 2


def test_compilers_end_with_a_process_that_is_killed(
    build_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, compiler = tmp_path / "begun", tmp_path / "gcc"
    compiler.write_text(f"#!/bin/sh\necho $$ >> {begun}\nsleep 300\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    code = "from decoding.native.build import compiled_library; compiled_library()"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not begun.exists() or len(begun.read_text().split()) < 3:
            time.sleep(0.05)
        assert len(os.listdir(build_folder)) == 1
        process.kill()
    while os.listdir(build_folder) or any(psutil.pid_exists(int(pid)) for pid in begun.read_text().split()):
        time.sleep(0.05)


def test_a_compiler_named_with_arguments_is_given_them(
    compilations: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"{tmp_path / 'gcc'} -O2 -DNAME='of two words'")
    assert compiled_library() is not None
    assert compilations() == 1
    monkeypatch.setenv("CC", f"{tmp_path / 'gcc'} -O1")  # another library
    assert compiled_library() is not None
    assert compilations() == 2


@pytest.mark.parametrize(
    "case",
    ["no compiler", "half a quotation", "a compiler that fails", "switched off", "a folder that is a file"],
)
def test_without_a_compiler_there_are_no_kernels(
    build_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    if case == "no compiler":
        monkeypatch.setenv("CC", "none-such")
    elif case == "half a quotation":
        monkeypatch.setenv("CC", "gcc '-O2")
    elif case == "switched off":
        monkeypatch.setenv("DECODING_NATIVE", "0")
    elif case == "a folder that is a file":
        build_folder.parent.write_text("")
    else:
        failing = tmp_path / "gcc"
        failing.write_text("#!/bin/sh\nexit 1\n")
        failing.chmod(0o755)
        monkeypatch.setenv("CC", str(failing))
    assert compiled_library() is None
    assert not build_folder.is_dir() or not os.listdir(build_folder)
    assert ("writable" in (compile_problem() or "")) == (case == "a folder that is a file")


def test_without_gcc_clang_is_taken_and_without_both_the_package_that_brings_a_compiler(
    build_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("decoding.native.build.find_spec", lambda name: None)
    assert compiled_library() is None
    assert compile_problem() == "no C compiler is here: install GCC or Clang, or pip install ziglang"
    clang, log = tmp_path / "bin" / "clang", tmp_path / "log"
    clang.parent.mkdir()
    clang.write_text(f'#!/bin/sh\necho "$*" >> {log}\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"\n')
    clang.chmod(0o755)
    assert compiled_library() is not None
    # Its own OpenMP runtime would compete with PyTorch's.
    commands = log.read_text().splitlines()
    assert all("-fopenmp-simd" in command for command in commands)
    assert [" -shared " in command for command in commands] == [False, False, False, True]
    interpreter = clang.rename(tmp_path / "python")
    monkeypatch.setattr("decoding.native.build.find_spec", lambda name: name)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    assert compiled_library() is not None
    assert log.read_text().splitlines()[-1].startswith("-m ziglang cc ")


@pytest.mark.skipif("not os.environ.get('ALL_COMPILERS')", reason="compiles for minutes: with ALL_COMPILERS=1")
@pytest.mark.parametrize("processor", ["native", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", f"{sys.executable} -m ziglang cc"])
def test_every_compiler_makes_kernels_that_pass_these_tests(tmp_path: Path, compiler: str, processor: str) -> None:
    found = shutil.which(compiler.split()[0]) and (len(compiler.split()) == 1 or find_spec("ziglang"))
    if not found or (processor != "native" and platform.machine() != "x86_64"):
        pytest.skip(f"no {compiler} here, or not for this processor")
    environment = {**os.environ, "CC": compiler, "DECODING_MARCH": processor, "ALL_COMPILERS": ""}
    tests = [str(Path(__file__).with_name(f"test_{name}.py")) for name in ("native_kernels", "packed", "int8")]
    options = ["-q", "-n", "0", "-rs", "--override-ini", f"cache_dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, *options], env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout
    assert "no C compiler here" not in done.stdout
