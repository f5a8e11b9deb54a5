"""A conversation becomes the ids that its model was trained on: one BOS, whole turns, room for a reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkpoints import CHATML, STRICT, byte_level_tokenizer, llama_tokenizer

from lade_chat.engine.comparison.ties import first_difference
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.errors import PromptError
from lade_chat.loading.text.tokenization import has_chat_template
from lade_chat.protocol.values import Message
from tests.pairs import LONG
from tests.speaking import prompt_of

SYSTEM = Message("system", "Be brief.")


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


@pytest.fixture(scope="module")
def chatml() -> Any:
    return byte_level_tokenizer(chat_template=CHATML)


@pytest.fixture(scope="module")
def plain() -> Any:
    return byte_level_tokenizer(chat_template=None)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Llama tokenizer that adds a BOS, with a template that writes one too and takes no system role."""
    tokenizer = llama_tokenizer(tmp_path_factory.mktemp("strict"), add_bos_token=True, legacy=True)
    tokenizer.chat_template = STRICT
    return tokenizer


def build(messages: list[Message], tokenizer: Any, *, raw: bool = False, window: int = 4096, new: int = 64) -> Prompt:
    return prompt_of(messages, tokenizer, raw=raw, window=window, new=new)


def text(prompt: Prompt, tokenizer: Any) -> str:
    return str(tokenizer.decode(list(prompt.ids)))


def test_the_chat_template_is_followed(chatml: Any) -> None:
    prompt = build([SYSTEM, user("Hi"), assistant("Hello"), user("Sum?")], chatml)
    assert text(prompt, chatml) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nSum?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (prompt.dropped_messages, prompt.max_new_tokens, prompt.stop_strings) == (0, 64, ())


def test_without_a_template_roles_are_plain_text_and_stop_the_reply(plain: Any) -> None:
    prompt = build([SYSTEM, user("Hi"), assistant(" Hello\n"), user("Sum?")], plain)
    assert text(prompt, plain) == "System: Be brief.\nUser: Hi\nAssistant: Hello\nUser: Sum?\nAssistant:"
    assert "\nUser:" in prompt.stop_strings


def test_raw_text_is_continued_as_it_stands(chatml: Any) -> None:
    assert text(build([user("def f(x):\n    ")], chatml, raw=True), chatml) == "def f(x):\n    "
    prompt = build([user("One,"), assistant(" two,"), user("three")], chatml, raw=True)
    assert text(prompt, chatml) == "One, two,\nthree"
    assert prompt.stop_strings == ()


def test_a_raw_text_has_no_thoughts(chatml: Any) -> None:
    assert build([user("The tag is <think>")], chatml, raw=True).begin == "answer"
    assert build([user("The tag is <think>")], chatml).begin == "reply"


@pytest.mark.parametrize("raw", [False, True])
def test_exactly_one_bos_where_the_model_wants_one(strict: Any, raw: bool) -> None:
    bos = strict.bos_token_id
    for template in (STRICT, STRICT.replace("{{ bos_token }}", ""), None):
        strict.chat_template = template
        ids = build([user("Ada counts")], strict, raw=raw).ids
        assert ids[0] == bos
        assert ids.count(bos) == 1
    strict.chat_template = STRICT
    assert build([user("<s>Ada counts")], strict, raw=True).ids.count(bos) == 1


def test_no_bos_where_the_model_wants_none(chatml: Any) -> None:
    chatml_with_bos = byte_level_tokenizer(bos_token="<|endoftext|>")
    for raw in (False, True):
        assert build([user("Hi")], chatml_with_bos, raw=raw).ids == build([user("Hi")], chatml, raw=raw).ids
        assert 0 not in build([user("Hi")], chatml_with_bos, raw=raw).ids


def test_a_refused_system_role_goes_into_the_first_question(strict: Any) -> None:
    folded = build([SYSTEM, user("Hi"), assistant("Hello"), user("Sum?")], strict)
    assert folded.ids == build([user("Be brief.\n\nHi"), assistant("Hello"), user("Sum?")], strict).ids


def test_a_silently_dropped_system_role_goes_into_the_first_question(chatml: Any) -> None:
    head, tail = CHATML.split("<|im_end|>\n", 1)
    without = head.replace("<|im_start|>", "{% if message['role'] != 'system' %}<|im_start|>", 1)
    silent = byte_level_tokenizer(chat_template=f"{without}<|im_end|>\n{{% endif %}}{tail}")
    assert build([SYSTEM, user("Hi")], silent).ids == build([user("Be brief.\n\nHi")], chatml).ids


def test_strict_alternation_is_kept_when_a_reply_was_stopped_at_once(strict: Any) -> None:
    interrupted = [user("Hi"), assistant(""), user("Sum?"), assistant("Ok"), assistant("Yes"), user("And?")]
    whole = [user("Hi\n\nSum?"), assistant("Ok\n\nYes"), user("And?")]
    assert build(interrupted, strict).ids == build(whole, strict).ids


def test_a_conversation_that_opens_with_the_assistant_is_taken(strict: Any, chatml: Any) -> None:
    opened = [assistant("Welcome"), user("Hi")]
    assert build(opened, strict).ids == build([user("Hi")], strict).ids
    assert "Welcome" in text(build(opened, chatml), chatml)


def counted(count: int) -> list[Message]:
    return [message for n in range(count) for message in (user(f"What is {n} plus 1?"), assistant(f"It is {n + 1}."))]


KINDS = pytest.mark.parametrize("kind", ["chatml", "plain", "strict"])


@KINDS
@pytest.mark.parametrize(("raw", "count"), [(False, 30), (True, 30), (False, 90)])
def test_the_oldest_turns_go_and_little_more_than_must(
    kind: str, raw: bool, count: int, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(kind)
    turns = counted(count)
    messages = [SYSTEM, *turns, user("And the sum?")]
    window, new = 200, 40
    prompt = build(messages, tokenizer, raw=raw, window=window, new=new)
    assert 0 < prompt.dropped_messages < len(turns)
    assert prompt.dropped_messages % 2 == 0
    assert len(prompt.ids) + new <= window
    assert prompt.max_new_tokens == new
    kept = [SYSTEM, *turns[prompt.dropped_messages :], user("And the sum?")]
    assert prompt.ids == build(kept, tokenizer, raw=raw).ids
    # A block is a quarter of the window, more or less, and begins with a whole turn.
    assert len(prompt.ids) + new > window - window // 2


@pytest.mark.parametrize(
    ("kind", "raw"), [("chatml", False), ("strict", True), ("plain", False), ("strict", False)][: 4 if LONG else 2]
)
def test_a_full_context_keeps_its_beginning_for_many_turns(
    kind: str, raw: bool, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(kind)
    turns, before, shares = counted(100), (), []
    for asked in range(90, len(turns), 2):
        prompt = build([SYSTEM, *turns[: asked + 1]], tokenizer, raw=raw, window=1024, new=40)
        if prompt.dropped_messages:
            shares.append(first_difference(before, prompt.ids) / len(prompt.ids))
        before = prompt.ids
    assert len(shares) >= 40
    assert sum(share >= 0.7 for share in shares) >= 0.8 * len(shares)


def test_an_edit_keeps_what_stands_before_it(chatml: Any) -> None:
    turns = counted(60)
    asked, edited = ([*turns, user(text)] for text in ("And the sum?", "And the product of all of them?"))
    ids, others = (build(messages, chatml, window=800).ids for messages in (asked, edited))
    assert first_difference(ids, others) > 0.9 * len(ids)


def test_a_long_system_prompt_leaves_more_than_the_last_turn(chatml: Any) -> None:
    turns = counted(60)
    system = Message("system", "Be brief. " * 100)
    length = len(build([system, user("Hi")], chatml).ids)
    prompt = build([system, *turns, user("And?")], chatml, window=length + 200, new=20)
    assert 0 < prompt.dropped_messages < len(turns) - 2
    assert len(prompt.ids) <= length + 180


def test_of_a_very_long_conversation_little_more_is_encoded_than_fits(plain: Any) -> None:
    encoded: list[str] = []

    class Counting:
        def __call__(self, text: str, **options: Any) -> Any:
            encoded.append(text)
            return plain(text, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(plain, name)

    turns = [message for n in range(2000) for message in (user(f"What is {n} plus 1?"), assistant(f"It is {n + 1}."))]
    prompt = build([*turns, user("And the sum?")], Counting(), raw=True, window=400)
    assert 200 < len(prompt.ids) <= 400 - 64
    assert sum(map(len, encoded)) < sum(len(turn.content) for turn in turns) // 8


def test_a_long_reply_does_not_push_the_conversation_out(chatml: Any) -> None:
    """Asking for more new tokens than the window holds leaves them a quarter of it, not the whole."""
    messages = [user("Hi"), assistant("Hello"), user("Sum?")]
    length = len(build(messages, chatml).ids)
    prompt = build(messages, chatml, window=2 * length, new=10_000)
    assert prompt.dropped_messages == 0
    assert prompt.max_new_tokens == length


def test_the_last_message_stays_as_long_as_one_token_of_reply_fits(chatml: Any) -> None:
    messages = [user("Hi"), assistant("Hello"), user("Sum of two words?")]
    length = len(build(messages[-1:], chatml).ids)
    prompt = build(messages, chatml, window=length + 1)
    assert (prompt.dropped_messages, prompt.max_new_tokens) == (2, 1)
    with pytest.raises(PromptError) as refused:
        build(messages, chatml, window=length)
    assert f"{length} tokens" in str(refused.value)
    assert str(length) in str(refused.value).split("window holds")[1]


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("messages", [[], [user("")], [user(" \n")], [SYSTEM, user("Hi"), user("")]])
def test_an_empty_prompt_is_refused_in_a_line(chatml: Any, messages: list[Message], raw: bool) -> None:
    with pytest.raises(PromptError, match="empty") as refused:
        build(messages, chatml, raw=raw)
    assert "\n" not in str(refused.value)


def test_without_a_question_there_is_nothing_to_answer(chatml: Any) -> None:
    for messages in ([SYSTEM], [assistant("Hello")], [SYSTEM, assistant("Hello")]):
        with pytest.raises(PromptError, match="said nothing yet"):
            build(messages, chatml)


@pytest.mark.parametrize("name", ["chatml", "plain", "strict"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_reply_goes_on_where_it_was_cut_off(request: pytest.FixtureRequest, name: str, raw: bool) -> None:
    tokenizer = request.getfixturevalue(name)
    question = [user("Count."), assistant("1"), user("On.")]
    asked, going_on = (build(messages, tokenizer, raw=raw) for messages in (question, [*question, assistant(" 2, 3,")]))
    assert text(going_on, tokenizer) == text(asked, tokenizer) + " 2, 3,"


def test_a_template_that_refuses_everything_is_reported_in_one_line() -> None:
    tokenizer = byte_level_tokenizer(chat_template="{{ raise_exception('never\nat all') }}")
    with pytest.raises(PromptError, match="never") as refused:
        build([user("Hi")], tokenizer)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("raw", [False, True])
def test_bytes_that_are_no_text_do_not_break_the_tokenizer(chatml: Any, raw: bool) -> None:
    assert "\ufffd" in text(build([user("a\udc80b")], chatml, raw=raw), chatml)


def test_a_long_prompt_prints_no_warning(chatml: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    build([user("Ada counts apples. " * 500)], chatml, window=10**6)
    assert capfd.readouterr() == ("", "")


def test_templates_by_name_need_a_default(plain: Any) -> None:
    assert not has_chat_template(plain)
    plain.chat_template = {"tool_use": CHATML}
    assert not has_chat_template(plain)
    plain.chat_template = {"default": CHATML}
    assert has_chat_template(plain)
    plain.chat_template = None
