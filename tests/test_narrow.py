"""Weights in 16 bits with float32 activations: products of the very numbers, or of rows rounded to bfloat16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, load_gguf
from decoding.model.capabilities import capabilities_of
from decoding.native.kernels import native_kernels
from decoding.native.weight_memory import WeightMemory, copy_for_products, is_in_tile_order, rows_of, shape_of
from decoding.native_forward.model_structures import NativeForward
from decoding.native_forward.native_check import matches_transformers, why_not_native
from decoding.quantization.narrow import NarrowLinear
from tests.gguf_format.models import small_model, write_model

needs_kernels = pytest.mark.skipif(native_kernels() is None, reason="needs a C compiler")
EVERY_HALF = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@needs_kernels
def test_every_float16_number_is_multiplied_as_it_is() -> None:
    finite = EVERY_HALF[EVERY_HALF.isfinite()]
    weight = finite[: len(finite) // 70 * 70].view(-1, 70).contiguous()
    assert torch.equal(NarrowLinear(weight)(torch.eye(70)), weight.t().float())


@needs_kernels
@pytest.mark.parametrize("width", [70, 128])
def test_a_product_by_float16_is_of_these_numbers_whatever_stands_beside_a_row(width: int) -> None:
    rows, weight, bias = randn(33, width), randn(75, width, seed=1).half(), randn(75, seed=2)
    product = NarrowLinear(weight, bias)(rows)
    torch.testing.assert_close(product.double(), rows.double() @ weight.double().t() + bias, rtol=0, atol=1e-5)
    for count in (1, 2, 3, 5, 8, 16):
        assert torch.equal(NarrowLinear(weight, bias)(rows[-count:]), product[-count:])


needs_tiles = pytest.mark.skipif(not getattr(native_kernels(), "tiles", False), reason="no tiles on this processor")


@needs_tiles
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(32, 32), (96, 160), (8192, 544)])
def test_tile_order_changes_no_bit_of_a_product(shape: tuple[int, int], dtype: torch.dtype) -> None:
    weight, bias = randn(*shape).bfloat16(), randn(shape[0], seed=1)
    tiled = copy_for_products(weight, WeightMemory(), tiles=True)
    assert is_in_tile_order(tiled)
    assert shape_of(tiled) == shape
    assert torch.equal(rows_of(tiled), weight)
    for count in (1, 5, 16, 17, 32, 33, 70, 200):
        rows = randn(count, shape[1], seed=count).to(dtype)
        assert torch.equal(NarrowLinear(tiled, bias)(rows), NarrowLinear(weight, bias)(rows))


def test_a_weight_of_other_sizes_is_copied_row_by_row() -> None:
    for shape in ((33, 64), (64, 48)):
        weight = randn(*shape)
        copied = copy_for_products(weight, WeightMemory(), tiles=True)
        assert not is_in_tile_order(copied)
        assert torch.equal(copied, weight.bfloat16())


def test_weights_in_tile_order_are_multiplied_by_pytorch_and_saved_as_in_rows() -> None:
    weight, rows = randn(64, 96).bfloat16(), randn(3, 96).double()
    layer = NarrowLinear(copy_for_products(weight, WeightMemory(), tiles=True))
    assert torch.equal(layer(rows), torch.nn.functional.linear(rows, weight.double()))
    assert torch.equal(layer.state_dict()["weight"], weight)


@needs_kernels
@pytest.mark.parametrize("inner", [96, 80])
def test_parts_of_a_weight_are_multiplied_in_either_order(inner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gate and up layers are halves of one, of 96 outputs in tile order, of 80 not."""
    monkeypatch.setattr("decoding.native_forward.model_structures.LARGE", 0)
    model = small_model("phi3", intermediate_size=inner)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    capabilities, kernels = capabilities_of(model), native_kernels()
    forward = NativeForward(model, kernels) if kernels and why_not_native(model, capabilities) is None else None
    assert forward is not None
    assert forward.copied_bytes
    assert matches_transformers(model, capabilities, forward)


def test_other_activations_are_multiplied_by_pytorch() -> None:
    rows, layer = randn(2, 64).bfloat16(), NarrowLinear(randn(3, 64).half())
    assert torch.equal(layer(rows), torch.nn.functional.linear(rows, layer.get_buffer("weight").bfloat16()))


@pytest.mark.parametrize(("kind", "dtype"), [("F16", torch.float16), ("BF16", torch.bfloat16)])
def test_a_file_in_16_bits_stays_so_and_its_steps_run_in_c(kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    model: Any
    model, _ = load_gguf(write_model(tmp_path / "model.gguf", "llama", small_model("llama"), kind=kind))
    matrices = [tensor for _, tensor in model.named_buffers() if tensor.dim() > 1]
    assert {tensor.dtype for tensor in matrices} == {dtype}
    assert all(parameter.dim() == 1 for parameter in model.parameters())
    kernels = native_kernels()
    if kernels is not None:
        assert why_not_native(model, capabilities_of(model)) is None
        assert NativeForward(model, kernels).copied_bytes == 0
    prompt = [5, 17, 80, 3, 200, 41, 41, 7]
    plain, ahead = (
        [token for step in decoder.generate(prompt, max_new_tokens=24) for token in step.tokens]
        for decoder in (AutoregressiveDecoder(model), LookaheadDecoder(model, LookaheadConfig(4, 4, 4)))
    )
    assert ahead == plain


@needs_kernels
@pytest.mark.parametrize("width", [70, 75, 128, 544])
def test_a_product_by_bfloat16_is_of_rows_as_they_are_or_rounded_to_it(width: int) -> None:
    """They are rounded on processors that multiply pairs of bfloat16; a row's product is the same beside any others."""
    rows, weight, bias = randn(200, width), randn(96, width, seed=1).bfloat16(), randn(96, seed=2)
    layer = NarrowLinear(weight, bias)
    product = layer(rows)
    wanted = [given.double() @ weight.double().t() + bias for given in (rows, rows.bfloat16())]
    assert min(float((product - each).abs().max()) for each in wanted) < 1e-4
    for count in (1, 2, 3, 5, 8, 16, 33, 70):
        assert torch.equal(layer(rows[-count:]), product[-count:])
