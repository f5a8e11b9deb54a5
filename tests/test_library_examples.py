"""The examples of the library's docstrings and of the README: each runs, and says what it claims to say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import decoding
from decoding import lade

ROOT = Path(__file__).parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def bundled() -> dict[str, Any]:
    """The names that examples take for granted, as a reader would have them from the package's own example."""
    names: dict[str, Any] = {}
    example = doctest.DocTestParser().get_doctest(decoding.__doc__ or "", names, "decoding", None, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for each in example.examples[:5]:
            exec(each.source, names)
    names["inputs"] = names["tokenizer"]("def add(a, b):", return_tensors="pt")
    return names


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {"decoding": decoding}
    for module in pkgutil.walk_packages(decoding.__path__, "decoding."):
        found[module.name] = importlib.import_module(module.name)
    for name, module in found.items():
        yield from (pytest.param(each, id=each.name) for each in finder.find(module, name) if each.examples)


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_says_what_it_claims(
    example: doctest.DocTest, bundled: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    example.globs.update(bundled)
    said: list[str] = []
    try:
        failed = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=said.append, clear_globs=False).failed
    finally:
        lade.restore()
        lade.decoding.CONFIG_MAP.clear()
    assert not failed, "".join(said)


def test_what_a_newcomer_needs_has_an_example() -> None:
    shown = {parameter.values[0].name for parameter in EXAMPLES}
    needed = {
        "decoding",
        "decoding.asynchronous",
        "decoding.detokenizer.Detokenizer",
        "decoding.integrations.custom_generate.generate",
        "decoding.lade",
        "decoding.step.GenerationStats",
    }
    assert needed <= shown


def test_the_readmes_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## The library\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    out = capsys.readouterr().out
    tokens, passes = map(int, re.findall(r"(\d+) tokens in (\d+) forward passes", out)[0])
    assert passes < tokens


def test_the_map_of_the_library_names_every_part_of_it_once() -> None:
    text = (ROOT / "assets" / "docs" / "library.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+(?:\.py|/))`", text.partition("## Map of `decoding/`")[2])
    parts = [f"{module.name}{'/' if module.ispkg else '.py'}" for module in pkgutil.iter_modules(decoding.__path__)]
    assert sorted(named) == sorted(parts)


def test_the_list_of_calls_names_files_and_functions_that_there_are() -> None:
    text = (ROOT / "assets" / "docs" / "loop.md").read_text(encoding="utf-8")
    folders = (ROOT, ROOT / "lade_chat", ROOT / "lade_chat" / "tui" / "chat")
    files = {
        name: [each / name for each in folders if (each / name).is_file()]
        for name in re.findall(r"`([\w/]+\.py)`", text)
    }
    assert [name for name, found in files.items() if not found] == []
    code = "".join(file.read_text(encoding="utf-8") for found in files.values() for file in found)
    called = re.findall(r"^\d+\. `(?:\w+\.)?(\w+)`", text, re.MULTILINE)
    assert [name for name in called if not re.search(rf"def {name}\b|\b{name} = ", code)] == []


def test_each_public_name_is_found_where_the_package_says() -> None:
    assert {name for name in decoding.__all__ if getattr(decoding, name, None) is None} == set()
    assert set(decoding.__all__) <= set(dir(decoding))
    # Type checkers read the imports alone.
    source = Path(decoding.__file__).read_text(encoding="utf-8")
    assert sorted(re.findall(r"import (\w+) as \1\n", source)) == decoding.__all__
    with pytest.raises(AttributeError, match="module 'decoding' has no attribute 'unknown'"):
        decoding.unknown  # noqa: B018
