"""Reads a GGUF file's header: metadata, and the tensors' names, types, shapes and places.

Nothing in it is trusted: counts are compared with the bytes left before memory is taken, and nothing outside is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from mmap import mmap
from operator import itemgetter
from struct import Struct, error
from typing import Any, TypeAlias

import numpy as np

from decoding.gguf.metadata import GgufError, Metadata, MetadataValue, quoted
from decoding.gguf.tensor_types import TENSOR_TYPES, TensorType

MAGIC = b"GGUF"
LFS_POINTER = b"version https://git-lfs"
"""What a clone has in place of a large file where Git LFS is not installed."""
VERSIONS = (2, 3)
_BIG_ENDIAN_VERSIONS = tuple(int.from_bytes(version.to_bytes(4, "big"), "little") for version in (1, *VERSIONS))
_TEXT, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRUCTS = {kind: Struct(f"<{code}") for kind, code in _SCALARS.items()}
_U32, _U64 = _STRUCTS[4], _STRUCTS[10]
_MAX_DIMENSIONS = 4
_MAX_NESTING = 4
_LEAST_ENTRY, _LEAST_TENSOR = 13, 32
"""Bytes of the shortest entry of metadata and of the shortest description of a tensor."""
_NUMBERS_AT_ONCE = 1 << 20
_EXPONENTS = {
    TensorType.F16: ("<u2", 0x7C00),
    TensorType.BF16: ("<u2", 0x7F80),
    TensorType.F32: ("<u4", 0x7F800000),
    TensorType.F64: ("<u8", 0x7FF0000000000000),
}
"""Integers that floating-point numbers are read as, and the bits that are all set in NaN and infinity only."""

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_Description: TypeAlias = tuple[str, TensorType, tuple[int, ...], int]
"""A tensor's name, type, shape, and place behind the header."""


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor as it lies in the file."""

    name: str
    type: TensorType
    shape: tuple[int, ...]
    """In numpy's order: rows first, a row's numbers last."""
    blocks: Bytes
    """The file's own bytes, read-only, shape (rows, bytes per row). A view keeps the file mapped."""

    def check_finite(self) -> None:
        """Raise GgufError for NaN or infinity among the numbers, or among the scales of the blocks."""
        kind, flat = self.type, self.blocks.reshape(-1)
        offsets = (0,) if kind.is_float else kind.scale_offsets
        dtype, exponent = _EXPONENTS[kind if kind.is_float else TensorType.F16]
        count = flat.size // kind.block_bytes
        for offset in offsets:
            numbers: np.ndarray[Any, Any] = np.ndarray((count,), dtype, flat, offset, (kind.block_bytes,))
            for start in range(0, count, _NUMBERS_AT_ONCE):
                some = numbers[start : start + _NUMBERS_AT_ONCE]
                if (np.bitwise_and(some, exponent) == exponent).any():
                    raise GgufError(f"tensor {quoted(self.name)} holds numbers that are not finite")


def read_header(data: mmap, *, texts: bool = True) -> tuple[int, Metadata, dict[str, GgufTensor]]:
    """Read a header: the version, the metadata, and the tensors by name, as they lie in the file.

    Without ``texts`` arrays of strings (a vocabulary, its merges) are left out of the metadata. Raises GgufError for
    anything that is not a whole, well-formed GGUF file of this byte order.
    """
    cursor = _Cursor(data)
    if cursor.take(4) != MAGIC:
        if data[: len(LFS_POINTER)] == LFS_POINTER:
            raise GgufError("it is a Git LFS pointer, and `git lfs pull` in its folder fetches the file")
        raise GgufError("it does not begin with GGUF")
    version = cursor.integer(_U32)
    if version in _BIG_ENDIAN_VERSIONS:
        raise GgufError("it is big-endian; only little-endian files are read")
    if version not in VERSIONS:
        raise GgufError(f"it is of version {version}; versions 2 and 3 are read")
    tensor_count, entry_count = cursor.count(_LEAST_TENSOR, "tensors"), cursor.count(_LEAST_ENTRY, "metadata entries")
    metadata = Metadata(_read_metadata(cursor, entry_count, texts))
    alignment = metadata.integer("general.alignment", 32)
    if alignment < 1 or alignment & (alignment - 1):
        raise GgufError(f"its alignment of {alignment} is not a power of two")
    described = [_read_description(cursor, alignment) for _ in range(tensor_count)]
    return version, metadata, _placed(described, data, -(-cursor.position // alignment) * alignment)


class _Cursor:
    """A position in the file that never leaves it."""

    def __init__(self, data: mmap) -> None:
        self._data, self.position, self._end = data, 0, len(data)

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > self._end - self.position:
            raise GgufError(f"it is cut off at byte {self._end}")
        self.position += size
        return self._data[self.position - size : self.position]

    def scalar(self, kind: Struct) -> bool | int | float:
        """Return the next value of a type."""
        (found,) = kind.unpack(self.take(kind.size))
        value: bool | int | float = found
        return value

    def integer(self, kind: Struct) -> int:
        """Return the next integer."""
        return int(self.scalar(kind))

    def count(self, least: int, what: str) -> int:
        """Return the next count, of things that take at least so many bytes each."""
        found = self.integer(_U64)
        if found > (self._end - self.position) // least:
            raise GgufError(f"it claims {found:,} {what}, more than its bytes can hold")
        return found

    def text(self) -> str:
        """Return the next string."""
        return self.texts(1)[0]

    def texts(self, count: int) -> list[str]:
        """Return the next strings."""
        found: list[str] = []
        data, position, end, unpack = self._data, self.position, self._end, _U64.unpack_from
        try:
            for _ in range(count):
                start = position + 8
                length = unpack(data, position)[0]
                if length > end:
                    raise GgufError(f"the string at byte {start} claims {length:,} bytes, more than the file has")
                position = start + length
                if position > end:
                    raise GgufError(f"it is cut off at byte {end}")
                found.append(data[start:position].decode())
        except error as cut:
            raise GgufError(f"it is cut off at byte {end}") from cut
        except UnicodeDecodeError as invalid:
            raise GgufError(f"the string at byte {start} is not UTF-8") from invalid
        self.position = position
        return found

    def skip_texts(self, count: int) -> None:
        """Pass over the next strings."""
        data, position, end, unpack = self._data, self.position, self._end, _U64.unpack_from
        try:
            for _ in range(count):
                position += 8 + unpack(data, position)[0]
        except (error, OverflowError):
            position = end + 1
        if position > end:
            self.texts(count)  # which says at which string
        self.position = position


def _read_metadata(cursor: _Cursor, count: int, texts: bool) -> dict[str, MetadataValue]:
    found: dict[str, MetadataValue] = {}
    for _ in range(count):
        key = cursor.text()
        if key in found:
            raise GgufError(f"its metadata has {quoted(key)} twice")
        kind = cursor.integer(_U32)
        value = _read_value(cursor, kind, texts, 0)
        if value is not None:
            found[key] = value
    return found


def _read_value(cursor: _Cursor, kind: int, texts: bool, depth: int) -> MetadataValue | None:
    """Read a value; None for an array of strings that is not wanted."""
    if kind == _TEXT:
        return cursor.text()
    if kind == _ARRAY:
        return _read_array(cursor, texts, depth + 1)
    if kind not in _STRUCTS:
        raise GgufError(f"its metadata has a value of the unknown type {kind}")
    return cursor.scalar(_STRUCTS[kind])


def _read_array(cursor: _Cursor, texts: bool, depth: int) -> MetadataValue | None:
    if depth > _MAX_NESTING:
        raise GgufError(f"its metadata nests arrays more than {_MAX_NESTING} deep")
    kind = cursor.integer(_U32)
    if kind == _ARRAY:
        # An array in an array takes at least its type and its count.
        return [_read_array(cursor, True, depth + 1) for _ in range(cursor.count(12, "arrays"))]
    if kind == _TEXT:
        count = cursor.count(8, "strings")
        if texts:
            return cursor.texts(count)
        cursor.skip_texts(count)
        return None
    if kind not in _STRUCTS:
        raise GgufError(f"its metadata has an array of the unknown type {kind}")
    size = _STRUCTS[kind].size
    # A copy, so that the array does not keep the map.
    return np.frombuffer(cursor.take(cursor.count(size, "numbers") * size), f"<{_SCALARS[kind]}")


def _read_description(cursor: _Cursor, alignment: int) -> _Description:
    name = cursor.text()
    dimensions = cursor.integer(_U32)
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise GgufError(f"tensor {quoted(name)} has {dimensions} dimensions")
    shape = tuple(reversed([cursor.integer(_U64) for _ in range(dimensions)]))
    number = cursor.integer(_U32)
    kind = TENSOR_TYPES.get(number)
    if kind is None:
        raise GgufError(f"tensor {quoted(name)} has the unknown type {number}")
    if not all(shape) or shape[-1] % kind.block_size:
        raise GgufError(f"tensor {quoted(name)} cannot have the shape {_written(shape)} in {kind.name}")
    offset = cursor.integer(_U64)
    if offset % alignment:
        raise GgufError(f"tensor {quoted(name)} is not aligned to {alignment} bytes")
    return name, kind, shape, offset


def _placed(described: list[_Description], data: mmap, data_start: int) -> dict[str, GgufTensor]:
    """Return the tensors by name. Raises GgufError unless each lies in the file, apart from all others."""
    if len({name for name, *_ in described}) < len(described):
        raise GgufError("two of its tensors have the same name")
    tensors, taken = dict[str, GgufTensor](), 0
    for name, kind, shape, offset in sorted(described, key=itemgetter(3)):
        row_bytes, start = shape[-1] // kind.block_size * kind.block_bytes, data_start + offset
        size = prod(shape[:-1]) * row_bytes
        if start + size > len(data):
            described_as = f"{kind.name} of {_written(shape)}"
            raise GgufError(f"it is cut off at byte {len(data)}: tensor {quoted(name)} ({described_as}) lies behind it")
        if start < taken:
            raise GgufError(f"tensor {quoted(name)} overlaps another")
        taken = start + size
        tensors[name] = GgufTensor(name, kind, shape, np.frombuffer(data, np.uint8, size, start).reshape(-1, row_bytes))
    return tensors


def _written(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)
