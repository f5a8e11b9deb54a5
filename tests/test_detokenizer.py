"""The pieces join to exactly the decoded text, for every split of any ids, and never show half a character."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers
from checkpoints import byte_level_tokenizer, llama_tokenizer, sentencepiece_model

from decoding import Detokenizer
from tests.pairs import LONG

TEXT = "naïve café 你好 🙂👨‍👩‍👧!\n\ndef f(x):\n    if x:\n\t\treturn  [x]\n"


def slow_sentencepiece(folder: Path) -> Any:
    (folder / "spiece.model").write_bytes(sentencepiece_model())
    return transformers.BertGenerationTokenizer(str(folder / "spiece.model"))


MAKERS: dict[str, Callable[[Path], Any]] = {
    "llama": llama_tokenizer,
    "byte-level": lambda _folder: byte_level_tokenizer(),
    "slow sentencepiece": slow_sentencepiece,
    "slow bytes": lambda _folder: transformers.ByT5Tokenizer(),
}


@pytest.fixture(scope="module", params=MAKERS)
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return MAKERS[request.param](tmp_path_factory.mktemp("tokenizer"))


def encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def decode(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def pieces(tokenizer: Any, prompt: list[int], ids: list[int]) -> list[str]:
    detokenizer = Detokenizer(tokenizer, prompt)
    return [*(detokenizer.push(id_) for id_ in ids), detokenizer.finish()]


def expected(tokenizer: Any, prompt: list[int], ids: list[int]) -> str:
    """What the reply adds to the text."""
    return decode(tokenizer, prompt + ids)[len(decode(tokenizer, prompt)) :]


def test_pieces_join_to_the_text_that_was_encoded(tokenizer: Any) -> None:
    prompt = encode(tokenizer, "User: hi\nAssistant:")
    whole = encode(tokenizer, "User: hi\nAssistant:" + TEXT)
    joined = "".join(pieces(tokenizer, prompt, whole[len(prompt) :]))
    assert joined == expected(tokenizer, prompt, whole[len(prompt) :])
    if whole[: len(prompt)] == prompt and decode(tokenizer, whole).endswith(TEXT):
        assert joined == TEXT


def test_pieces_join_to_the_text_for_random_ids(tokenizer: Any) -> None:
    dice = random.Random(0)
    for _ in range(150 if LONG else 50):
        prompt = encode(tokenizer, "".join(dice.choice("ab 🙂\n") for _ in range(dice.randrange(40))) + "a x")
        ids = [dice.randrange(len(tokenizer)) for _ in range(dice.randrange(120))]
        assert "".join(pieces(tokenizer, prompt, ids)) == expected(tokenizer, prompt, ids)


def test_pieces_join_to_the_text_for_broken_characters(tokenizer: Any) -> None:
    dice = random.Random(1)
    for _ in range(150 if LONG else 50):
        ids = encode(tokenizer, "".join(dice.choice("a 🙂你é\n\ufffd") for _ in range(40)))
        for _ in range(dice.randrange(6)):
            del ids[dice.randrange(len(ids))]
            ids.insert(dice.randrange(len(ids)), dice.choice(ids))
        prompt = encode(tokenizer, "a x")
        assert "".join(pieces(tokenizer, prompt, ids)) == expected(tokenizer, prompt, ids)


def test_no_piece_holds_half_a_character(tokenizer: Any) -> None:
    ids = encode(tokenizer, "a 你好 🙂🙂 é\n" * 5)
    assert not any("\ufffd" in piece for piece in pieces(tokenizer, encode(tokenizer, "x"), ids))


def test_an_unfinished_character_reads_as_decode_reads_it(tokenizer: Any) -> None:
    for cut in range(1, 5):
        ids = encode(tokenizer, "ab🙂")[:-cut]
        prompt = encode(tokenizer, "x")
        assert "".join(pieces(tokenizer, prompt, ids)) == expected(tokenizer, prompt, ids)


def test_what_is_pending_is_what_decode_would_add_now(tokenizer: Any) -> None:
    prompt, ids = encode(tokenizer, "x"), encode(tokenizer, "a\n\n🙂é\nb你")
    detokenizer, text = Detokenizer(tokenizer, prompt), ""
    for count, id_ in enumerate(ids, start=1):
        text += detokenizer.push(id_)
        assert text + detokenizer.pending == expected(tokenizer, prompt, ids[:count])
    assert text + detokenizer.finish() == expected(tokenizer, prompt, ids)
    assert detokenizer.pending == ""


def test_the_tokens_of_a_step_may_be_given_together(tokenizer: Any) -> None:
    prompt, ids = encode(tokenizer, "x"), encode(tokenizer, TEXT)
    detokenizer = Detokenizer(tokenizer, prompt)
    text = "".join(detokenizer.push(*ids[start : start + 5]) for start in range(0, len(ids), 5))
    assert text + detokenizer.finish() == expected(tokenizer, prompt, ids)
    assert detokenizer.push() == ""
    alone = Detokenizer(tokenizer)
    assert alone.push(*ids) + alone.finish() == decode(tokenizer, ids)


def test_tokens_may_be_tensors(tmp_path: Path) -> None:
    tokenizer = llama_tokenizer(tmp_path)
    ids = tokenizer("two words and more", add_special_tokens=False, return_tensors="pt").input_ids
    text, same = Detokenizer(tokenizer, ids), Detokenizer(tokenizer, ids[0].tolist())
    assert text.push(*ids[0]) + text.finish() == same.push(*ids[0].tolist()) + same.finish() != ""


def test_special_and_unknown_ids_give_no_text(tokenizer: Any) -> None:
    nothing = [tokenizer.eos_token_id, len(tokenizer) + 5, tokenizer.pad_token_id or tokenizer.eos_token_id]
    assert pieces(tokenizer, encode(tokenizer, "x"), nothing) == ["", "", "", ""]
    ids = [id_ for id_ in encode(tokenizer, "so it is") for id_ in (id_, *nothing)]
    assert "".join(pieces(tokenizer, encode(tokenizer, "x"), ids)).strip() == "so it is"


@pytest.mark.parametrize("token_id", [-1, 10**9, 2**32, 2**70])
def test_what_no_model_has_as_an_id_is_refused(tokenizer: Any, token_id: int) -> None:
    detokenizer, ids = Detokenizer(tokenizer), encode(tokenizer, "so it is")
    with pytest.raises(ValueError, match=f"^{token_id} is not a token id"):
        detokenizer.push(token_id)
    with pytest.raises(ValueError, match=f"^{token_id} is not a token id"):
        Detokenizer(tokenizer, [token_id])
    assert detokenizer.push(*ids) + detokenizer.finish() == decode(tokenizer, ids)


@pytest.mark.parametrize("wrong", ["x", None, 5, transformers.ByT5Tokenizer])
def test_what_is_no_tokenizer_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="tokenizer must be a loaded transformers tokenizer, not"):
        Detokenizer(wrong)


def test_the_replys_first_space_is_kept(tmp_path: Path) -> None:
    tokenizer = llama_tokenizer(tmp_path)
    prompt, reply = encode(tokenizer, "Assistant:"), encode(tokenizer, "Ada counts")
    assert "".join(pieces(tokenizer, prompt, reply)) == " Ada counts"


def test_a_text_without_a_prompt_starts_as_decode_starts_it(tokenizer: Any) -> None:
    ids = encode(tokenizer, "Ada counts apples.")
    assert "".join(pieces(tokenizer, [], ids)) == decode(tokenizer, ids)


def test_a_long_reply_comes_as_it_goes(tokenizer: Any) -> None:
    """Memory and time per token do not grow: each word is out as soon as the next begins."""
    ids = encode(tokenizer, "Ada counts apples. " * 300)
    detokenizer = Detokenizer(tokenizer, encode(tokenizer, "x"))
    text = ""
    for index, id_ in enumerate(ids):
        text += detokenizer.push(id_)
        if index % 100 == 0:
            assert expected(tokenizer, encode(tokenizer, "x"), ids[: index + 1]).startswith(text)
    assert text + detokenizer.finish() == expected(tokenizer, encode(tokenizer, "x"), ids)
