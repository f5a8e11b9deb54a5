"""NativeKernels: the kernels in C, called with tensors."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, Array, byref, c_double, c_float, c_int, c_int64, c_long, c_uint64, c_void_p
from functools import lru_cache

import torch
from torch.nn import functional

from decoding.native.build import compiled_library
from decoding.native.ranked_rows import RankedRows, ranks_of
from decoding.native.structures import Linear, Transformer
from decoding.native.weight_memory import is_in_tile_order, shape_of

DTYPES = {torch.float32: 0, torch.bfloat16: 1}
"""The dtypes of activations, as they are numbered in C."""
CACHE_DTYPES = {**DTYPES, torch.float16: 3}
"""Likewise those of keys and values in the cache."""
NARROW = {torch.bfloat16: 1, torch.float16: 3}
"""The dtypes in 16 bits of weights whose activations are float32."""
NO_MEMORY = "there is not enough memory for a step"


class NativeKernels:
    """Products of a few rows, and steps of Llama and its kin, in float32 or bfloat16 on the CPU.

    Results are batch-invariant: a row's is the same, bit for bit, however many rows it is computed with. There is no
    autograd support.

    Attributes:
        tiles: True if the processor has AMX and the operating system permits its use.
        library: the compiled code.
    """

    def __init__(self, library: CDLL) -> None:
        self.library = library
        self.tiles = bool(library.can_use_tiles())
        self._multiply, self._run_step, self._largest = library.multiply, library.run_step, library.largest
        self._move_tokens, self._round_weight = library.move_tokens, library.round_weight
        self._move_tokens.argtypes = [c_void_p, c_void_p, c_long, c_long]
        self._multiply.argtypes = [c_void_p, c_void_p, c_void_p, c_int, c_long, c_int, c_int]
        self._run_step.argtypes = [
            *[c_void_p] * 3, c_long, c_long, *[c_void_p] * 3, c_long, c_void_p, c_long, c_void_p, c_void_p
        ]  # fmt: skip
        self._largest.argtypes = [c_void_p, c_int, c_long, c_long, c_long, c_void_p, c_void_p, c_int]
        self._round_weight.argtypes = [c_void_p, c_int, c_long, c_long, c_int, c_void_p, c_void_p, c_int]
        library.packed_bytes.argtypes, library.packed_bytes.restype = [c_int, c_long, c_long], c_long
        library.repack.argtypes = [c_int, c_void_p, c_long, c_long, c_void_p, c_int]
        library.unpack_rows.argtypes = [c_void_p, c_void_p, c_long, c_long, c_void_p]
        self._draw = library.draw
        self._draw.argtypes = [c_void_p, c_int, c_long, c_uint64, c_long, c_float, c_long, c_double, c_float]
        self._draw.restype = c_long
        for function in (self._largest, self._move_tokens, self._round_weight):
            function.restype = None

    def product(
        self,
        rows: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        scales: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return rows Wᵀ + b, shape (…, out).

        Args:
            rows: shape (…, in). With an int8 weight each is rounded to int8, with a scale of its own.
            weight: shape (out, in), contiguous, in the dtype of the rows, for float32 rows in 16 bits, or, with tiles,
                in int8, out at least 32 and in a multiple of 64.
            bias: shape (out,), in the dtype of the rows.
            scales: of the rows of an int8 weight, float32, shape (out,).

        Raises:
            MemoryError: there is not enough memory to pack the rows.
        """
        return self.multiply(rows, linear(weight, bias, scales, rows.dtype))

    def multiply(self, rows: torch.Tensor, layer: Linear) -> torch.Tensor:
        """Return the outputs of a linear layer for rows of shape (…, in); raises as :meth:`product`."""
        rows = rows.contiguous()
        product = rows.new_empty((*rows.shape[:-1], layer.N))
        if not self._multiply(
            byref(layer), rows.data_ptr(), product.data_ptr(), DTYPES[rows.dtype],
            rows.numel() // rows.shape[-1], torch.get_num_threads(), self.tiles,
        ):  # fmt: skip
            raise MemoryError(NO_MEMORY)
        return product

    def step(
        self,
        model: Transformer,
        tokens: Sequence[int],
        embedded: torch.Tensor | None,
        cached: int,
        visible: bytes,
        depths: Array[c_int64],
        read: Array[c_int64],
        logits: RankedRows,
    ) -> None:
        """Run one forward pass over T tokens; their keys and values are written behind the cached ones.

        Args:
            model: with the addresses of weights and cache, which has room for T tokens more.
            tokens: their ids.
            embedded: their embeddings, shape (T, width), contiguous, overwritten; None if the model holds them.
            cached: the number of tokens in the cache; every token of the step attends to them.
            visible: the attention mask among the step's tokens, T · T bytes, row by query.
            depths: the tokens' positions, counted from the end of the cached ones.
            read: the rows whose logits are needed.
            logits: where these are written, with room for ``len(read)`` rows.

        Raises:
            IndexError: an id has no embedding; nothing was written.
            MemoryError: there is not enough memory; the logits, keys and values written so far are invalid.
        """
        done = self._run_step(
            byref(model), integers(tokens), None if embedded is None else embedded.data_ptr(), len(tokens), cached,
            visible, depths, read, len(read), logits.address, logits.ranked, logits.values, logits.places,
        )  # fmt: skip
        if done < 0:
            raise MemoryError(NO_MEMORY)
        if not done:
            raise IndexError(f"among the tokens {[*tokens]} is one without an embedding")

    def move_tokens(self, model: Transformer, places: Sequence[int], to: int) -> None:
        """Move cached tokens to consecutive places from ``to`` on.

        Args:
            places: the tokens' present places, ascending, none before its new place.
        """
        self._move_tokens(byref(model), integers(places), len(places), to)

    def largest(self, rows: torch.Tensor, count: int) -> tuple[list[list[float]], list[list[int]]]:
        """Return the ``count`` largest values of each row, in descending order, and their indices; ties by index.

        Args:
            rows: shape (rows, n) or, for one row, (n,), contiguous.
            count: at most n.
        """
        shape = rows.shape
        height = shape[0] if len(shape) > 1 else 1
        values, places = _float_array(height * count)(), _integer_array(height * count)()
        self._search(rows, (height, shape[-1]), count, values, places)
        if height == 1:
            return [values[:]], [places[:]]
        starts = range(0, height * count, count)
        return [values[at : at + count] for at in starts], [places[at : at + count] for at in starts]

    def argmax_of_row(self, row: torch.Tensor) -> int:
        """Return the argmax of one row, shape (n,); of equal values, the first."""
        place = c_int64()
        self._largest(row.data_ptr(), DTYPES[row.dtype], 1, row.numel(), 1, None, byref(place), 1)
        return place.value

    def argmax(self, rows: torch.Tensor) -> list[int]:
        """Return the argmax of each row; of equal values, the first.

        Args:
            rows: shape (rows, n), contiguous.
        """
        places = _integer_array(rows.shape[0])()
        self._search(rows, rows.shape, 1, None, places)
        return places[:]

    def draw(
        self, row: torch.Tensor, at: tuple[int, int], temperature: float, top_k: int, top_p: float, log_min_p: float
    ) -> int:
        """Draw a token from the softmax of a row of logits over a temperature, truncated.

        Args:
            row: shape (vocabulary,), contiguous.
            at: the seed, and the token's position in the text; together they determine the noise.
            temperature: above 0.
            top_k: 0 for no limit.
            top_p: 1 for no limit.
            log_min_p: the logarithm of min-p; -inf for no limit.

        Raises:
            MemoryError: there is not enough memory to sort tokens.
        """
        seed, position = at
        limits = temperature, top_k, top_p, log_min_p
        ranks = ranks_of(row)
        # Between steps PyTorch takes as long to tell these as the draw takes.
        address, size = (row.data_ptr(), len(row)) if ranks is None else (ranks.address, ranks.vocabulary)
        drawn: int = self._draw(address, DTYPES[row.dtype], size, seed % (1 << 64), position, *limits)
        if drawn < 0:
            raise MemoryError(NO_MEMORY)
        return drawn

    def _search(
        self, rows: torch.Tensor, shape: Sequence[int], count: int, values: object, places: Array[c_int64]
    ) -> None:
        threads = torch.get_num_threads()
        self._largest(rows.data_ptr(), DTYPES[rows.dtype], *shape, count, values, places, threads)

    def quantize(self, weight: torch.Tensor, largest: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Quantise a contiguous weight, shape (out, in), to int8 in ±``largest``; return it and its row scales."""
        integers, scales = torch.empty(weight.shape, dtype=torch.int8), torch.empty(len(weight))
        self._round_weight(
            weight.data_ptr(), DTYPES[weight.dtype], *weight.shape, largest, integers.data_ptr(), scales.data_ptr(),
            torch.get_num_threads(),
        )  # fmt: skip
        return integers, scales


def integers(values: Sequence[int]) -> Array[c_int64]:
    """Return a C array of these values; a tensor or a numpy array would take longer to create."""
    return _integer_array(len(values))(*values)


@lru_cache(maxsize=64)
def _integer_array(count: int) -> type[Array[c_int64]]:
    """Return the array type of this length, cached because creating it takes longer than a kernel."""
    return c_int64 * count


@lru_cache(maxsize=64)
def _float_array(count: int) -> type[Array[c_float]]:
    return c_float * count


def linear(
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    dtype: torch.dtype,
    *,
    rounds: bool = False,
) -> Linear:
    """Return the addresses of a linear layer's tensors, which the caller must keep alive.

    Args:
        dtype: of the activations.
        rounds: float32 activations are rounded to bfloat16, as the weight is, on a processor that multiplies these.
    """
    addresses = (None if tensor is None else tensor.data_ptr() for tensor in (weight, scales, bias))
    narrow = 0 if weight.dtype == dtype else NARROW.get(weight.dtype, 0)
    return Linear(*addresses, *shape_of(weight), narrow, rounds, in_tiles=is_in_tile_order(weight))


def fits(weight: torch.dtype, activations: torch.dtype) -> bool:
    """Return True if the kernels multiply activations of a dtype by a floating-point weight of another."""
    return weight == activations or (activations == torch.float32 and weight in NARROW)


@lru_cache(maxsize=1)
def native_kernels() -> NativeKernels | None:
    """Return the kernels for this processor, compiled if need be; None if there are none or they are wrong."""
    path = compiled_library()
    if path is None:
        return None
    try:
        kernels = NativeKernels(CDLL(str(path)))
    except (OSError, AttributeError):
        return None
    return kernels if _multiplies(kernels) else None


def _multiplies(kernels: NativeKernels) -> bool:
    generator = torch.Generator().manual_seed(0)
    rows, weight = (torch.randn(shape, generator=generator) for shape in ((1, 19, 128), (70, 128)))
    with torch.autocast("cpu", enabled=False):
        for dtype in DTYPES:
            product = kernels.product(rows.to(dtype), weight.to(dtype))
            if not torch.allclose(product, functional.linear(rows.to(dtype), weight.to(dtype)), rtol=0.02, atol=0.2):
                return False
    return True


def kernels_for(rows: torch.Tensor) -> NativeKernels | None:
    """Return the native kernels if they support these rows' device, dtype and layout; else None."""
    known = rows.is_cpu and rows.dtype in DTYPES and rows.is_contiguous()
    return native_kernels() if known else None
