"""A GGUF file, mapped: its metadata, and its tensors' bytes as they lie in the file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from mmap import ACCESS_READ, mmap
from os import SEEK_END, PathLike
from pathlib import Path
from re import fullmatch
from typing import Any, TypeAlias

import numpy as np

from decoding.gguf.header import Header, TensorPlace, read_header
from decoding.gguf.metadata import GgufError, Metadata
from decoding.gguf.tensor_types import TensorType

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_MAX_PARTS = 1000


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor as it lies in the file."""

    name: str
    type: TensorType
    shape: tuple[int, ...]
    """In numpy's order: rows first, a row's numbers last."""
    blocks: Bytes
    """The file's own bytes, read-only, shape (rows, bytes per row). A view keeps the file mapped."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A file, or all parts of a split one."""

    path: Path
    """As given; the first part of a split file."""
    version: int
    metadata: Metadata
    tensors: Mapping[str, GgufTensor]
    maps: tuple[mmap, ...]
    """The bytes of each part."""

    @classmethod
    def open(cls, path: str | PathLike[str], *, header_only: bool = False) -> GgufFile:
        """Map a file and read its header.

        Args:
            path: the file, of a split one its first part; the others lie beside it.
            header_only: leave out arrays of strings (vocabulary, merges), which take most of the time.

        Raises:
            GgufError: one line, for any file that is not whole and well-formed.
            OSError: if it cannot be opened.
        """
        path = Path(path)
        try:
            return cls._from_parts(path, list(_read_parts(path, texts=not header_only)))
        except GgufError as error:
            raise GgufError(f"{path} is not a readable GGUF file: {error}") from error

    @classmethod
    def _from_parts(cls, path: Path, parts: list[tuple[mmap, Header]]) -> GgufFile:
        places = [(data, place) for data, header in parts for place in header.tensors]
        tensors = {place.name: _tensor(data, place) for data, place in places}
        if len(tensors) < len(places):
            raise GgufError("two of its parts have the same tensor")
        header = parts[0][1]
        expected = header.metadata.integer("split.tensors.count", len(tensors))
        if len(parts) > 1 and expected != len(tensors):
            raise GgufError(f"its parts hold {len(tensors)} tensors, not {expected}")
        return cls(path, header.version, header.metadata, tensors, tuple(data for data, _ in parts))

    @property
    def size(self) -> int:
        """Bytes on disk, all parts together."""
        return sum(map(len, self.maps))

    def release(self) -> None:
        """Release the memory of what has been read; it is read again when needed."""
        if sys.platform != "win32":
            from mmap import MADV_DONTNEED

            for data in self.maps:
                data.madvise(MADV_DONTNEED)

    @property
    def architecture(self) -> str:
        """Name of the model's architecture, such as ``llama``."""
        return self.metadata.text("general.architecture")

    @property
    def quantization(self) -> str:
        """Name of the file's quantisation, such as ``Q4_K_M``; without one, the type of most of its bytes.

        Only rows that any type could hold count: in a Q4_K_M file the others are Q5_0, and can be most of it.
        """
        from gguf.constants import LlamaFileType  # takes some 50 ms

        # GUESSED is added by a quantiser that is not sure of the type.
        file_type = self.metadata.integer("general.file_type", -1) % LlamaFileType.GUESSED
        with suppress(ValueError):
            return LlamaFileType(file_type).name.partition("_")[2]  # without MOSTLY_ or ALL_
        every = [*self.tensors.values()]
        block = TensorType.Q4_K.block_size
        free = [tensor for tensor in every if len(tensor.shape) > 1 and tensor.shape[-1] % block == 0]
        taken: Counter[TensorType] = Counter()
        for tensor in free or every:
            taken[tensor.type] += tensor.blocks.size
        return taken.most_common(1)[0][0].name if taken else "none"

    @property
    def tensor_types(self) -> Mapping[TensorType, int]:
        """Number of tensors of each type, the commonest first."""
        return dict(Counter(tensor.type for tensor in self.tensors.values()).most_common())

    @property
    def parameters(self) -> int:
        """Number of the model's weights."""
        return sum(prod(tensor.shape) for tensor in self.tensors.values())


def _read_parts(path: Path, *, texts: bool) -> Iterator[tuple[mmap, Header]]:
    data, header = _read(path, texts=texts)
    yield data, header
    count, number = header.metadata.integer("split.count", 1), header.metadata.integer("split.no", 0)
    if count <= 1:
        return
    if count > _MAX_PARTS:
        raise GgufError(f"it claims to have {count:,} parts")
    named = fullmatch(r"(.+)-\d{5}-of-\d{5}\.gguf", path.name)
    names = [f"{named[1] if named else path.stem}-{part:05}-of-{count:05}.gguf" for part in range(1, count + 1)]
    if not 0 <= number < count or path.name != names[number]:
        raise GgufError(f"it is part {number + 1} of {count}, and is not named …-{number + 1:05}-of-{count:05}.gguf")
    if number:
        raise GgufError(f"it is part {number + 1} of {count}; open {names[0]}")
    for part, name in enumerate(names[1:], 1):
        other = path.with_name(name)
        if not other.is_file():
            raise GgufError(f"it is the first of {count} parts, and {name} is not beside it")
        try:
            data, header = _read(other, texts=False)
        except GgufError as error:
            raise GgufError(f"of {name}, its part {part + 1}: {error}") from error
        if (header.metadata.integer("split.no", -1), header.metadata.integer("split.count", 1)) != (part, count):
            raise GgufError(f"{name} is not part {part + 1} of {count}")
        yield data, header


def _read(path: Path, *, texts: bool) -> tuple[mmap, Header]:
    with path.open("rb") as file:
        if not file.seek(0, SEEK_END):
            raise GgufError("it is empty")
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    return data, read_header(data, texts=texts)


def _tensor(data: mmap, place: TensorPlace) -> GgufTensor:
    blocks = np.frombuffer(data, np.uint8, place.size, place.start).reshape(-1, place.row_bytes)
    return GgufTensor(place.name, place.type, place.shape, blocks)
