"""ModelRunner: how one model is run (in C, compiled or plainly), what it supports, and what its steps cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary, ref

from torch import nn

from decoding.costs.step_cost import StepCost
from decoding.model.capabilities import ModelCapabilities, capabilities_of
from decoding.model.changes import ModelState, survey
from decoding.model.linear_kernels import is_changed_globally
from decoding.model.mask_check import why_branches_fail
from decoding.model.prefix import KVPrefix
from decoding.model.unwrapping import check_head, unwrapped
from decoding.native.kernels import native_kernels
from decoding.native.skeleton import Skeleton
from decoding.native_forward.hybrid_prefix import HybridPrefix
from decoding.native_forward.model_structures import NativeForward
from decoding.native_forward.native_check import matches_transformers, why_not_native, yields_numbers
from decoding.native_forward.native_prefix import NativePrefix
from decoding.recurrent.chain_prefix import ChainPrefix, why_chains_fail
from decoding.recurrent.recurrent_prefix import RecurrentPrefix
from decoding.torch_compile.compiled_forward import DEFAULT_BACKEND, CompiledForward, check_backend
from decoding.torch_compile.static_prefix import StaticPrefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_SUPPORTS = 8
"""Mask checks remembered, so that a hook or a patch that comes and goes is not checked every time."""

PrefixFactory: TypeAlias = "Callable[[PreTrainedModel, ModelCapabilities], KVPrefix]"


@dataclass(frozen=True, slots=True)
class Support:
    """Tells if a model is served; if not, the reason, as a sentence about the model.

    Attributes:
        one_chain: True if a recurrent state limits steps to a single chain of candidates, without a tree or a window.
    """

    supported: bool
    reason: str | None = None
    one_chain: bool = False

    @property
    def objections(self) -> list[str]:
        """The reason for plain decoding, for a representation; empty where there is none."""
        return [] if self.supported else [f"decodes plainly: {self.reason}"]


class ModelRunner:
    """All that is known of one model; obtained by :func:`runner_of`.

    Timings and compiled code are valid for the layout of the model's tensors, and are dropped when that changes.

    Attributes:
        step_costs: seconds of steps, by the ``compiled`` of the session that takes them, and True if ranks share them.
        prefix_factory: makes this model's prefixes, if they are of a special kind; it must not hold the model.
        weights_trusted: as :func:`~decoding.weight_trust.trust_weights` sets it.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        # A strong reference would keep the model alive for ever: the registry below holds this.
        self._model = ref(model)
        self._state = ModelState()
        self.step_costs: dict[tuple[bool | str, bool], StepCost] = {}
        self.prefix_factory: PrefixFactory | None = None
        self.weights_trusted = False
        self._capabilities: tuple[int, ModelCapabilities] | None = None
        self._native: tuple[int, NativeForward] | None = None
        self._native_support: tuple[object, Support] | None = None
        self._supports: list[tuple[object, Support]] = []
        self._compiled: dict[str, CompiledForward] = {}
        self._compiled_structure: object = None

    @property
    def model(self) -> PreTrainedModel:
        """The model. Raises ReferenceError once it is gone."""
        model = self._model()
        if model is None:
            raise ReferenceError("the model of this runner no longer exists")
        return model

    @property
    def state(self) -> ModelState:
        """The model's state as of the last refresh; the first use refreshes."""
        return self._state if self._state.layout else self.refresh()

    @property
    def capabilities(self) -> ModelCapabilities:
        """The model's capabilities as of the last refresh."""
        edition = self.state.edition
        if self._capabilities is None or self._capabilities[0] != edition:
            self._capabilities = edition, capabilities_of(self.model)
        return self._capabilities[1]

    @property
    def support(self) -> Support:
        """The support for lookahead as of the last refresh."""
        return self._support(self.state.structure)

    @property
    def packed_bytes(self) -> int:
        """The memory that copies of weights in bfloat16 take, for steps in C."""
        return 0 if self._native is None else self._native[1].copied_bytes

    def refresh(self) -> ModelState:
        """Compare the model with its last state. Unless weights are trusted, all are read."""
        settings = self._state.settings
        if self._state.update(survey(self.model), with_contents=not self.weights_trusted):
            self.step_costs = {}
            self._native = self._native_support = None
            self._supports, self._compiled = [], {}
        elif self._state.settings != settings:
            self._native_support = None
        return self._state

    def current_support(self, *, checked: bool = False) -> Support:
        """Return the support of the model as it is now, as :func:`lookahead_support`; no weight is read."""
        if not self._state.layout:
            self.refresh()
        return self._support(survey(self.model).structure, checked=checked)

    def check_native(self, *, checked: bool = False) -> Support:
        """Return :func:`native_support` as of the last refresh; some steps are compared if the structure is new."""
        structure, known = self.state.structure, self._native_support
        if known is None or known[0] != structure:
            if not checked and isinstance(model := self.model, Skeleton):
                model.to_transformers()  # what steps in C are compared with
                structure = self.refresh().structure
            if is_changed_globally():  # not kept, for it may end
                return Support(False, "autocast, or a hook or patch for all modules, is in force")
            reason = why_not_native(self.model, self.capabilities)
            if reason is None and (kernels := native_kernels()):
                forward = NativeForward(self.model, kernels)
                self._native = self.state.revision, forward
                is_right = yields_numbers if checked else matches_transformers
                if not is_right(self.model, self.capabilities, forward):
                    reason = "its steps in C give it other logits"
            known = structure, Support(reason is None, reason)
        # Keeps this very tuple, so that the next step compares identities, not two long tuples.
        self._native_support = structure, known[1]
        return known[1]

    def native_forward(self) -> NativeForward | None:
        """Return the forward pass in C, with the weights as of the last refresh; None if the model has none."""
        state, native, known = self._state, self._native, self._native_support
        if native and known and known[0] is state.structure and native[0] == state.revision and known[1].supported:
            return native[1]
        if (kernels := native_kernels()) is None or not self.check_native().supported:
            return None
        if self._native is None or self._native[0] != state.revision:
            self._native = state.revision, NativeForward(self.model, kernels)
        return self._native[1]

    def compiled_forward(self, backend: str = DEFAULT_BACKEND) -> CompiledForward:
        """Return the compiled forward pass; nothing is compiled before its first use.

        It is kept while the model's modules, patches and hooks stay the same. Raises ValueError for an unknown backend.
        """
        structure = self.state.structure
        if structure != self._compiled_structure:
            self._compiled, self._compiled_structure = {}, structure
        if backend not in self._compiled:
            check_backend(backend)
            support = self.current_support()
            reason = support.reason
            if support.one_chain:
                reason = "its state is recurrent"
            elif reason is None and self.capabilities.one_prefill:
                reason = "its forward pass depends on the length of the text"
            on_cuda = self.model.device.type == "cuda"
            self._compiled[backend] = CompiledForward(backend, on_cuda=on_cuda, reason=reason)
        return self._compiled[backend]

    def new_prefix(
        self, capabilities: ModelCapabilities | None = None, *, compiled: bool | str = False
    ) -> KVPrefix | RecurrentPrefix:
        """Return an empty prefix of the kind that serves the model, compiled as by :class:`~decoding.session.Session`.

        Where the model cannot be compiled it is not, and a warning says why.
        """
        capabilities = capabilities or self.capabilities
        if not capabilities.rewindable:
            if self.support.one_chain:
                chain = partial(ChainPrefix, self.model, capabilities)
                if self.check_native().supported:
                    return HybridPrefix(self.model, capabilities, self.native_forward, chain)
                return chain()
            return RecurrentPrefix(self.model, capabilities)
        if self.prefix_factory is not None:
            return self.prefix_factory(self.model, capabilities)
        if compiled:
            forward = self.compiled_forward(DEFAULT_BACKEND if compiled is True else compiled)
            if forward.reason is None:
                return StaticPrefix(self.model, capabilities, forward)
        if self.check_native().supported:
            return NativePrefix(self.model, capabilities, self.native_forward)
        return KVPrefix(self.model, capabilities)

    def _support(self, structure: object, *, checked: bool = False) -> Support:
        for known, support in self._supports:
            if known == structure:
                return support
        model, capabilities = self.model, capabilities_of(self.model)
        reason = capabilities.reason
        if reason is None and not checked and not self._is_compared(structure):
            why_it_fails = why_chains_fail if capabilities.one_chain else why_branches_fail
            reason = why_it_fails(model, capabilities)
        support = Support(reason is None, reason, one_chain=capabilities.one_chain and reason is None)
        self._supports = [(structure, support), *self._supports][:MAX_SUPPORTS]
        return support

    def _is_compared(self, structure: object) -> bool:
        """Return True if the model's steps run in C: those have been compared with transformers' forward pass."""
        return structure == self.state.structure and self.prefix_factory is None and self.check_native().supported


_runners: WeakKeyDictionary[PreTrainedModel, ModelRunner] = WeakKeyDictionary()


def runner_of(model: PreTrainedModel) -> ModelRunner:
    """Return the runner of a model, which is one and the same as long as the model lives.

    Raises TypeError unless it is a loaded transformers model, and what :func:`unwrapped` and :func:`check_head` raise.
    """
    if isinstance(model, nn.Module) and (known := _runners.get(model)) is not None:
        return known  # without asking the module for names that it does not have, which takes it long
    model = unwrapped(model)
    if not hasattr(model, "config") or not hasattr(model, "get_input_embeddings"):
        raise TypeError(f"model must be a loaded transformers model, not a {type(model).__name__}")
    check_head(model)
    return _runners.get(model) or _runners.setdefault(model, ModelRunner(model))


def lookahead_support(model: PreTrainedModel, *, checked: bool = False) -> Support:
    """Check the model's capabilities, then its masks with a few small forward passes.

    The answer is kept until the model's modules, their hooks and patches, its configuration, dtype or kind of device
    change. Hooks run in those passes too, so that one that changes only the last row is detected.

    Args:
        checked: the masks of a model of this code, configuration and dtype have been checked before, with these
            versions of the libraries, and need not be again.

    Raises:
        NotImplementedError: the model has no language modelling head, or a wrapper of it changes texts in a way that
            the model within does not know.
    """
    return runner_of(model).current_support(checked=checked)


def compile_support(model: PreTrainedModel, backend: str = DEFAULT_BACKEND) -> Support:
    """Try to compile the model's steps by a backend of `torch.compile`: seconds to minutes the first time."""
    runner = runner_of(model)
    runner.refresh()
    forward = runner.compiled_forward(backend)
    if forward.reason is None:
        StaticPrefix(runner.model, runner.capabilities, forward).compile()
    return Support(forward.reason is None, forward.reason)


def native_support(model: PreTrainedModel, *, checked: bool = False) -> Support:
    """Check if a model's steps run in C as it is now, which takes a few small forward passes the first time.

    Those of ``native/architectures.py`` do, on a CPU in float32 or bfloat16, int8 or not, with a C compiler.

    Args:
        checked: steps of a model of this configuration and these kinds of weights have been compared with
            transformers before, with these kernels, and need not be again.
    """
    runner = runner_of(model)
    runner.refresh()
    return runner.check_native(checked=checked)
