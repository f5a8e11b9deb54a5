"""Linear layers of a few rows by other kernels, in a view of the model, which is not modified.

A step over several tokens multiplies a few rows by every weight, but BLAS libraries are optimised for many rows or for
one: two rows can take three times as long as one. The kernels of :mod:`decoding.native` read each weight once, in
place; without a C compiler, x Wᵀ in float32 is computed as (W xᵀ)ᵀ.

In float32 a single row is left to PyTorch, so that plain decoding equals `generate` bit for bit.

The view of a module is an object of a subclass that shares the module's ``__dict__``: parameters, buffers, children,
hooks and attributes are always the module's own. Only the subclass differs: the view of an ``nn.Linear`` has another
``forward``, and the view of a module with children returns the views of its children. Nothing is ever written to the
model, and a weight, a hook or a ``forward`` set on one of its modules takes effect in the view at once. Modules that
are neither exactly an ``nn.Linear`` nor have children have no view.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, ValuesView
from functools import lru_cache, partial
from sys import maxsize
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

import torch
from torch import nn
from torch.nn import functional

from decoding.model.private_interfaces import global_hooks
from decoding.native.kernels import DTYPES, native_kernels

FEW_ROWS = {torch.float32: range(2, 33), torch.bfloat16: range(1, maxsize)}
"""Numbers of rows that are not left to PyTorch. Measured on two cores with AVX2, 768 × 3072: the kernels take 0.36 of
its time for 3 rows in float32, 0.8 for 32 and 1.17 for 64; in bfloat16 0.88 for one and 0.26 from 16 on."""
_PLAIN = (nn.Parameter, torch.Tensor)
_linear_forward = nn.Linear.forward
Multiply: TypeAlias = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
"""x Wᵀ + b, from x, W and b, as :func:`torch.nn.functional.linear`."""


def linear(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Compute rows Wᵀ + b for rows of shape (1, T, in); any other shape is left to PyTorch.

    The weight is of shape (out, in), the bias of (out,), and the product, contiguous, of (1, T, out).
    """
    shape, dtype = rows.shape, weight.dtype
    is_served = len(shape) == 3 and shape[0] == 1 and shape[1] in FEW_ROWS.get(dtype, ()) and rows.dtype is dtype
    if not is_served or type(weight) not in _PLAIN or weight.device.type != "cpu" or not weight.is_contiguous():
        return functional.linear(rows, weight, bias)
    kernels = native_kernels() if dtype in DTYPES else None
    if kernels is not None:
        return kernels.product(rows, weight, bias)
    return functional.linear(rows, weight, bias) if dtype is torch.bfloat16 else _transposed(rows, weight, bias)


def _transposed(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Contiguous like PyTorch's: the model's next operation would be slow otherwise.
    return product.t().contiguous()[None]


def is_changed_globally() -> bool:
    """Return True if a patch, autocast or a global hook is in force that other kernels would bypass."""
    return nn.Linear.forward is not _linear_forward or torch.is_autocast_enabled("cpu") or bool(global_hooks())


class ModuleView:
    """The views of a model's modules, whose linear layers multiply by a function given."""

    def __init__(self, multiply: Multiply) -> None:
        self.multiply = multiply
        # Weak, so that a module that has left the model is released.
        self._views: WeakKeyDictionary[nn.Module, tuple[type, nn.Module | None]] = WeakKeyDictionary()

    def of(self, module: nn.Module) -> nn.Module:
        """Return the view of a module; the module itself where it has none."""
        kind, view = self._views.get(module, (None, None))
        if kind is not type(module):
            view = self._make(module)
            self._views[module] = type(module), view
        return module if view is None else view

    def _make(self, module: nn.Module) -> nn.Module | None:
        module_class: Any = type(module)
        kind = _view_class(module_class)
        if kind is None or not (module._modules or module_class is nn.Linear):
            return None
        view: nn.Module = object.__new__(kind)
        object.__setattr__(view, "__dict__", module.__dict__)
        object.__setattr__(view, "_views", self)
        object.__setattr__(view, "_viewed", ref(module))
        return view


class _View:
    """Base of a view's class, before the module's own; ``__class__``, equality and hash are the module's."""

    __slots__ = ()
    _views: ModuleView
    _viewed: ref[nn.Module]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Skip ``__init_subclass__`` of the model's classes, which expect subclasses of their own kind."""

    def __getattr__(self, name: str) -> Any:
        child = self.__dict__["_modules"].get(name)
        return super().__getattr__(name) if child is None else self._views.of(child)  # type: ignore[misc]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _module(value))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(_module(self))

    def __eq__(self, other: object) -> bool:
        return self.__dict__ is getattr(other, "__dict__", None)

    def __hash__(self) -> int:
        return hash(_module(self))

    _forward_hooks = property(lambda self: self._hooks("_forward_hooks"))
    _forward_pre_hooks = property(lambda self: self._hooks("_forward_pre_hooks"))

    def _hooks(self, name: str) -> dict[int, Callable[..., Any]]:
        """Return the module's hooks, called with the module."""
        hooks: dict[int, Callable[..., Any]] = self.__dict__[name]
        return {key: partial(_with_module, hook) for key, hook in hooks.items()} if hooks else hooks

    def register_forward_hook(self, *args: Any, **kwargs: Any) -> Any:
        return _module(self).register_forward_hook(*args, **kwargs)

    def register_forward_pre_hook(self, *args: Any, **kwargs: Any) -> Any:
        return _module(self).register_forward_pre_hook(*args, **kwargs)


class _ListView(_View):
    """Mixin for views of ``nn.ModuleList`` and ``nn.Sequential``, whose children are reached by index too."""

    __slots__ = ()

    def __iter__(self) -> Iterator[nn.Module]:
        return map(self._views.of, self.__dict__["_modules"].values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            some = list(self)[index]
            return nn.Sequential(*some) if isinstance(self, nn.Sequential) else nn.ModuleList(some)
        return self._views.of(super().__getitem__(index))  # type: ignore[misc]


class _DictView(_View):
    """Mixin for views of ``nn.ModuleDict``."""

    __slots__ = ()

    def __getitem__(self, key: str) -> nn.Module:
        return self._views.of(self.__dict__["_modules"][key])

    def items(self) -> ItemsView[str, nn.Module]:
        return {key: self._views.of(module) for key, module in self.__dict__["_modules"].items()}.items()

    def values(self) -> ValuesView[nn.Module]:
        return dict(self.items()).values()


class _LinearView(_View):
    """Mixin for views of ``nn.Linear``: multiplies with the view's kernel."""

    __slots__ = ()

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        parameters = self.__dict__["_parameters"]
        try:
            weight, bias = parameters["weight"], parameters["bias"]
        except KeyError:  # a computed weight, such as a pruned one
            return nn.Linear.forward(self, rows)  # type: ignore[arg-type]
        return self._views.multiply(rows, weight, bias)


@lru_cache(maxsize=1024)
def _view_class(kind: Any) -> Any:
    """Return the class of views of modules of this class; None where a module is its own view."""
    if any(getattr(kind, name) is not getattr(nn.Module, name) for name in _READING):
        return None
    mixin: type[_View] = _LinearView if kind is nn.Linear else _View
    for container, of_container, methods in _CONTAINERS:
        if issubclass(kind, container):
            if any(getattr(kind, name) is not getattr(container, name) for name in methods):
                return None
            mixin = of_container
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind)(kind.__name__, (mixin, kind), {"__slots__": ("_viewed", "_views"), **names})


_READING = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__eq__", "__hash__")
"""A class that overrides one of these manages its own attributes, and no view can share them."""
_CONTAINERS: tuple[tuple[type[nn.Module], type[_View], tuple[str, ...]], ...] = (
    (nn.ModuleList, _ListView, ("__iter__", "__getitem__")),
    (nn.Sequential, _ListView, ("__iter__", "__getitem__")),
    (nn.ModuleDict, _DictView, ("__getitem__", "items", "values")),
)


def _module(value: Any) -> Any:
    """Return the module behind a view; any other value unchanged."""
    return value._viewed() if isinstance(value, _View) else value


def _with_module(hook: Callable[..., Any], module: nn.Module, *args: Any) -> Any:
    return hook(_module(module), *args)
