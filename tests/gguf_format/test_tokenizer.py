"""A file's tokenizer gives the ids of the tokenizer that it was made from."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import sentencepiece

from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError
from decoding.gguf.tokenizer import PRE_TOKENIZERS, build_tokenizer
from decoding.gguf.vocabulary import Vocabulary
from tests.gguf_format.files import write
from tests.gguf_format.models import CORPUS, SPECIAL, trained, vocabulary

SAMPLES = [
    *("", " ", "  ", "\n", " \n\t", "a", " a", "a ", "the quick  brown", "    return a\n\n", "1234 56 7", "½ ² ٣ Ⅷ"),
    *(
        "don't I'LL he's",
        "日本語。中文",
        "🙂👩‍👩‍👧",
        "é e\u0301",
        "x\u00a0y\u3000z",
        "a\x00b",
        "x" * 50,
        "\r\n\r\n",
        "!?.,;()[]",
    ),
]
PIECES = "abcdeinrsth  \n\t0129.,'\"()🙂日本é½"


def samples(seed: int = 0) -> list[str]:
    """Texts of all kinds."""
    draw = Random(seed)
    return SAMPLES + ["".join(draw.choices(PIECES, k=draw.randint(1, 30))) for _ in range(200)]


def loaded(path: Path, metadata: dict[str, Any]) -> tuple[Any, Vocabulary]:
    """The tokenizer and the vocabulary of a file with this metadata."""
    kept = {key: value for key, value in metadata.items() if value is not None}
    read = GgufFile.open(write(path / "vocabulary.gguf", kept, {})).metadata
    found = Vocabulary.read(read)
    return build_tokenizer(read, found), found


CONTRACTIONS, WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?\p{L}+"
OTHERS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.parametrize(
    ("pre", "pattern", "use_regex"),
    [
        ("smollm", r"\p{N}", True),
        ("gpt-2", "(?!)", True),
        ("llama-bpe", rf"{CONTRACTIONS}|{WORDS}|\p{{N}}{{1,3}}|{OTHERS}", False),
        ("qwen2", rf"{CONTRACTIONS}|{WORDS}|\p{{N}}|{OTHERS}", False),
    ],
)
def test_ids_of_byte_pairs_are_those_of_the_original(pre: str, pattern: str, use_regex: bool, tmp_path: Path) -> None:
    original = trained(pattern, use_regex)
    tokenizer, _ = loaded(tmp_path, {**vocabulary(original, pre), "tokenizer.ggml.add_bos_token": False})
    for text in [*samples(), f"{SPECIAL[1]}user\nhi{SPECIAL[2]}", f" {SPECIAL[0]} ", "<|im_"]:
        ids = tokenizer(text)["input_ids"]
        assert ids == original.encode(text).ids, text
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("prefix", [True, False])
def test_ids_of_sentence_pieces_are_sentencepieces(prefix: bool, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(CORPUS), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(tmp_path / "pieces"),
        model_type="bpe",
        vocab_size=380,
        byte_fallback=True,
        add_dummy_prefix=prefix,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "pieces.model"))
    ids = range(pieces.get_piece_size())
    kinds = [2 if pieces.is_unknown(i) else 3 if pieces.is_control(i) else 6 if pieces.is_byte(i) else 1 for i in ids]
    tokenizer, found = loaded(
        tmp_path,
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": [pieces.id_to_piece(i) for i in ids],
            "tokenizer.ggml.scores": [pieces.get_score(i) for i in ids],
            "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.add_space_prefix": prefix,
        },
    )
    for text in samples():
        # A zero ends what sentencepiece reads.
        if "\x00" not in text:
            encoded = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert encoded == pieces.encode(text), text
            assert tokenizer.decode(encoded) == text
    assert tokenizer("a")["input_ids"][0] == pieces.bos_id() == found.roles["bos"]
    assert found.endings == (pieces.eos_id(),)


@pytest.mark.parametrize("adds", [True, False, None])
@pytest.mark.parametrize("pre", ["llama-bpe", "qwen2"])
def test_texts_begin_with_one_bos_where_the_file_or_its_pre_tokenizer_says_so(
    pre: str, adds: bool | None, tmp_path: Path
) -> None:
    metadata = {**vocabulary(pre=pre), "tokenizer.ggml.add_bos_token": adds}
    tokenizer, found = loaded(tmp_path, metadata)
    wanted = PRE_TOKENIZERS[pre].adds_bos if adds is None else adds
    bos, question = found.roles["bos"], [{"role": "user", "content": "hi"}]
    assert (tokenizer("hi")["input_ids"].count(bos), tokenizer("")["input_ids"]) == (wanted, [bos] * wanted)
    assert tokenizer.apply_chat_template(question, return_dict=False)[:1] == [bos] * wanted or not wanted
    for written in ("{{ bos_token }}", SPECIAL[0]):
        metadata["tokenizer.chat_template"] = written + vocabulary()["tokenizer.chat_template"]
        tokenizer, _ = loaded(tmp_path, metadata)
        assert tokenizer.apply_chat_template(question, return_dict=False).count(bos) == 1


def test_an_eos_is_added_where_the_file_says_so(tmp_path: Path) -> None:
    tokenizer, found = loaded(tmp_path, {**vocabulary(), "tokenizer.ggml.add_eos_token": True})
    assert tokenizer("hi")["input_ids"].count(found.roles["eos"]) == 1


def test_the_template_is_the_files_and_without_one_there_is_none(tmp_path: Path) -> None:
    tokenizer, _ = loaded(tmp_path, vocabulary())
    rendered = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True
    )
    assert rendered == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert loaded(tmp_path, {**vocabulary(), "tokenizer.chat_template": None})[0].chat_template is None


def test_every_token_that_ends_a_reply_is_found(tmp_path: Path) -> None:
    metadata = vocabulary()
    tokens = [*metadata["tokenizer.ggml.tokens"][:-4], "<|eot_id|>", "<|eom_id|>", "<|fim_pad|>", "stop"]
    metadata |= {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": metadata["tokenizer.ggml.merges"][:-4],
        "tokenizer.ggml.eot_token_id": tokens.index("stop"),
    }
    tokenizer, found = loaded(tmp_path, metadata)
    named = [found.tokens[id_] for id_ in found.endings]
    assert named[0] == "<|endoftext|>"
    assert set(named) == {"<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|fim_pad|>", "stop"}
    # Marked as normal tokens, and still no text.
    assert tokenizer.decode(tokenizer("a<|eot_id|>")["input_ids"], skip_special_tokens=True) == "a"


def test_special_ids_that_no_token_has_are_none(tmp_path: Path) -> None:
    tokenizer, found = loaded(tmp_path, {**vocabulary(), "tokenizer.ggml.padding_token_id": 2**32 - 1})
    assert "pad" not in found.roles
    assert tokenizer.pad_token is None


BAD: dict[str, dict[str, Any]] = {
    "the kind 'bert', which is not known": {"tokenizer.ggml.model": "bert"},
    "the kind 't5', which is not known": {"tokenizer.ggml.model": "t5"},
    "its metadata has no 'tokenizer.ggml.model'": {"tokenizer.ggml.model": None},
    "the pre-tokenizer 'tomorrow', which is not known": {"tokenizer.ggml.pre": "tomorrow"},
    "names no pre-tokenizer": {"tokenizer.ggml.pre": None},
    "its metadata has no 'tokenizer.ggml.tokens'": {"tokenizer.ggml.tokens": None},
    "its metadata has no 'tokenizer.ggml.merges'": {"tokenizer.ggml.merges": None},
    "'tokenizer.ggml.token_type' has 3 numbers for 300 tokens": {"tokenizer.ggml.token_type": [1, 1, 1]},
    "the merge 'ab' does not join two tokens": {"tokenizer.ggml.merges": ["ab"]},
    "its vocabulary cannot be used": {"tokenizer.ggml.merges": ["q w"]},
    "token 'a' is there twice": {"tokenizer.ggml.tokens": ["a", "b", "a"]},
    "its texts begin with a BOS": {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": None},
    "its vocabulary has no scores": {"tokenizer.ggml.model": "llama"},
}


@pytest.mark.parametrize("reason", BAD)
def test_vocabularies_that_are_broken_or_unknown_are_refused_in_one_line(reason: str, tmp_path: Path) -> None:
    with pytest.raises(GgufError, match=reason) as caught:
        loaded(tmp_path, {**vocabulary(), **BAD[reason]})
    assert str(caught.value).isprintable()
