"""Loads a GGUF file: its model, with the weights as the file has them, and its tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from lade_chat.errors import DeviceError, ModelError, OutOfMemoryError, does_not_fit_message
from lade_chat.gguf.files import SUFFIX, quantisation_of, title_and_quantisation
from lade_chat.gguf.models_of_programs import OLLAMA_PREFIX
from lade_chat.loading.checkpoint_config import context_window
from lade_chat.loading.precision import choose_device, memory_bytes
from lade_chat.protocol.values import ModelInfo, ModelOptions, Stage

if TYPE_CHECKING:
    from decoding.gguf.file import GgufFile

SAMPLED_BYTES = 32
"""Bytes of the beginning, the middle and the end of each tensor that tell files apart."""
VOCABULARY_STRIDE = 16


def read_gguf(
    options: ModelOptions, path: Path, report: Callable[[Stage, int, int], None]
) -> tuple[Any, Any, ModelInfo]:
    """Read a file's model and tokenizer, with what is known of the model unrun. Raises ModelError."""
    from decoding.gguf.file import GgufFile, check_language_model
    from decoding.gguf.loading import load_gguf, load_skeleton
    from decoding.gguf.metadata import GgufError
    from decoding.gguf.unpacked_architectures import unpacked_bytes

    try:
        file = GgufFile.open(path)
        check_language_model(file)
        unpacked = unpacked_bytes(file)
        device = choose_device(options.device if unpacked else "cpu")
        if not unpacked and options.device is not None and not options.device.strip().lower().startswith("cpu"):
            raise DeviceError(f"Packed weights are multiplied on a CPU, not on {options.device}: leave --device away.")
        notices = (_announce(file, unpacked, report),) if unpacked else ()
        fingerprint = file_fingerprint(file)  # its pages are given back as the model is loaded
        model: Any
        # transformers draws a bar of its own as it unpacks, past its switch for bars.
        with redirect_stderr(StringIO()) if unpacked else nullcontext():
            open_file = load_skeleton if options.processes == 1 else load_gguf  # ranks split steps in torch
            model, tokenizer = open_file(file, on_tensor=partial(report, "weights"))
    except GgufError as error:
        told = str(error).rstrip(".")
        raise ModelError(f"{told}." if str(path) in told else f"{path} cannot be loaded: {told}.") from error
    if unpacked:
        model.to(device)
    title, quantisation = titled(options.path or "", path), quantisation_of(file)
    info = ModelInfo(
        name=f"{title} {quantisation}" if unpacked else title,
        device=device.type,
        dtype=str(model.dtype).removeprefix("torch.") if unpacked else quantisation,
        parameters=file.parameters,
        context_window=context_window(model.config),
        lookahead_supported=False,
        notices=notices,
        fingerprint=fingerprint,
        tensor_types=tuple((kind.name, number) for kind, number in file.tensor_types.items()),
    )
    return model, tokenizer, info


def _announce(file: GgufFile, unpacked: int, report: Callable[[Stage, int, int], None]) -> str:
    """Report what unpacking takes before it is taken, and return it as a notice. Raises OutOfMemoryError."""
    takes = f"its weights take {decimal(unpacked)} of memory in bfloat16, the file {decimal(file.size)}"
    memory = memory_bytes()
    if unpacked > memory:
        raise OutOfMemoryError(
            f"{does_not_fit_message(str(file.path))} {file.architecture} files are unpacked: {takes};"
            f" there are {decimal(memory)}."
        )
    report("unpacking", 0, unpacked)
    return f"Files of the architecture {file.architecture} are unpacked: {takes}."


def titled(path: str, file: Path) -> str:
    """Return a model's title: its name in Ollama or on the Hub, or that of its file without the quantisation."""
    if path.startswith(OLLAMA_PREFIX):
        return path.removeprefix(OLLAMA_PREFIX)
    repo_id, colon, _ = path.partition(":")
    if colon and "snapshots" in file.parts:
        return repo_id
    return title_and_quantisation(file.stem)[0] if file.suffix.lower() == SUFFIX else file.name


def file_fingerprint(file: GgufFile) -> str:
    """Return 32 hexadecimal digits of a file's weights and vocabulary; a few bytes stand for each tensor."""
    digest = hashlib.sha256(file.architecture.encode())
    for name, tensor in sorted(file.tensors.items()):
        digest.update(f"{name} {tensor.type.name} {tensor.shape}\n".encode())
        content = tensor.blocks.reshape(-1)
        for start in (0, len(content) // 2, max(len(content) - SAMPLED_BYTES, 0)):
            digest.update(content[start : start + SAMPLED_BYTES].tobytes())
    digest.update("\n".join(file.metadata.texts("tokenizer.ggml.tokens")[::VOCABULARY_STRIDE]).encode())
    return digest.hexdigest()[:32]
