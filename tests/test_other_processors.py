"""The kernels in C as a program: for another processor, run by an emulator, and under sanitizers on this one.

They take minutes to compile. ``OTHER_PROCESSORS=1`` is AArch64, with dot products and without; it needs the ``ziglang``
package or a cross GCC, and ``qemu-aarch64``. ``SANITIZE=1`` ends a call at a wrong address or undefined behaviour.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM

from decoding.native.build import FLAGS, FOLDER
from decoding.native.packed_weight import Packing
from tests.packed_blocks import random_blocks, values

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("other processors")]
Call = Callable[..., torch.Tensor]
ZIG = f"{shlex.quote(sys.executable)} -m ziglang cc -target aarch64-linux-musl -mcpu="
GCC = "aarch64-linux-gnu-gcc -march="
# Among checks a compiler contracts some forms of a loop and not others, and rows would differ in the last bit.
SANITIZERS = "-march=native -g -fsanitize=address,undefined -fno-sanitize-recover=all -ffp-contract=off"
COMPILERS = {
    "zig": f"{ZIG}generic",
    "zig, dot products": f"{ZIG}generic+dotprod",
    "GCC": f"{GCC}armv8-a",
    "GCC, dot products": f"{GCC}armv8.2-a+dotprod",
    "GCC, sanitizers": "gcc",
    "Clang, sanitizers": "clang",
}
PRODUCT, UNPACK, STEP, HALF_STEP, EXPERT_STEP = range(5)
COUNTS = 1, 2, 3, 5, 8, 17
DTYPES = {torch.float32: 0, torch.bfloat16: 1}


def _switched(name: str) -> Any:
    switch = "SANITIZE" if "sanitizers" in name else "OTHER_PROCESSORS"
    off = pytest.mark.skipif(not os.environ.get(switch), reason=f"compiles for minutes: with {switch}=1")
    return pytest.param(name, marks=off)


@pytest.fixture(scope="module", params=map(_switched, COMPILERS))
def call(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Calls a kernel: with its numbers, its tensors, and the result's shape and dtype."""
    command, sanitized = shlex.split(COMPILERS[request.param]), "sanitizers" in request.param
    emulator = [] if sanitized else ["qemu-aarch64", "-cpu", "max"]
    if not all(map(shutil.which, (command[0], *emulator[:1]))) or ("zig" in request.param and not find_spec("ziglang")):
        pytest.skip("no such compiler, or no qemu-aarch64")
    program = tmp_path_factory.mktemp("driver") / "driver"
    flags = [*(flag for flag in FLAGS if flag not in ("-fPIC", "-shared")), "-fopenmp-simd", f"-I{FOLDER}"]
    flags += SANITIZERS.split() if sanitized else ["-static"]
    driver = Path(__file__).with_name("kernels_driver.c")
    subprocess.run([*command, *flags, "-o", str(program), str(driver), "-lm", "-lpthread"], check=True)

    def run(
        numbers: tuple[int, ...], tensors: list[torch.Tensor], shape: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        given = struct.pack("8q", *numbers, *[0] * (8 - len(numbers)))
        given += b"".join(tensor.contiguous().view(torch.uint8).numpy().tobytes() for tensor in tensors)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([*emulator, str(program)], input=given, capture_output=True, env=environment, check=False)
        assert not done.returncode, done.stderr.decode()
        return torch.frombuffer(bytearray(done.stdout), dtype=dtype).view(shape)

    return run


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products(call: Call, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    rows, weight = torch.randn(17, 200).to(dtype), torch.randn(70, 200).to(dtype)
    expected = rows.double() @ weight.double().t()
    firsts: list[torch.Tensor] = []
    for count in COUNTS:
        numbers = PRODUCT, DTYPES[dtype], count, 70, 200, 0, weight.nbytes
        product = call(numbers, [weight, rows[:count]], (count, 70), dtype)
        firsts.append(product[0])
    assert all(torch.equal(first, firsts[0]) for first in firsts)
    tolerance = 1e-5 if dtype is torch.float32 else 1e-2
    torch.testing.assert_close(product.double(), expected, rtol=tolerance, atol=tolerance * float(expected.abs().max()))


@pytest.mark.parametrize("packing", Packing)
def test_packed_weights(call: Call, packing: Packing) -> None:
    blocks = random_blocks(packing, (72, 512))
    unpacked = call((UNPACK, 0, 0, 72, 512, packing, blocks.nbytes), [blocks], (72, 512), torch.float32)
    assert torch.equal(unpacked, values(packing, blocks))
    rows = torch.randn(17, 512, generator=torch.Generator().manual_seed(0))
    by_block = rows.view(17, -1, 32)
    largest = by_block.abs().amax(-1, keepdim=True)
    rounded = ((by_block * (127 / largest)).round() * (largest / 127)).view(17, 512)
    expected = rounded.double() @ unpacked.double().t()
    firsts: list[torch.Tensor] = []
    for count in COUNTS:
        numbers = PRODUCT, 0, count, 72, 512, packing, blocks.nbytes
        product = call(numbers, [blocks, rows[:count]], (count, 72), torch.float32)
        firsts.append(product[0])
    assert all(torch.equal(first, firsts[0]) for first in firsts)
    assert (product - expected).abs().max() < expected.square().mean().sqrt() * 1e-5


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [(STEP, 1e-5), (HALF_STEP, 1e-3), (EXPERT_STEP, 1e-5)],
    ids=["float32", "float16", "experts"],
)
def test_a_step_of_a_model(call: Call, kind: int, tolerance: float) -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 96, "hidden_size": 128, "intermediate_size": 160, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True, "rms_norm_eps": 1e-5,
    }  # fmt: skip
    model: Any = LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    if kind == EXPERT_STEP:
        model = MixtralForCausalLM(MixtralConfig(**sizes, num_local_experts=4, num_experts_per_tok=2)).eval()
        for layer in model.model.layers:
            layer.mlp.gate.weight.data.normal_()  # one of two experts with equal scores would be chosen by rounding
    ids, places = torch.randint(0, 96, (1, 13)), torch.arange(13)
    with torch.no_grad():
        expected = model(ids).logits[0]
        cos, sin = (table[0] for table in model.model.rotary_emb(torch.zeros(1), places[None]))
    layers = [
        weight
        for layer in model.model.layers
        for weight in (
            layer.input_layernorm.weight, layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight,
            layer.self_attn.v_proj.weight, layer.self_attn.o_proj.weight, layer.post_attention_layernorm.weight,
            *layer.mlp.parameters(),
        )
    ]  # fmt: skip
    weights = [weight.detach() for weight in (model.model.embed_tokens.weight, *layers, model.model.norm.weight)]
    steps: dict[int, torch.Tensor] = {}
    for count in (1, 4, 13):
        seen = torch.tril(torch.ones(count, count, dtype=torch.uint8))
        tensors = [cos[:count], sin[:count], seen, ids[0, :count], places[:count], *weights]
        steps[count] = call((kind, count, 2, 128, 160, 4, 2, 96), tensors, (count, 96), torch.float32)
    assert all(torch.equal(logits, steps[13][:count]) for count, logits in steps.items())
    torch.testing.assert_close(steps[13], expected, rtol=1e-4, atol=tolerance)
    assert kind != HALF_STEP or not torch.equal(steps[13], expected)
