"""The bundled model: right in what the welcome page and the demo ask of it, one question after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding import LookaheadDecoder, Session
from lade_chat.paths import bundled_model_path
from lade_chat.tui.demo.script import BUNDLED
from lade_chat.tui.transcript.welcome import BUNDLED_EXAMPLES
from tests.models import tokens_of
from tests.pairs import LONG


def answers(*questions: str) -> list[str]:
    """The replies of one conversation, turn after turn."""
    path = Path(bundled_model_path())
    model, tokenizer = AutoModelForCausalLM.from_pretrained(path), AutoTokenizer.from_pretrained(path)
    decoder, session, messages = LookaheadDecoder(model), Session(model), []
    for question in questions:
        messages.append({"role": "user", "content": question})
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        reply = tokens_of(decoder.generate(ids, max_new_tokens=200, session=session))
        messages.append({"role": "assistant", "content": tokenizer.decode(reply, skip_special_tokens=True).strip()})
    return [message["content"] for message in messages if message["role"] == "assistant"]


def is_right(question: str, reply: str) -> bool:
    if question.startswith("Count"):
        first, last = map(int, re.findall(r"\d+", question))
        return [int(number) for number in re.findall(r"\d+", reply)] == list(range(first, last + 1))
    if question.startswith("Repeat"):
        return question.partition(": ")[2] in reply
    if "function" not in question:
        return "fox" in reply and len(reply) > 80
    code = re.search(r"```python\n(.*?)```", reply, re.DOTALL)
    scope: dict[str, object] = {}
    exec(code[1] if code else "", scope)
    (function,) = (value for name, value in scope.items() if name != "__builtins__")
    assert callable(function)
    return bool(function([2, 3, 7]) == (42 if "product" in question else 12))


@pytest.mark.parametrize(
    "questions",
    [
        tuple(BUNDLED_EXAMPLES),
        *([tuple(reversed(BUNDLED_EXAMPLES))] if LONG else []),
        (*BUNDLED.asked, BUNDLED.switched, BUNDLED.slow),
    ],
)
def test_one_after_the_other(questions: tuple[str, ...]) -> None:
    replies = answers(*questions)
    assert [question for question, reply in zip(questions, replies, strict=True) if not is_right(question, reply)] == []
