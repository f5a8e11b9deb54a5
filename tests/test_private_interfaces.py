"""The undocumented interfaces of torch and transformers: each test says which one is gone, and what needs it."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomlkit
import torch
import transformers
from packaging.requirements import Requirement
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from transformers import DynamicCache, GenerationMixin

from decoding.integrations.custom_generate import NEEDED
from decoding.model import private_interfaces
from tests.models import random_model, random_prompt

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("library", [torch, transformers])
def test_the_installed_library_is_in_the_range_that_the_package_declares(library) -> None:
    declared = map(Requirement, tomlkit.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    (requirement,) = (each for each in declared if each.name == library.__name__)
    assert requirement.specifier.contains(library.__version__.split("+")[0])


def test_modules_keep_their_parts_in_the_known_fields() -> None:
    fields = {"_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"}
    assert fields | {"_non_persistent_buffers_set"} <= set(vars(nn.Linear(2, 2))), (
        "linear_kernels and others read these"
    )


def test_fbgemm_multiplies_packed_integers() -> None:
    weight, scales = torch.randint(-64, 65, (6, 4), dtype=torch.int8), torch.rand(6)
    rows = torch.randint(-127, 128, (3, 4)) / 127
    product = private_interfaces.int8_product(rows, private_interfaces.pack_int8(weight, scales), 1 / 127)
    torch.testing.assert_close(product, rows @ (weight * scales[:, None]).t())


def test_tensors_count_changes_in_place() -> None:
    tensor = torch.zeros(2)
    before = private_interfaces.version_of(tensor)
    tensor.add_(1)
    assert private_interfaces.version_of(tensor) > before
    with torch.inference_mode():
        assert private_interfaces.version_of(torch.zeros(2)) == 0


def test_tensor_subclasses_name_what_they_wrap() -> None:
    parts = torch.ones(2), torch.zeros(2)
    wrapper = SimpleNamespace(one=parts[0], other=parts[1], __tensor_flatten__=lambda: (["one", "other"], None))
    assert private_interfaces.inner_tensors(wrapper) == [*parts]  # type: ignore[arg-type]
    assert private_interfaces.inner_tensors(parts[0]) is None


def test_hooks_on_all_modules_are_seen() -> None:
    handle = register_module_forward_hook(lambda module, args, output: None)
    assert private_interfaces.global_hooks()
    handle.remove()
    assert not private_interfaces.global_hooks()


def test_the_compiler_takes_marks() -> None:
    tensor = torch.zeros(1, 4)
    private_interfaces.mark_static_address(tensor)
    assert private_interfaces.mark_varying(tensor, 0, -1) is tensor
    marks = set().union(*(value for name, value in vars(tensor).items() if "dynamic" in name and value))
    assert marks == {1}


def test_generate_decodes_by_the_known_methods() -> None:
    for name in (private_interfaces.SAMPLE_METHOD, *private_interfaces.OTHER_METHODS):
        assert callable(getattr(GenerationMixin, name)), f"lade patches {name}"


def test_a_model_says_which_attention_it_runs_with() -> None:
    model = random_model("llama")
    model.set_attn_implementation("eager")
    assert private_interfaces.attention_implementation(model) == "eager"


def test_a_cache_of_the_caller_is_told_from_one_of_generate() -> None:
    seen = []

    def decode(model, input_ids, **prepared):
        seen.append(private_interfaces.is_users_cache(prepared["past_key_values"]))
        return input_ids

    model, ids = random_model("llama"), torch.tensor([random_prompt(3)])
    for options in ({}, {"past_key_values": DynamicCache()}):
        model.generate(ids, custom_generate=decode, max_new_tokens=1, **options)
    assert seen == [False, True]


def test_a_forward_pass_hands_on_its_state() -> None:
    model = random_model("mamba")
    output = model(torch.tensor([random_prompt(3)]), use_cache=True)
    handed_on = private_interfaces.arguments_after(model, output)
    assert any(value is not None for value in handed_on.values())


def test_generate_has_the_local_variables_that_a_callable_is_not_given() -> None:
    names = inspect.unwrap(GenerationMixin.generate).__code__.co_varnames
    assert set(NEEDED) <= set(names), "custom_generate reads these"
