"""The benchmark's prompts: suites that come along, files in other people's formats, and what is told of broken ones."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lade_chat.cli.running.batch import read_batch
from lade_chat.errors import LadeChatError
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import (
    BUNDLED,
    MIN_QUESTIONS,
    Question,
    Suite,
    bundled_suites,
    choose,
)


def test_the_bundled_suites_have_prompts_enough_and_none_twice() -> None:
    suites = bundled_suites()
    assert tuple(suite.name for suite in suites) == BUNDLED
    for suite in suites:
        assert len(set(suite.questions)) == len(suite.questions) >= MIN_QUESTIONS


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("One\n\nTwo\\nlines, a \\\\n\n", {"mine": [("One",), ("Two\nlines, a \\n",)]}),
        (
            '{"question_id": 1, "category": "writing", "turns": ["A", "B"]}\n'
            '{"question_id": 2, "category": "qa", "turns": ["C"], "prompt": ["x"]}\n'
            '{"question_id": 3, "category": "writing", "turns": ["D"]}',
            {"writing": [("A", "B"), ("D",)], "qa": [("C",)]},
        ),
        ('{"task_id": "HumanEval/0", "prompt": "def f():\\n"}', {"humaneval": [("def f():\n",)]}),
        ('{"prompt": "Hello"}', {"prompts": [("Hello",)]}),
        ('\ufeff{"question": "How many?", "answer": "4"}\n\n', {"gsm8k": [("How many?",)]}),
        ('{"question": "How many?"}', {"questions": [("How many?",)]}),
        # ShareGPT, Alpaca and other JSON arrays.
        (
            '[\n {"id": "1", "conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "A"},'
            ' {"from": "gpt", "value": "x"}, {"from": "human", "value": "B"}]}\n]',
            {"sharegpt": [("A", "B")]},
        ),
        (
            '[{"instruction": "Sort.", "input": "3 1 2", "output": "1 2 3"}, {"instruction": "Sing.", "input": ""}]',
            {"alpaca": [("Sort.\n\n3 1 2",), ("Sing.",)]},
        ),
        ('["One", "Two\\nlines"]', {"mine": [("One",), ("Two\nlines",)]}),
        ('{\n  "prompt": "Hello"\n}\n', {"prompts": [("Hello",)]}),
        # Messages, as those who train chat models keep them.
        (
            '{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "A"},'
            ' {"role": "assistant", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "B"}]}]}',
            {"messages": [("A", "B")]},
        ),
        ('{"prompt": [{"role": "user", "content": "A"}], "category": "qa"}', {"qa": [("A",)]}),
        ('{"prompt": ["A", "B"], "category": "writing"}', {"writing": [("A", "B")]}),
        # JSON needs no escape for separators of lines other than its own.
        ('{"prompt": "A\u2028B\x85C"}\r\n{"prompt": "D"}\r\n', {"prompts": [("A\u2028B\x85C",), ("D",)]}),
    ],
)
def test_a_file_is_read_in_its_own_format(tmp_path: Path, content: str, expected: dict[str, Any]) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(content, encoding="utf-8")
    assert {suite.name: [each.turns for each in suite.questions] for suite in read_suites(path)} == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"turns": ["A"]}\n{"turns": [', "line 2: this is not JSON"),
        (b'{"turns": ["A"]}\n\nHello', "line 3: this is not JSON"),
        (b'{"turns": "A"}', "line 1: turns must be a list of texts"),
        (b'{"turns": ["A", 3]}', "line 1: turns must be text"),
        (b'{"question": ""}', "line 1: question must be text"),
        (b'{"text": "A"}', "line 1: this has none of the fields turns, messages, conversations, prompt, question, "),
        (b"[1]", "item 1: this is neither a JSON object nor a text"),
        (b'["A", {"text": 1}]', "item 2: this has none of the fields"),
        (b'["A",\n"B"', "line 2: this is not JSON"),
        (b"[]", "holds no prompts"),
        (b'{"messages": [{"role": "assistant", "content": "A"}]}', "line 1: messages has no user's turn"),
        (b'{"messages": ["A"]}', "line 1: messages must be a list of objects"),
        (b'{"messages": [{"role": "user", "content": [{"type": "image"}]}]}', "line 1: content must be text"),
        (b'{"conversations": [{"from": "human"}]}', "line 1: value must be text"),
        (b'{"instruction": "A", "input": 3}', "line 1: input must be text"),
        (b'{"prompt": "\\ud800"}', "line 1: prompt holds half a character"),
        (b"[" * 100_000, "this is not JSON"),
        (b"\x1f\x8b\x08broken", "cannot be unpacked"),
        (b" \n\n", "holds no prompts"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(LadeChatError, match=words):
        read_suites(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device without end")
def test_a_device_without_end_is_told_before_it_fills_the_memory() -> None:
    for read in (lambda path: read_batch(path, None), read_suites):
        with pytest.raises(LadeChatError, match=r"/dev/zero is longer than .*, or has no end: give a file"):
            read(Path("/dev/zero"))


def test_human_eval_is_read_as_it_is_shipped(tmp_path: Path) -> None:
    path = tmp_path / "HumanEval.jsonl.gz"
    lines = [{"task_id": f"HumanEval/{n}", "prompt": f"def f{n}():\n", "test": "pass"} for n in range(2)]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert read_suites(path) == [Suite("humaneval", (Question(("def f0():\n",)), Question(("def f1():\n",))))]
    path = tmp_path / "mine.txt.gz"
    path.write_bytes(gzip.compress(b"One\n"))
    assert read_suites(path) == [Suite("mine", (Question(("One",)),))]
    path.write_bytes(gzip.compress(b"One\n")[:-4])
    with pytest.raises(LadeChatError, match="cannot be unpacked"):
        read_suites(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", '\ufeffPrompt, category\n"One, with a comma\nand a line",x\nTwo,\n', {"x": 1, "prompts": 1}),
        ("a.CSV", "id;question\n1;How many?\n", {"questions": 1}),
        ("a.tsv", "instruction\tinput\nSort\t3, 1\n\nSing\t\n", {"alpaca": 2}),
    ],
)
def test_a_table_is_read_by_its_header(tmp_path: Path, name: str, content: str, expected: dict[str, int]) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert {suite.name: len(suite.questions) for suite in read_suites(path)} == expected
    (first, *_) = read_suites(path)
    assert first.questions[0].turns[0] in ("One, with a comma\nand a line", "How many?", "Sort\n\n3, 1")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("text,category\nOne,x\n", r"line 1: the header names none of prompt, question, instruction"),
        ("prompt,category\nOne,x\n,y\n", "line 3: prompt must be text"),
        ("prompt\nOne, two\n", "line 2: this has more cells than the header"),
        ('prompt\n"One\n', "after line 1: this is not CSV"),
        ("prompt\n", "holds no prompts"),
    ],
)
def test_a_broken_table_is_told_with_its_line(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LadeChatError, match=words):
        read_suites(path)


ROWS = [{"category": "writing", "prompt": ["A", "B"], "prompt_id": 7}, {"category": "qa", "prompt": ["C"]}]


def test_parquet_is_read_where_pyarrow_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one is as small as the test needs it."""
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1....PAR1")
    for library in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(LadeChatError, match=r"Parquet.*pip install pyarrow"):
        read_suites(path)

    class Table:
        def to_pylist(self) -> list[dict[str, Any]]:
            return ROWS

    parquet: Any = ModuleType("pyarrow.parquet")
    parquet.read_table = lambda file: Table()
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    assert read_suites(path) == [Suite("writing", (Question(("A", "B")),)), Suite("qa", (Question(("C",)),))]

    def broken(file: str) -> Table:
        raise OSError("Couldn't deserialize thrift.")

    parquet.read_table = broken
    with pytest.raises(LadeChatError, match=r"Couldn't deserialize thrift\.$"):
        read_suites(path)


def test_a_real_parquet_file_is_read(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "mine.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    assert read_suites(path) == [Suite("writing", (Question(("A", "B")),)), Suite("qa", (Question(("C",)),))]


def test_suites_are_chosen_by_name_and_hold_each_question_once() -> None:
    a, b = Question(("a",)), Question(("b",))
    suites = [Suite("x", (a, b, a)), Suite("y", (b,)), Suite("x", (b, Question(("c",))))]
    assert choose(suites, ["x"], None) == [Suite("x", (a, b, Question(("c",))))]
    assert choose(suites, None, 1) == [Suite("x", (a,)), Suite("y", (b,))]
    with pytest.raises(LadeChatError, match="no suite 'z'"):
        choose(suites, ["z"], None)


def test_a_cell_of_a_table_may_be_as_long_as_any_prompt(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f'prompt\n"{"x" * 200_000}"\n')
    (suite,) = read_suites(path)
    assert [len(each.turns[0]) for each in suite.questions] == [200_000]
