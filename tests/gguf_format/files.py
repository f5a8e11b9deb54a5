"""GGUF files for tests: whole ones by the ``gguf`` package's writer, and broken ones byte by byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants

TEXT, ARRAY, U32, U64, F32 = 8, 9, 4, 10, 6


def text(value: str) -> bytes:
    """A string as a file has it."""
    encoded = value.encode()
    return pack("<Q", len(encoded)) + encoded


def entry(key: str, kind: int, value: bytes) -> bytes:
    """An entry of metadata."""
    return text(key) + pack("<I", kind) + value


def tensor(name: str, shape: Sequence[int], kind: int = 0, offset: int = 0) -> bytes:
    """A tensor's description; the shape in ggml's order, a row's numbers first."""
    return text(name) + pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def raw_file(
    entries: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = bytes(4096),
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    """A file's bytes, of whatever is given; ``counts`` (tensors, entries) instead of the true ones."""
    entries = entries or [entry("general.architecture", TEXT, text("llama"))]
    header = b"GGUF" + pack("<IQQ", version, *(counts or (len(tensors), len(entries))))
    header += b"".join(entries) + b"".join(tensors)
    return header + bytes(-len(header) % 32) + data


def write(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Any], architecture: str = "llama", **more: Any
) -> Path:
    """Write a whole file.

    Args:
        path: where.
        metadata: values by key: of the type that the package takes each for; strings, floats and bools as they are.
        tensors: arrays, as they are; or pairs of a type and an array, which is quantised, or, in bytes, taken as it is.
        architecture: its name.
        more: of the writer's arguments, such as ``split_max_tensors``.
    """
    writer = GGUFWriter(path, architecture, **more)
    for key, value in metadata.items():
        _add(writer, key, value)
    for name, array in tensors.items():
        if isinstance(array, tuple):
            kind, numbers = array
            packed = numbers if numbers.dtype == np.uint8 else quants.quantize(numbers, kind)
            writer.add_tensor(name, packed, raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def random_blocks(
    kind: GGMLQuantizationType, rows: int, columns: int, draw: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Random blocks of a type, with small scales that are finite."""
    from decoding.gguf.tensor_types import TensorType

    known = TensorType(int(kind))
    if known.is_float:
        return quants.quantize(draw.standard_normal((rows, columns), np.float32), kind).view(np.uint8)
    blocks = draw.integers(0, 256, (rows, columns // known.block_size, known.block_bytes), np.uint8)
    for offset in known.scale_offsets:
        scales = draw.uniform(0.001, 0.01, blocks.shape[:2]).astype("<f2")
        blocks[..., offset : offset + 2] = scales[..., None].view(np.uint8)
    return blocks.reshape(rows, -1)


def _add(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)
