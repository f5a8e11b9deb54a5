"""A GGUF file, mapped: its metadata, and its tensors' bytes as they lie in the file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from mmap import ACCESS_READ, mmap
from os import SEEK_END, PathLike
from pathlib import Path
from re import fullmatch

from decoding.gguf.header import GgufTensor, read_header
from decoding.gguf.metadata import GgufError, Metadata
from decoding.gguf.tensor_types import TensorType

_MAX_PARTS = 1000
_EMBEDDING_ARCHITECTURES = {
    *("bert", "eurobert", "jina-bert-v2", "jina-bert-v3", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe"),
    *("gemma-embedding", "llama-embed", "t5encoder"),
}


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
            return _joined(list(_read_parts(path, texts=not header_only)))
        except GgufError as error:
            raise GgufError(f"{path} is not a readable GGUF file: {error}") from error

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


def _joined(parts: list[GgufFile]) -> GgufFile:
    """Return the parts of a file as one."""
    tensors = {name: tensor for part in parts for name, tensor in part.tensors.items()}
    if len(tensors) < sum(len(part.tensors) for part in parts):
        raise GgufError("two of its parts have the same tensor")
    expected = parts[0].metadata.integer("split.tensors.count", len(tensors))
    if len(parts) > 1 and expected != len(tensors):
        raise GgufError(f"its parts hold {len(tensors)} tensors, not {expected}")
    return replace(parts[0], tensors=tensors, maps=tuple(data for part in parts for data in part.maps))


def _read_parts(path: Path, *, texts: bool) -> Iterator[GgufFile]:
    first = _read(path, texts=texts)
    yield first
    count, number = first.metadata.integer("split.count", 1), first.metadata.integer("split.no", 0)
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
            read = _read(other, texts=False)
        except GgufError as error:
            raise GgufError(f"of {name}, its part {part + 1}: {error}") from error
        if (read.metadata.integer("split.no", -1), read.metadata.integer("split.count", 1)) != (part, count):
            raise GgufError(f"{name} is not part {part + 1} of {count}")
        yield read


def _read(path: Path, *, texts: bool) -> GgufFile:
    with path.open("rb") as file:
        if not file.seek(0, SEEK_END):
            raise GgufError("it is empty")
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    return GgufFile(path, *read_header(data, texts=texts), (data,))


def refusal(file: GgufFile) -> str | None:
    """Return why a file is not a model that writes text, such as "a vision projector"; None if it is one."""
    metadata, architecture = file.metadata, file.metadata.text("general.architecture", None)
    kind = metadata.text("general.type", None)
    if kind == "mmproj" or architecture == "clip":
        return "it is a vision projector (mmproj), the part of a model that reads pictures"
    if kind == "adapter" or "adapter.type" in metadata:
        return "it is an adapter (LoRA) for another model"
    if architecture is None:
        return "it names no architecture"
    # A file that pools its outputs into one vector, or that reads texts in both directions, writes none.
    if architecture in _EMBEDDING_ARCHITECTURES or metadata.integer(f"{architecture}.pooling_type", 0) > 0:
        return f"it is an embedding model ({architecture}), which writes no text"
    if metadata.flag(f"{architecture}.attention.causal", True) is False:
        return f"its model ({architecture}) does not write from left to right"
    return None if file.tensors else "it holds no tensors"


def check_language_model(file: GgufFile) -> None:
    """Raise GgufError unless a file is a model that writes text."""
    try:
        reason = refusal(file)
    except GgufError as error:
        reason = str(error)
    if reason is not None:
        raise GgufError(f"{file.path} cannot be run: {reason}")
