"""A model's description from the header of its GGUF file, read in milliseconds and without torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lade_chat.errors import ModelError, summary


class NoLanguageModelError(ModelError):
    """A valid GGUF file that is not a model which writes text, such as an adapter."""


@dataclass(frozen=True, slots=True)
class GgufSummary:
    """A model by its file's header."""

    architecture: str
    quantisation: str
    """The file's own name for it, as Q4_K_M."""
    size: int
    """Bytes of the file, or of all its parts."""
    tensor_types: tuple[tuple[str, int], ...]
    """The types of its tensors and the number of each, the commonest first."""


def read_header(file: Path) -> GgufSummary:
    """Read a file's header. Raises ModelError: one line for a broken file, or one that is no language model."""
    from decoding.gguf.file import GgufFile
    from decoding.gguf.metadata import GgufError
    from decoding.gguf.soundness import refusal

    try:
        found = GgufFile.open(file, header_only=True)
        reason = refusal(found)
        if reason is not None:
            raise NoLanguageModelError(f"{file} cannot be run: {reason}.")
        types = tuple((kind.name, number) for kind, number in found.tensor_types.items())
        return GgufSummary(found.architecture, found.quantization, found.size, types)
    except GgufError as error:
        told = str(error)
        raise ModelError(told if str(file) in told else f"{file} cannot be used: {told}.") from error
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror or summary(error)}.") from error
