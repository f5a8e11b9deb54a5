"""A checkpoint's weights: read into a model in its dtype and on its devices, and copied into huge pages."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from contextlib import suppress
from ctypes import CDLL, addressof, c_char, c_size_t, c_void_p, memmove
from pathlib import Path
from pickle import UnpicklingError
from threading import Thread
from typing import TYPE_CHECKING, Any

import psutil

from lade_chat.errors import (
    ModelError,
    OutOfMemoryError,
    does_not_fit_message,
    is_out_of_memory,
    not_installed_message,
    summary,
)
from lade_chat.loading.checkpoint import CONFIG, Weights
from lade_chat.loading.checkpoint_config import missing_packages, quantisation
from lade_chat.loading.config_entries import wrong_entry
from lade_chat.loading.precision import choose_dtype, fastest_dtype, memory_bytes
from lade_chat.protocol.values import ModelOptions

if TYPE_CHECKING:
    import torch

LAYERS_AT_ONCE = 14
"""Linear layers quantised before the memory that their weights were read into is given back."""
_DONT_NEED = 4
"""MADV_DONTNEED of Linux."""
_STORED = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
"""torch's names for safetensors' dtypes."""


def dtype_for(
    weights: Weights, config: Any, requested: torch.dtype | None, device: torch.device, *, what: str
) -> torch.dtype:
    """The dtype to load in (see ``choose_dtype``). Raises OutOfMemoryError if the weights exceed the memory."""
    stored = stored_dtype(weights, config)
    dtype = choose_dtype(requested, device, stored, weights.parameters, lambda: fastest_dtype(config, stored))
    needed, memory = weights.parameters * dtype.itemsize, memory_bytes()
    if quantisation(config) is not None:
        # Quantised weights stay as they are stored.
        needed = sum(file.stat().st_size for file in weights.files)
    # Without this check the system would kill the process.
    if device.type == "cpu" and needed > memory:
        figures = (
            f"It needs {needed / 1e9:.1f} GB in {str(dtype).removeprefix('torch.')}; there are {memory / 1e9:.1f} GB."
        )
        raise OutOfMemoryError(f"{does_not_fit_message(what)} {figures}")
    return dtype


def stored_dtype(weights: Weights, config: Any) -> torch.dtype:
    """The dtype that a checkpoint's weights are stored in."""
    import torch

    stored = getattr(config, "dtype", None) or _STORED.get(weights.dtype or "", "float32")
    found: torch.dtype = getattr(torch, stored) if isinstance(stored, str) else stored
    return found


def check_quantize(method: str, config: Any, device: torch.device) -> None:
    """Raise ModelError unless the checkpoint can be quantised on this device."""
    if device.type != "cpu":
        raise ModelError(f"{method} is for models on a CPU, not on {device.type}.")
    if (present := quantisation(config)) is not None:
        raise ModelError(f"{method} does not go with a checkpoint that is quantised already, with {present}.")


def quantize(model: Any, method: str, dtype: torch.dtype | None, report: Callable[[int, int], None]) -> None:
    """Quantise a model in place; activations are of ``dtype``, float32 if None. Raises ModelError if it cannot be."""
    import torch

    import decoding

    def on_layer(done: int, total: int) -> None:
        if done % LAYERS_AT_ONCE == 0 or done == total:
            release_mapped_weights()
        report(done, total)

    try:
        decoding.quantize(model, method, dtype=dtype or torch.float32, on_layer=on_layer)
    except NotImplementedError as error:
        raise ModelError(f"{method} cannot serve this model: {error}.") from error


def release_mapped_weights() -> None:
    """Give back the memory of weights that were read from safetensors: what is needed again is read again.

    The files are mapped, not copied, as long as one of their tensors is alive. Those written to are left alone.
    """
    with suppress(AttributeError, psutil.Error):  # where the system does not tell what is mapped
        for mapped in psutil.Process().memory_maps(grouped=False):
            if mapped.path.endswith(".safetensors") and not mapped.anonymous:
                start, end = (int(address, 16) for address in mapped.addr.split("-"))
                CDLL(None).madvise(c_void_p(start), c_size_t(end - start), _DONT_NEED)


def read_weights(
    folder: Path,
    config: Any,
    weights: Weights,
    dtype: torch.dtype,
    *,
    trust_remote_code: bool,
    placement: Mapping[str, Any] | None = None,
) -> tuple[Any, str | None]:
    """Load the model in eval mode, on the CPU or as ``placement`` says; returns it with a notice about unused tensors.

    Raises ModelError if a tensor is missing or has another shape (transformers would fill it with random numbers), or
    if its quantisation library is not installed.
    """
    from transformers import AutoModelForCausalLM

    try:
        model: Any
        found: dict[str, Any]
        model, found = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
            folder,
            config=config,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **(placement or {}),
        )
    except ImportError as error:
        if (method := quantisation(config)) is None:
            raise
        quantised = f"{folder}, quantised with {method} ({summary(error, 80)}),"
        if not (missing := missing_packages(method)):  # what is there is too old, say
            raise ModelError(f"{quantised} cannot be loaded: {summary(error)}") from error
        raise ModelError(not_installed_message(quantised, *missing)) from error
    except (AssertionError, KeyError, ZeroDivisionError) as error:
        raise wrong_entry(str(folder), config.get_text_config(decoder=True), error) or error from error
    except (RuntimeError, OSError, EOFError, UnpicklingError) as error:
        if not weights.pickled or is_out_of_memory(error):
            raise
        raise ModelError(f"{weights.files[0]} is no pickle of tensors, or cut short ({summary(error, 80)}).") from error
    mismatched = sorted(name for name, *_ in found["mismatched_keys"])
    for problem, names in (("of another shape", mismatched), ("missing", sorted(found["missing_keys"]))):
        if names:
            raise ModelError(f"The weights in {folder} do not fit its {CONFIG}: {_tensors(names)} {problem}.")
    unused = sorted(found["unexpected_keys"])
    notice = f"Not used by the model: {_tensors(unused)} of the checkpoint." if unused else None
    return model.eval(), notice


def _tensors(names: list[str]) -> str:
    """Return the number of tensors and the first of their names, or the only one."""
    return f"1 tensor ({names[0]})" if len(names) == 1 else f"{len(names)} tensors ({names[0]} first)"


def placement(options: ModelOptions, config: Any) -> dict[str, Any]:
    """Arguments of ``from_pretrained`` that place the model. Raises ModelError if it cannot be split so."""
    if (ranks := options.tensor_parallel) == 1:
        return {} if options.device_map is None else {"device_map": options.device_map}
    text = config.get_text_config(decoder=True)
    if not getattr(text, "base_model_tp_plan", None):
        raise ModelError(f"transformers has no plan to split a {config.model_type} model over several processes.")
    for name, what in (("num_attention_heads", "attention heads"), ("num_key_value_heads", "heads of keys and values")):
        heads = getattr(text, name, None)
        if isinstance(heads, int) and heads % ranks:
            raise ModelError(f"--tensor-parallel {ranks} does not divide the model's {heads} {what}.")
    from transformers.distributed.configuration_utils import DistributedConfig

    return {"distributed_config": DistributedConfig(tp_size=ranks, tp_plan="auto")}


MIN_BYTES = 64_000_000
"""Weights smaller than this are in few pages as it is."""
MAX_SHARE = 0.7
"""The share of the free memory to use: what is mapped can be dropped and read again, copies cannot."""
COPIED_AT_ONCE = 256_000_000
"""Bytes copied before the memory that they were read into is given back."""
_PAGE = 2 << 20
_ALIGNMENT = 64


class WeightCopies:
    """Copies of the weights of a model whose steps run in C, made by a thread; none where there are no huge pages.

    Every step reads all weights. Those of a mapped file lie in small pages, and translating their addresses takes up to
    a tenth of a step at 1B parameters. Taking so much memory from the system can last seconds, so it is not done before
    the first reply.
    """

    def __init__(self, model: Any) -> None:
        from decoding import native_support, packed_weight_bytes

        self._model, self._thread = model, Thread(target=self._copy, name="copying weights", daemon=True)
        # Each weight, and where its copy lies behind the first.
        self._places, self._bytes, self._complete = dict[Any, int](), 0, False
        for weight in model.parameters():
            if weight.device.type == "cpu":
                self._places[weight] = self._bytes
                self._bytes += -(-weight.nbytes // _ALIGNMENT) * _ALIGNMENT
        fits = MIN_BYTES <= self._bytes <= MAX_SHARE * psutil.virtual_memory().available
        in_place = native_support(model).supported and not packed_weight_bytes(model)
        self._wanted = fits and in_place and hasattr(mmap, "MADV_HUGEPAGE")

    def begin(self) -> None:
        """Begin to copy, once; where the system refuses the memory, the weights stay where they are."""
        if not self._wanted or self._thread.ident is not None:
            return
        try:
            self._memory = mmap.mmap(-1, self._bytes + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            self.cancel()
            return
        self._address = addressof(c_char.from_buffer(self._memory))
        self._first = -self._address % _PAGE
        self._thread.start()

    def cancel(self) -> None:
        """Leave the weights where they are."""
        self._wanted = False
        self._places = {}

    def settle(self, *, wait: bool = False) -> None:
        """Put the copies in the weights' place if they are complete. Only between texts.

        ``wait``: wait until they are.
        """
        if wait and self._thread.ident is not None:
            self._thread.join()
        if not self._wanted or not self._complete:
            return
        import torch

        from decoding import relocate_weights

        copies = {}
        for weight, at in self._places.items():
            place = self._first + at
            flat = torch.frombuffer(self._memory, dtype=weight.dtype, count=weight.numel(), offset=place)
            copies[weight] = flat.view(weight.shape)
        relocate_weights(self._model, copies)
        self.cancel()
        release_mapped_weights()

    def _copy(self) -> None:
        copied = 0
        for weight, at in self._places.items():
            if not self._wanted:
                return
            memmove(self._address + self._first + at, weight.data_ptr(), weight.nbytes)
            copied += weight.nbytes
            if copied > COPIED_AT_ONCE:
                release_mapped_weights()
                copied = 0
        self._complete = True
