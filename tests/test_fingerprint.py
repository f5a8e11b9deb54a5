"""No edit of a tensor goes by its fingerprint, wherever the tensor lies and whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from decoding.model.fingerprint import fingerprint_of

SHAPES = [(96, 46), (97, 47), (300, 320), (40, 2000), (2000, 40), (5000,), (7, 3, 256), (3,)]
DTYPES = [torch.float32, torch.bfloat16, torch.float64, torch.uint8]


def columns_exchanged(tensor: torch.Tensor) -> None:
    tensor[..., :4] = tensor[..., [2, 3, 0, 1]]


EDITS: dict[str, Callable[[torch.Tensor], object]] = {
    "the first element": lambda tensor: tensor.view(-1)[0].add_(1),
    "the last element": lambda tensor: tensor.view(-1)[-1].add_(1),
    "another element": lambda tensor: tensor.view(-1)[len(tensor.view(-1)) // 3].add_(1),
    "rows rolled": lambda tensor: tensor.copy_(tensor.roll(1, 0)),
    "rows exchanged": lambda tensor: tensor.copy_(tensor.flip(0)),
    "columns rolled": lambda tensor: tensor.copy_(tensor.roll(1, -1)),
    "pairs of columns exchanged": columns_exchanged,
    "both rolled": lambda tensor: tensor.copy_(tensor.roll(1, 0).roll(1, -1)),
    "negated": lambda tensor: tensor.mul_(-1),
    "a block": lambda tensor: tensor.view(-1)[1:3].add_(2),
}


def random_tensor(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    numbers = torch.randn(shape) * 60
    return numbers.abs().to(dtype) if dtype is torch.uint8 else numbers.to(dtype)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_noticed_in_the_tensor_where_it_was_made(edit: Callable[[torch.Tensor], object]) -> None:
    torch.manual_seed(0)
    for dtype in DTYPES:
        for shape in SHAPES:
            if len(shape) == 1 and shape[0] < 4 and edit is columns_exchanged:
                continue
            tensors = [random_tensor(shape, dtype) for _ in range(3)]
            before = fingerprint_of(tensors)
            assert fingerprint_of(tensors).differences(before) == set()
            edit(tensors[1])
            assert fingerprint_of(tensors).differences(before) == {1}, (shape, dtype)


def test_transposed_tensors_and_parts_of_larger_ones_are_read_too() -> None:
    torch.manual_seed(0)
    for width in (46, 47, 48):
        whole = torch.randn(1 + 96 * width).bfloat16()
        for tensor in (whole[1:].view(96, width), torch.randn(96, width).t(), torch.randn(96, width)[:, 3:]):
            before = fingerprint_of([tensor])
            tensor[3, 5] = 0
            assert fingerprint_of([tensor]).differences(before) == {0}


def test_not_a_number_equals_itself() -> None:
    tensors = [torch.full((40, 40), torch.nan), torch.full((3,), torch.nan)]
    assert fingerprint_of(tensors).differences(fingerprint_of(tensors)) == set()


def test_what_has_no_memory_counts_for_nothing() -> None:
    tensors = [torch.empty(3, device="meta"), torch.empty(0), torch.eye(3).to_sparse()]
    assert fingerprint_of(tensors).differences(fingerprint_of(tensors)) == set()
