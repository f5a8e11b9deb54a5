"""Chat templates are programs of strangers: none hangs the chat, takes the memory, or floods the prompt."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from checkpoints import CHATML, byte_level_tokenizer

from lade_chat.errors import PromptError
from lade_chat.loading.text.template_renderer import TemplateLimitError, render
from lade_chat.loading.text.tokenization import end_of_turn_id, template_notice, template_problem
from lade_chat.protocol.values import Message
from tests.running import python
from tests.speaking import prompt_of

LOOPS = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
HOSTILE = {
    "loops": LOOPS,
    "a long text": "{{ 'a' * 10**10 }}",
    "a long number": "{{ 10 ** (10 ** 9) }}",
    "a macro without end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a flood": "{{ 'word ' * 10**6 }}",
    "doubling": "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x }}",
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_level_tokenizer(chat_template=CHATML)


def test_templates_that_ask_for_too_much_are_refused_in_a_line(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: each that ends the renderer has it started anew, which takes a second."""
    with monkeypatch.context() as patch:
        # So that no test waits for long.
        patch.setattr("lade_chat.loading.text.template_renderer.WALL_SECONDS", 0.2)
        for kind, template in HOSTILE.items():
            tokenizer.chat_template = CHATML + template
            with pytest.raises(TemplateLimitError) as refused:
                render(tokenizer, [{"role": "user", "content": "Hi"}], generation_prompt=True)
            assert "\n" not in str(refused.value), kind
            assert len(str(refused.value)) < 200, kind
    tokenizer.chat_template = CHATML
    assert template_problem(tokenizer) is None
    assert end_of_turn_id(tokenizer) is not None


def test_the_renderer_starts_without_the_rest_of_transformers() -> None:
    code = """
import sys
from lade_chat.loading.text.template_worker import main
main()
sys.exit(99 if {"torch", "transformers.utils.hub"} & set(sys.modules) else 0)
"""
    ended = python(code)
    assert ended.returncode == 0, ended.stderr


def test_a_prompt_whose_template_asks_for_too_much_says_what_to_do(tokenizer: Any) -> None:
    tokenizer.chat_template = CHATML + HOSTILE["a macro without end"]
    with pytest.raises(PromptError, match=r"template is not used, since it calls itself too often.*: try --raw"):
        prompt_of([Message("user", "Hi")], tokenizer)


@pytest.mark.parametrize(
    ("template", "words"),
    [("{# nothing #}", "leaves the question out"), ('{{ messages[0].content + "\\ud800" }}', "half a character")],
)
def test_a_template_that_gives_no_prompt_is_found_when_the_model_is_loaded(
    tokenizer: Any, template: str, words: str
) -> None:
    tokenizer.chat_template = template
    assert words in str(template_problem(tokenizer))


def test_a_template_that_reads_contents_in_parts_gets_them_so(tokenizer: Any) -> None:
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}{% if m['content'][0]['type'] == 'image' %}:{% else %}: {% endif %}"
        "{% for line in m['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}{% endif %}{% endfor %}"
        "<|im_end|>{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
    )
    assert template_notice(tokenizer) is None
    conversation = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "[1]"}]
    assert render(tokenizer, conversation, generation_prompt=False) == "user: Hi<|im_end|>assistant: [1]<|im_end|>"
    assert end_of_turn_id(tokenizer) == tokenizer.convert_tokens_to_ids("<|im_end|>")


def test_such_a_template_is_found_when_the_model_is_loaded(tokenizer: Any) -> None:
    tokenizer.chat_template = HOSTILE["a long text"]
    assert "memory" in str(template_problem(tokenizer))
    assert end_of_turn_id(tokenizer) is None


def test_what_is_rendered_is_what_transformers_renders(tokenizer: Any) -> None:
    conversation = [
        {"role": "system", "content": "Be brief. \U0001f642\u2028"},
        {"role": "user", "content": "  déjà\tvu\n"},
        {"role": "assistant", "content": "{{ 7 * 7 }}"},
    ]
    for template in (CHATML, "{{ messages | tojson }}{{ bos_token }}{{ eos_token }}{{ additional_special_tokens }}"):
        tokenizer.chat_template = template
        for prompt in (True, False):
            expected = tokenizer.apply_chat_template(conversation, add_generation_prompt=prompt, tokenize=False)
            assert render(tokenizer, conversation, generation_prompt=prompt) == expected


def test_a_long_conversation_is_no_flood(tokenizer: Any) -> None:
    tokenizer.chat_template = CHATML
    text = "Ada counts apples. " * 200_000
    assert text in render(tokenizer, [{"role": "user", "content": text}], generation_prompt=True)


def test_several_threads_may_render_at_once(tokenizer: Any) -> None:
    tokenizer.chat_template = CHATML
    texts: dict[int, str] = {}

    def work(number: int) -> None:
        for _ in range(20):
            texts[number] = render(tokenizer, [{"role": "user", "content": f"<{number}>"}], generation_prompt=False)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"<{number}>" in texts[number] for number in range(4))


def test_a_class_that_renders_in_its_own_way_is_left_to_it(tokenizer: Any) -> None:
    class Own(type(tokenizer)):  # type: ignore[misc]
        def apply_chat_template(self, conversation: Any, **_options: Any) -> str:
            return f"own {conversation[0]['content']}"

    own = Own(tokenizer_object=tokenizer.backend_tokenizer, chat_template=CHATML)
    assert render(own, [{"role": "user", "content": "Hi"}], generation_prompt=True) == "own Hi"
