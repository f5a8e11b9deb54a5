"""ModelState: detects changes to a model between texts, which invalidate caches derived from it.

Weights may be trained, replaced, moved or edited, adapters switched, merged or removed, layers patched and hooked at
any time; a KV cache, weight copies and timings are valid only for the state that they were made in. Undetected are
changes to offloaded weights, to functions in a Python module's namespace, to lists and objects that hooks and patched
layers read, and changes in the middle of a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import gcd
from threading import Lock
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
from torch import nn
from xxhash import xxh3_64_intdigest

from decoding.model.private_interfaces import attention_implementation, global_hooks, inner_tensors, version_of
from decoding.model.rotary import length_dependence_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_DEPTH = 4
"""Nesting of lists and dictionaries in a module's attributes that is followed."""
_PLAIN = frozenset((bool, int, float, str, type(None), torch.dtype, torch.device))
_OWN = frozenset(vars(nn.Module())) | {"config", "generation_config"}
"""Attributes of every module, and configurations: compared elsewhere, or irrelevant to an answer."""
_HOOKS = ("_forward_pre_hooks", "_forward_hooks")
_PASSIVE = ("decoding.parallel.mirror", "transformers.utils.output_capturing")
"""Modules that define hooks which change no output."""
_PLAIN_TENSORS = (torch.Tensor, nn.Parameter, nn.Buffer)


@dataclass(frozen=True, slots=True)
class Survey:
    """A snapshot of a model; see :class:`ModelState` for its layout, and for its structure with the configuration.

    Attributes:
        tensors: parameters, buffers, and tensors among the attributes of modules and what hooks and patches enclose; a
            quantised one is replaced by those that it wraps.
        settings: everything else: names, plain attributes, hooks and patches themselves.
    """

    tensors: tuple[torch.Tensor, ...]
    layout: tuple[object, ...]
    structure: tuple[object, ...]
    settings: tuple[object, ...]

    @property
    def identities(self) -> list[tuple[int, int, int]]:
        """The ids, versions and addresses that change when a tensor is replaced or written to."""
        return [
            (id(tensor), version_of(tensor), tensor.data_ptr() if _has_contents(tensor) else 0)
            for tensor in self.tensors
        ]


class ModelState:
    """The state of a model at its last survey, with change counters.

    Attributes:
        edition: incremented when anything that can change the model's output has changed.
        revision: incremented then, and also when a tensor was replaced or written with the same contents.
        layout: module types, and tensors' shapes, dtypes and devices; step times depend on it.
        structure: module types, and the code of patches and hooks; the supported attention masks depend on it.
        settings: plain attributes of modules, patches and hooks themselves; steps in C depend on them, too.
    """

    def __init__(self) -> None:
        self.edition = self.revision = 0
        self.layout: tuple[object, ...] = ()
        self.structure: tuple[object, ...] = ()
        self.settings: tuple[object, ...] = ()
        self._identities: list[tuple[int, int, int]] = []
        self._checksums: list[int] = []
        self._lock = Lock()

    def update(self, seen: Survey, *, with_contents: bool = True) -> bool:
        """Compare with the model as it is now; True if its layout has changed. Edits by ``.data`` show in contents."""
        identities = seen.identities
        checksums = checksums_of(seen.tensors) if with_contents else []
        with self._lock:
            relaid, rewritten = seen.layout != self.layout, identities != self._identities
            reset = (seen.structure, seen.settings) != (self.structure, self.settings)
            edited = checksums != self._checksums or (rewritten and not with_contents)
            changed = relaid or reset or edited
            if changed:
                self.edition += 1
            if changed or rewritten:
                self.revision += 1
            self.layout, self.structure, self.settings = seen.layout, seen.structure, seen.settings
            self._identities, self._checksums = identities, checksums
        return relaid

    def relocate(self, seen: Survey) -> None:
        """Record new addresses of tensors whose contents are unchanged."""
        with self._lock:
            self._identities = seen.identities
            self.revision += 1


def survey(model: PreTrainedModel) -> Survey:
    """Take a snapshot of a model. Nothing is run, and no tensor is read."""
    # Computed buffers are skipped where they are rotary tables, rewritten as texts grow.
    walk = _Walk(with_computed=length_dependence_of(model.config.get_text_config(decoder=True)) is None)
    walk.module(model)
    for config in (model.config, model.config.get_text_config(decoder=True)):
        before = len(walk.settings)
        walk.mapping(vars(config), MAX_DEPTH)
        walk.structure += walk.settings[before:]
    walk.structure += [attention_implementation(model), model.dtype, model.device.type]
    # Classes may be patched as well as instances, and hooks set for all modules at once.
    walk.structure += [*(kind.forward for kind in dict.fromkeys(walk.types)), *global_hooks()]
    kinds = ((type(each), tuple(each.shape), each.dtype, each.device) for each in walk.tensors)
    return Survey(tuple(walk.tensors), (*walk.types, *kinds), (*walk.types, *walk.structure), tuple(walk.settings))


class _Walk:
    def __init__(self, *, with_computed: bool) -> None:
        self.types: list[type[nn.Module]] = []
        self.structure: list[object] = []
        self.settings: list[object] = []
        self.tensors: list[torch.Tensor] = []
        self._with_computed = with_computed
        self._seen: set[int] = set()

    def module(self, module: nn.Module) -> None:
        if self._is_seen(module):
            return
        own = vars(module)
        self.types.append(type(module))
        if own.get("_non_persistent_buffers_set") and not self._with_computed:
            return
        self.settings.append(own["training"])
        for kind in _HOOKS:
            for hook in own[kind].values():
                if getattr(hook, "__module__", None) not in _PASSIVE:
                    self.settings.append(kind)
                    self.function(hook)
        others = {name: value for name, value in own.items() if name not in _OWN}
        for named in (own["_parameters"], own["_buffers"], others, own["_modules"]):
            for name, value in named.items():
                self.settings.append(name)
                self.value(value, MAX_DEPTH)

    def value(self, value: object, depth: int) -> None:
        if type(value) in _PLAIN:
            self.settings.append(value)
        elif isinstance(value, torch.Tensor):
            self.tensor(value)
        elif isinstance(value, nn.Module):
            self.module(value)
        elif isinstance(value, Mapping):
            self.mapping(value, depth)
        elif isinstance(value, (list, tuple, set, frozenset)):
            self.settings.append((type(value), len(value)))
            if depth:
                for item in value:
                    self.value(item, depth - 1)
        elif callable(value):
            self.function(value)
        elif isinstance(value, (int, float, str)):  # an enumeration's
            self.settings.append(value)
        else:
            self.settings.append(type(value))

    def mapping(self, mapping: Mapping[Any, object], depth: int) -> None:
        self.settings.append((type(mapping), len(mapping)))
        if depth:
            for key, value in mapping.items():
                self.settings.append(key if type(key) in _PLAIN else type(key))
                self.value(value, depth - 1)

    def tensor(self, tensor: torch.Tensor) -> None:
        # Tied weights count once.
        if not self._is_seen(tensor):
            self.tensors += _plain_parts(tensor)

    def function(self, function: Any) -> None:
        """Record a hook, a patched forward or another function, and the plain values that it encloses."""
        enclosed: list[object] = []
        while isinstance(function, (partial, MethodType)):
            if isinstance(function, partial):
                enclosed += [*function.args, *function.keywords.values()]
                function = function.func
            else:
                owner, function = function.__self__, function.__func__
                self.settings.append(_reference(owner))
                if not isinstance(owner, nn.Module):
                    enclosed += getattr(owner, "__dict__", {}).values()
        self.settings.append(_reference(function))
        self.structure.append(getattr(function, "__code__", type(function)))
        for cell in getattr(function, "__closure__", None) or ():
            with suppress(ValueError):  # not filled yet
                enclosed.append(cell.cell_contents)
        for value in enclosed:
            if isinstance(value, torch.Tensor):
                self.tensor(value)
            else:
                # Collections may be those in which hooks gather outputs.
                self.settings.append(value if type(value) in _PLAIN else type(value))

    def _is_seen(self, thing: object) -> bool:
        seen = id(thing) in self._seen
        if seen:
            self.settings.append("seen")
        self._seen.add(id(thing))
        return seen


def _plain_parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the plain tensors that one is made of."""
    inner = None if type(tensor) in _PLAIN_TENSORS else inner_tensors(tensor)
    return [tensor] if inner is None else [part for each in inner for part in _plain_parts(each)]


@torch.inference_mode()
def checksums_of(tensors: Iterable[torch.Tensor]) -> list[int]:
    """Return a hash of each tensor's bytes; on other devices than the CPU, a sum of integers weighted by their places.

    PyTorch's version counter misses edits through ``.data`` and in inference mode.
    """
    full = filter(_has_contents, tensors)
    sums = [_hash(tensor) if tensor.is_cpu else _checksum(tensor) for tensor in full]
    return [int(each) for each in sums]  # behind all of them: reading one waits for its device


def _hash(tensor: torch.Tensor) -> int:
    flat = tensor.detach().contiguous().view(-1)
    return xxh3_64_intdigest(flat.view(torch.uint8).numpy().data)


def _checksum(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.contiguous().view(-1)
    # Words as wide as length and alignment allow, but no wider than those whose sums no sign bits cancel out in.
    width = gcd(4, flat.numel() * flat.element_size(), flat.storage_offset() * flat.element_size())
    words = flat.view({4: torch.int32, 2: torch.int16, 1: torch.uint8}[width])
    table = words.view(-1, gcd(words.numel(), 4096))
    return _weighted(table.sum(1), 1) + _weighted(table.sum(0), 0x9E3779B97F4A7C1)


def _weighted(sums: torch.Tensor, factor: int) -> torch.Tensor:
    return (sums * torch.arange(1, len(sums) + 1, device=sums.device)).sum() * factor


def _has_contents(tensor: torch.Tensor) -> bool:
    """Return True if the tensor's memory can be read."""
    return tensor.layout is torch.strided and tensor.device.type != "meta" and tensor.numel() > 0


def _reference(thing: object) -> object:
    """Return a value that compares equal only for the same object, even if an id is reused."""
    try:
        return ref(thing)
    except TypeError:
        return thing
