"""The benchmark's prompts: suites that come along, files in other people's formats, and what is told of broken ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lade_chat.errors import LadeChatError
from lade_chat.suites.prompts import (
    BUNDLED,
    FEWEST_QUESTIONS,
    Question,
    Suite,
    bundled_suites,
    choose,
    read_suites,
)


def test_the_bundled_suites_have_prompts_enough_and_none_twice() -> None:
    suites = bundled_suites()
    assert tuple(suite.name for suite in suites) == BUNDLED
    for suite in suites:
        assert len(set(suite.questions)) == len(suite.questions) >= FEWEST_QUESTIONS


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
        (b'{"text": "A"}', "line 1: this has none of the fields turns, prompt, question"),
        (b"[1]", "line 1: this is no JSON object"),
        (b" \n\n", "holds no prompts"),
        (b"\xff\xfe", "is no UTF-8 text"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(LadeChatError, match=words):
        read_suites(path)


def test_suites_are_chosen_by_name_and_hold_each_question_once() -> None:
    a, b = Question(("a",)), Question(("b",))
    suites = [Suite("x", (a, b, a)), Suite("y", (b,)), Suite("x", (b, Question(("c",))))]
    assert choose(suites, ["x"], None) == [Suite("x", (a, b, Question(("c",))))]
    assert choose(suites, None, 1) == [Suite("x", (a,)), Suite("y", (b,))]
    with pytest.raises(LadeChatError, match="no suite 'z'"):
        choose(suites, ["z"], None)
