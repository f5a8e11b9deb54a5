"""A reply that is continued goes on from the model's own tokens, not from what the tokenizer makes of its text."""

from __future__ import annotations

from typing import Any

import pytest

from lade_chat.engine.job import Job
from lade_chat.engine.text.continued_reply import as_written, reply_prompt
from lade_chat.protocol.commands import RankTokens
from lade_chat.protocol.events import TokensRanked
from lade_chat.protocol.values import DecodingOptions, Message
from tests.checkpoints import byte_level_tokenizer
from tests.engine.talking import pieces_of, text_of
from tests.speaking import loaded_engine, make_speaking, reply_to

QUESTION = (Message("user", "Who keeps apples?"),)
SAID = "Bo keeps apples.\n\nAda 🍏 too."


def letters(tokenizer: Any, text: str) -> list[int]:
    """A token for each byte, where the tokenizer would take fewer."""
    visible = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    return [tokenizer.convert_tokens_to_ids(byte) for word, _ in visible(text) for byte in word]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Says a letter at a time; it tells positions only, so behind any other encoding it would say something else."""
    tokenizer = byte_level_tokenizer()
    said = [*letters(tokenizer, SAID), tokenizer.convert_tokens_to_ids("<|im_end|>")]
    assert len(tokenizer(SAID)["input_ids"]) < len(said) - 1
    return loaded_engine(make_speaking(tmp_path_factory.mktemp("letters"), tokenizer, QUESTION, said))


def test_a_reply_cut_anywhere_goes_on_as_if_it_had_not_been_cut(engine: Any) -> None:
    assert text_of(reply_to(engine, QUESTION)) == SAID
    for length in range(1, len(SAID)):
        pieces = pieces_of(reply_to(engine, QUESTION, max_new_tokens=length))
        begun = "".join(piece.text for piece in pieces)
        if "\ufffd" not in begun:
            reply_to(engine, (Message("user", "Another conversation?"),), max_new_tokens=1)
            written = [piece.id for piece in pieces]
            rest = text_of(reply_to(engine, (*QUESTION, Message("assistant", begun)), written))
            assert begun + rest == SAID, begun


def test_at_every_place_the_reply_s_own_token_is_the_likeliest(engine: Any) -> None:
    text, written = "", list[int]()
    for piece in filter(lambda piece: piece.text.isascii(), pieces_of(reply_to(engine, QUESTION))):
        begun = (Message("assistant", text),) if text.strip() else ()
        if not text or begun:
            command = RankTokens((*QUESTION, *begun), DecodingOptions(), piece.id, 0, tuple(written))
            (event,) = engine.handle(Job(command))
            assert isinstance(event, TokensRanked)
            assert event.tokens[0].id == piece.id or not piece.text, text
        if not piece.text:  # the next of these bytes are a character
            break
        text += piece.text
        written.append(piece.id)


def test_where_the_model_took_fewer_tokens_than_the_tokenizer_there_is_room_for_more(engine: Any) -> None:
    broken = engine.loaded.tokenizer.convert_tokens_to_ids("ÿ")  # a byte that is no character of UTF-8
    begun = (*QUESTION, Message("assistant", "\ufffd" * 10))
    prompt = reply_prompt(engine.loaded, begun, DecodingOptions(max_new_tokens=10_000), [broken] * 10)
    assert prompt.ids[-10:] == (broken,) * 10
    assert len(prompt.ids) + prompt.max_new_tokens == engine.loaded.info.context_window


def test_what_was_added_to_it_stands_behind_the_model_s_tokens() -> None:
    tokenizer = byte_level_tokenizer()
    prompt, written = tuple(tokenizer("Who?")["input_ids"]), letters(tokenizer, SAID)

    def ids(text: str) -> tuple[int, ...]:
        return (*prompt, *tokenizer(text)["input_ids"])

    edited = as_written(ids("Bo keeps pears."), (*prompt, *written), tokenizer)
    assert edited == (*prompt, *written[:9], *tokenizer("pears.")["input_ids"])
    assert as_written(ids("Ada keeps pears."), (*prompt, *written), tokenizer) == ids("Ada keeps pears.")
    assert as_written(ids(SAID), (), tokenizer) == ids(SAID)
    named = "Bo keeps <|im_end|>"
    plain = (*prompt, *tokenizer("Bo keeps <|im_end|>", split_special_tokens=True)["input_ids"])
    assert as_written(plain, (*prompt, *written), tokenizer) == plain, named
