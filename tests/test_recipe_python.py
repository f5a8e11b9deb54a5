"""The recipe's Python: every way of every task passes its cases, and wrong code does not."""

from __future__ import annotations

import re

import pytest

from assets.recipe import corpus
from assets.recipe.skills.python import functions
from assets.recipe.skills.python.composed import composed
from assets.recipe.skills.python.running import holds
from assets.recipe.skills.python.task import case_of, fill, parses, passes


def test_every_way_of_every_python_task_passes_its_cases() -> None:
    assert len(functions.TASKS) >= 200
    for task in functions.TASKS:
        for way in task.ways:
            for name in task.names:
                names = {"f": name, "xs": "numbers", "x": "number", "s": "text", "n": "n"}
                assert passes(fill(way.code, names), task.cases, name), (task.does, name)


def test_a_function_of_parts_does_the_same_in_a_line_and_in_a_loop() -> None:
    tasks = [composed(corpus.draw_for("parts", index)) for index in range(300)]
    names = {"f": "f", "xs": "numbers", "x": "number", "s": "text", "n": "n"}
    assert sum(len(task.ways) == 2 and bool(task.cases) for task in tasks) > 100
    assert all(passes(fill(way.code, names), task.cases) for task in tasks for way in task.ways)


def test_parameters_are_called_as_the_user_calls_them() -> None:
    exchanges = (functions.compose(corpus.draw_for("called", index))[0] for index in range(600))
    asked = [(found[1], one.reply) for one in exchanges if (found := re.match(r"(?:def )?(\w+\(\w+\))", one.ask))]
    assert len({call.partition("(")[2] for call, _ in asked}) > 8
    assert all(f"def {call}" in reply or f"def {call[:-1]}:" in reply for call, reply in asked)


def test_code_holds_what_is_true_of_its_last_function_and_of_its_output() -> None:
    code = "def half(x):\n    return x / 2\n\n\ndef twice(x):\n    return 2 * x\n\n\nprint(twice(4))"
    assert holds(code, ("f(3) == 6", "out() == '8\\n'"))
    assert not holds(code, ("f(3) == 6", "f(3) == 7"))
    assert not any(holds(wrong, ("True",)) for wrong in ("", "1 / 0", "def f(:", "exit()", "input()"))


@pytest.mark.parametrize(
    "endless", ["while True:\n    try:\n        pass\n    except:\n        pass", "sum(iter(int, 1))"]
)
def test_code_that_never_ends_is_wrong_and_the_next_is_examined_again(endless: str) -> None:
    assert holds("def f(): return 1", ("f() == 1",))
    assert not holds(endless, ("True",), seconds=0.2)
    assert holds("def f(): return 1", ("f() == 1",))


def test_code_that_is_wrong_does_not_pass() -> None:
    assert not passes("def f(x):\n    return x", (("1", "2"),))
    assert not passes("def f(x:", (("1", "1"),))


SHOWCASE = "Write a Python function that returns the sum of a list."


def test_the_showcase_question_is_in_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of all tasks only its own, which takes as long to be drawn as all words around it.
    tasks = tuple(task for task in functions.TASKS if "the sum of a list" in task.about)
    for name, value in (("TASKS", tasks), ("_PLAIN", tasks), ("_FAME", (1,) * len(tasks))):
        monkeypatch.setattr(functions, name, value)
    turns = (
        exchange.ask for index in range(3000)
        for exchange in corpus.skill_named("Python").compose(corpus.draw_for(0, index))
    )  # fmt: skip
    assert SHOWCASE in turns


@pytest.mark.parametrize("reply", ["", "def f(): pass", "```python\ndef f(:\n```", "```python\n```"])
def test_no_code_and_broken_code_do_not_parse(reply: str) -> None:
    assert not parses(reply)


@pytest.mark.parametrize(
    ("does", "do"),
    [
        ("sums a list", "sum a list"),
        ("does FizzBuzz", "do FizzBuzz"),
        ("searches", "search"),
        ("multiplies two numbers", "multiply two numbers"),
        ("is a generator", "be a generator"),
        ("says hello", "say hello"),
    ],
)
def test_what_a_function_does_is_what_somebody_wants_to_do(does: str, do: str) -> None:
    assert functions.to_infinitive(does) == do


def test_a_set_is_shown_in_one_order() -> None:
    letters = "abcdefgh"
    assert case_of("def $f(text):\n    return set(text)", repr(letters))[1] == "{" + repr(list(letters))[1:-1] + "}"
