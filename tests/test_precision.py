"""The device and the number format: what is asked for, what is best, and what is not to be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoints import make_qwen2
from loads import load, refusal

from lade_chat.errors import DeviceError, OutOfMemoryError
from lade_chat.loading import precision, weights
from lade_chat.precision_names import DTYPES


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float64", "fp32", "bf16", "fp16", "half"])
def test_a_dtype_by_name_is_obeyed(name: str, tmp_path: Path) -> None:
    loaded = load(make_qwen2(tmp_path / "qwen2"), dtype=name)
    assert str(loaded.model.dtype) == f"torch.{loaded.info.dtype}"
    assert loaded.info.dtype == DTYPES[name]


def test_an_unknown_dtype_is_reported_with_the_valid_ones(tmp_path: Path) -> None:
    message = refusal(make_qwen2(tmp_path / "qwen2"), DeviceError, dtype="int3")
    assert "int3" in message
    assert all(name in message for name in ("float32", "bfloat16", "float16", "float64"))


@pytest.mark.parametrize("device", ["tpu", "meta", "cuda:99", "mps"])
def test_an_absent_or_unknown_device_is_reported(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert f"'{device}'" in refusal(make_qwen2(tmp_path / "qwen2"), DeviceError, device=device)


def test_a_cuda_index_beyond_the_last_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert precision.choose_device("cuda:1").index == 1
    with pytest.raises(DeviceError, match="cuda:0 to cuda:1"):
        precision.choose_device("cuda:2")


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu"), (True, False, "cuda")],
)
def test_the_best_device_is_chosen(cuda: bool, mps: bool, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert precision.choose_device(None).type == chosen


SMALL, BIG = precision.SMALL_MODEL_PARAMETERS - 1, precision.SMALL_MODEL_PARAMETERS


@pytest.mark.parametrize(
    ("device", "stored", "parameters", "bfloat16_is_fastest", "chosen"),
    [
        ("cuda", torch.bfloat16, SMALL, False, torch.bfloat16),
        ("cuda", torch.float16, BIG, False, torch.float16),
        ("mps", torch.float32, BIG, False, torch.float32),
        ("cpu", torch.bfloat16, SMALL, True, torch.float32),
        ("cpu", torch.bfloat16, BIG, True, torch.bfloat16),
        ("cpu", torch.float16, BIG, True, torch.bfloat16),
        ("cpu", torch.bfloat16, BIG, False, torch.float32),
        ("cpu", torch.float32, BIG, True, torch.float32),
        ("cpu", torch.float64, SMALL, True, torch.float64),
        # Ten times what the memory takes in float32.
        ("cpu", torch.float16, 25 * BIG, False, torch.bfloat16),
    ],
)
def test_the_dtype_rule(
    device: str,
    stored: torch.dtype,
    parameters: int,
    bfloat16_is_fastest: bool,
    chosen: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def choose(requested: torch.dtype | None) -> torch.dtype:
        def fastest() -> torch.dtype:
            return torch.bfloat16 if bfloat16_is_fastest else torch.float32

        return precision.choose_dtype(requested, torch.device(device), stored, parameters, fastest)

    monkeypatch.setattr(precision, "memory_bytes", lambda: 10 * BIG)
    assert choose(None) is chosen
    assert choose(torch.float16) is torch.float16


def test_auto_takes_the_dtype_whose_products_are_faster_and_measures_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, measured = make_qwen2(tmp_path / "qwen2"), []
    transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="bfloat16").save_pretrained(folder)
    monkeypatch.setattr(precision, "SMALL_MODEL_PARAMETERS", 0)

    def milliseconds(_config: object, stored: torch.dtype, dtype: torch.dtype) -> float:
        measured.append((stored, dtype))
        return 2.0 if dtype is torch.bfloat16 else 1.0

    assert load(folder, dtype="auto").info.dtype in ("bfloat16", "float32")
    assert set(precision.remembered_times(load(folder).model)) == {"bfloat16", "float32"}
    monkeypatch.setattr(precision, "FILE", "other-times")
    monkeypatch.setattr(precision, "product_milliseconds", milliseconds)
    assert [load(folder, dtype=name).info.dtype for name in ("auto", None)] == ["float32", "float32"]
    assert measured == [(torch.bfloat16, torch.bfloat16), (torch.bfloat16, torch.float32)]


@pytest.mark.parametrize("experts", [0, 8])
def test_float32_is_timed_by_the_weights_that_steps_in_c_read(experts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: set[torch.dtype] = set()

    class Kernels:
        def product(self, _: torch.Tensor, weight: torch.Tensor) -> None:
            kinds.add(weight.dtype)

    config: Any = transformers.MixtralConfig(hidden_size=64, intermediate_size=64, num_local_experts=experts)
    monkeypatch.setattr("decoding.native.kernels.native_kernels", Kernels)
    precision.product_milliseconds(config, torch.bfloat16, torch.float32)
    assert kinds == {torch.float32 if experts else torch.bfloat16}


def test_a_model_bigger_than_the_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    monkeypatch.setattr(weights, "memory_bytes", lambda: 1000)
    assert str(folder) in refusal(folder, OutOfMemoryError)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has …"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"),
    ],
)
def test_running_out_of_memory_is_reported(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    folder = make_qwen2(tmp_path / "qwen2")
    monkeypatch.setattr(transformers.Qwen2ForCausalLM, "from_pretrained", fail)
    message = refusal(folder, OutOfMemoryError)
    assert str(folder) in message
    assert "memory" in message
