"""Packed weights: exactly the file's numbers, products that do not depend on the rows beside them, whole steps in C.

With ``DECODING_MARCH=x86-64-v3`` in the environment, these tests hold the kernels for AVX2 alone, with ``x86-64-v4``
those for AVX-512 without products of bytes.
"""

from __future__ import annotations

import copy
import mmap
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, Session, quantize
from decoding.model.capabilities import capabilities_of
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.native.kernels import native_kernels
from decoding.native.packed_weight import Packing
from decoding.native.weight_memory import ALIGNMENT, WeightMemory
from decoding.native_forward.model_structures import NativeForward
from decoding.native_forward.native_check import why_not_native
from decoding.native_forward.native_prefix import NativePrefix
from decoding.quantization.packed import PackedEmbedding, PackedLinear
from decoding.runner import runner_of
from tests.packed_blocks import packed, random_blocks, values

pytestmark = pytest.mark.skipif(native_kernels() is None, reason="needs a C compiler")
SHAPE = (72, 768)  # outputs that do not fill their last group


@pytest.mark.parametrize("packing", Packing)
def test_rows_are_exactly_what_the_files_blocks_mean(packing: Packing) -> None:
    blocks = random_blocks(packing, SHAPE)
    weight = packed(packing, blocks, SHAPE)
    assert torch.equal(weight.rows(range(SHAPE[0])), values(packing, blocks))
    padding = 80 / 72
    assert weight.nbytes <= 1.1 * padding * blocks.nbytes


def rounded(rows: torch.Tensor) -> torch.Tensor:
    """Return rows as their integers mean them: rounded by blocks of 32."""
    by_block = rows.float().view(len(rows), -1, 32)
    largest = by_block.abs().amax(-1, keepdim=True)
    return ((by_block * (127 / largest)).round() * (largest / 127)).view(rows.shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("packing", Packing)
def test_a_product_is_of_the_rounded_rows_whatever_stands_beside_them(packing: Packing, dtype: torch.dtype) -> None:
    blocks = random_blocks(packing, SHAPE)
    weight, generator = packed(packing, blocks, SHAPE), torch.Generator().manual_seed(0)
    rows, bias = (torch.randn(shape, generator=generator).to(dtype) for shape in ((90, SHAPE[1]), (SHAPE[0],)))
    product = weight.product(rows, bias)
    expected = rounded(rows).double() @ values(packing, blocks).double().t() + bias.double()
    tolerance = expected.square().mean().sqrt() * (1e-5 if dtype == torch.float32 else 3e-2)
    assert (product - expected).abs().max() < tolerance
    for count in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 25, 33):
        assert torch.equal(weight.product(rows[-count:], bias), product[-count:])


@pytest.mark.parametrize("packing", Packing)
def test_a_fine_product_is_of_rows_in_sixteen_bits(packing: Packing) -> None:
    blocks = random_blocks(packing, SHAPE)
    weight = packed(packing, blocks, SHAPE)
    weight.is_fine = True
    rows = torch.randn(90, SHAPE[1], generator=torch.Generator().manual_seed(0))
    product, expected = weight.product(rows), rows.double() @ values(packing, blocks).double().t()
    assert (product - expected).abs().max() < 2e-4 * expected.std()  # a hundredth of what 8 bits make it
    for count in (1, 2, 3, 4, 5, 8, 9, 16, 17, 25, 33):
        assert torch.equal(weight.product(rows[-count:]), product[-count:])


def test_a_row_that_is_no_number_stays_none_and_spoils_no_other() -> None:
    weight = packed(Packing.Q4_0, random_blocks(Packing.Q4_0, SHAPE), SHAPE)
    for count in (3, 20):
        rows = torch.randn(count, SHAPE[1], generator=torch.Generator().manual_seed(0))
        whole = weight.product(rows)
        rows[0, 7], rows[1, 5] = torch.inf, torch.nan
        product = weight.product(rows)
        assert product[:2].isnan().all()
        assert torch.equal(product[2:], whole[2:])


def test_weights_of_a_model_lie_apart_also_where_no_huge_pages_are_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> mmap.mmap:
        raise OSError

    for granted in (True, False):
        if not granted:
            monkeypatch.setattr(mmap, "mmap", refused)
        memory = WeightMemory()
        taken = [memory.take(size) for size in (1, 64, 65, 70_000_000, 3)]
        assert [len(room) for room in taken] == [1, 64, 65, 70_000_000, 3]
        places = sorted((room.data_ptr(), len(room)) for room in taken)
        assert all(place % ALIGNMENT == 0 for place, _ in places)
        assert all(place + size <= after for (place, size), (after, _) in pairwise(places))


def test_weights_that_cannot_be_laid_out_are_refused() -> None:
    blocks = random_blocks(Packing.Q4_K, SHAPE)
    with pytest.raises(ValueError, match="rows of 288 numbers are not divided by Q4_K's blocks of 256"):
        packed(Packing.Q4_K, blocks, (192, 288))
    blocks[3, 1] = 0x7C  # the high byte of a scale: infinite
    with pytest.raises(ValueError, match="infinite or not a number"):
        packed(Packing.Q4_K, blocks, SHAPE)
    weight = packed(Packing.Q8_0, random_blocks(Packing.Q8_0, SHAPE), SHAPE)
    with pytest.raises(IndexError, match="weight of 72 rows"):
        weight.rows([72])


def packed_llama(packing: Packing) -> LlamaForCausalLM:
    """Return a small Llama whose matrices are packed, of values that make no logits explode."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=96, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    for number, (name, module) in enumerate(list(model.named_modules())):
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            shape = tuple(module.weight.shape)
            weight = packed(packing, random_blocks(packing, shape, number), shape)
            made = PackedLinear(weight) if isinstance(module, torch.nn.Linear) else PackedEmbedding(weight)
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, made)
    return model


@pytest.mark.parametrize("packing", [Packing.Q4_0, Packing.Q8_0, Packing.Q2_K, Packing.Q6_K, Packing.IQ4_XS])
def test_steps_in_c_say_what_the_modules_say(packing: Packing) -> None:
    model = packed_llama(packing)
    assert why_not_native(model, capabilities_of(model)) is None
    prompt = torch.randint(0, 96, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    plain = AutoregressiveDecoder(model)
    said = [token for step in plain.generate(prompt, max_new_tokens=24) for token in step.tokens]
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *said]])).logits[0, len(prompt) - 1 : -1]
    chosen = logits.gather(-1, torch.tensor(said)[:, None])[:, 0]
    # Activations may round to neighbouring integers; where two keys tie, a head of such weights sees one of them alone.
    assert (logits.amax(-1) - chosen < 0.1 * logits.std()).float().mean() > 0.9
    ahead = LookaheadDecoder(model, LookaheadConfig(4, 4, 4))
    assert [token for step in ahead.generate(prompt, max_new_tokens=24) for token in step.tokens] == said


def test_the_largest_logits_are_of_rows_as_they_are() -> None:
    """Rounded to int8 like the others', they would often come in another order."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2000, hidden_size=256, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    blocks = random_blocks(Packing.Q4_0, (2000, 256))
    model.lm_head = PackedLinear(packed(Packing.Q4_0, blocks, (2000, 256)))
    text = torch.randint(0, 2000, (40,)).tolist()
    pattern = torch.ones(40, 40).tril().bool().numpy().tobytes()
    prefix = Session(model).prefix
    assert isinstance(prefix, NativePrefix)
    found = prefix.branch_logits(StepInputs(text, list(range(40)), pattern, list(range(40))))
    with torch.inference_mode():
        hidden = model.model(torch.tensor([text])).last_hidden_state[0]
        expected = functional.linear(hidden, values(Packing.Q4_0, blocks))
    largest, places = found.topk(4)
    scale = float(expected.std())
    torch.testing.assert_close(largest, expected.gather(-1, places), rtol=0, atol=1e-3 * scale)
    assert (found - expected).abs().max() > 1e-2 * scale
    assert torch.equal(largest[:, 0], found.gather(-1, expected.argmax(-1, keepdim=True))[:, 0])


def test_values_are_cached_in_half_precision_and_widened_for_transformers() -> None:
    model = packed_llama(Packing.Q8_0)
    kernels, text = native_kernels(), torch.randint(0, 96, (70,), generator=torch.Generator().manual_seed(1))
    assert kernels is not None
    forward, layer = NativeForward(model, kernels), model.model.layers[0]
    prefix = NativePrefix(model, capabilities_of(model), lambda: forward)
    said = prefix.next_logits(text.tolist())
    cached = prefix.cache.layers[0].values
    assert cached is not None
    assert cached.dtype == torch.float16
    with torch.inference_mode():
        exact = layer.self_attn.v_proj(layer.input_layernorm(model.model.embed_tokens(text[None])))
        assert torch.allclose(cached.float(), exact.view(1, 70, 2, 64).transpose(1, 2), rtol=1e-3, atol=0.1)
        after = KVPrefix(model, capabilities_of(model), prefix.cache).next_logits([3])  # read by transformers
    assert after.dtype == torch.float32
    prefix.rewind(70)
    distance = (prefix.next_logits([3]) - after).square().mean().sqrt()
    assert distance < 0.1 * said.std()


@pytest.mark.parametrize("read_before", [0, 10])
def test_the_cache_keeps_its_dtype_where_transformers_reads(read_before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoding.model.kv_cache.GROWTH", 100)
    model, text = packed_llama(Packing.Q8_0), list(range(90)) * 4
    prefix = runner_of(model).new_prefix()
    prefix.next_logits(text)
    expected = prefix.next_logits([3])
    prefix = runner_of(model).new_prefix()
    if read_before:
        prefix.next_logits(text[:read_before])
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    prefix.next_logits(text[read_before:])  # more than its buffers have room for
    hook.remove()
    assert (prefix.next_logits([3]) - expected).norm() < 0.1 * expected.norm()


def test_a_step_over_more_tokens_than_are_read_at_once_is_that_of_plain_steps() -> None:
    model, text = packed_llama(Packing.Q8_0), [index % 96 for index in range(1030)]
    prefix, places = runner_of(model).new_prefix(), [*range(1030)]
    expected = [prefix.next_logits(part) for part in (text[:700], text[700:])][-1]
    prefix.rewind(0)
    pattern = torch.ones(1030, 1030).tril().bool().numpy().tobytes()
    assert torch.equal(prefix.branch_logits(StepInputs(text, places, pattern, [1029]))[0], expected)


def test_the_forward_pass_knows_that_it_is_packed_and_copies_share_the_weights() -> None:
    model = packed_llama(Packing.Q5_0)
    kernels = native_kernels()
    assert kernels is not None
    assert NativeForward(model, kernels).is_packed
    other = copy.deepcopy(model)
    assert other.lm_head.packed is model.lm_head.packed


def test_what_packed_weights_cannot_do_is_refused_in_a_line() -> None:
    model, text = packed_llama(Packing.Q8_0), torch.tensor([[1, 2, 3]])
    peft = pytest.importorskip("peft")
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (NotImplementedError, "is not saved", lambda: model.state_dict()),
        (NotImplementedError, "stays on the CPU", lambda: model.to("meta")),
        (NotImplementedError, "is quantised already", lambda: quantize(model)),
        (RuntimeError, "does not require grad", lambda: model.train()(text, labels=text).loss.backward()),
        (ValueError, r"Target module PackedLinear\(.*\) is not supported", lambda: peft.get_peft_model(model, lora)),
    ]
    lora = peft.LoraConfig(target_modules=["q_proj"])
    for kind, told, ask in refused:
        with pytest.raises(kind, match=told) as caught:
            ask()
        assert str(caught.value).isprintable()
