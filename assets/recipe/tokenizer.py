"""The tokenizer: sentencepiece BPE that gives every text back exactly, and its Hugging Face files."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import sentencepiece

from assets.recipe import corpus, words
from assets.recipe.conversation import Message
from assets.recipe.user_words import LETTERED

END = "<|end|>"
ROLES = {"system": "<|system|>", "user": "<|user|>", "assistant": "<|assistant|>"}
BOS_ID, EOS_ID = 1, 2
_BY_LETTER = re.compile(
    rf"([A-Z]{{2,}}|(?<=-[A-Za-z]: )[A-Za-z]+(?: [a-z]+$)?|(?:{'|'.join(f'(?<={one})' for one in LETTERED)})[^\n]+)"
)


def _texts(seed: int, conversations: int) -> Iterator[str]:
    for index in range(conversations):
        yield from (message.content for message in corpus.conversation(f"{seed}/tokenizer", index))
    yield from (*words.WORDS, *words.NAMES, *words.CITIES, "".join(map(chr, range(32, 127))))


def train(folder: Path, seed: int, vocabulary: int, conversations: int) -> None:
    """Train on composed conversations and write tokenizer.model and the files beside it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=_texts(seed, conversations), model_writer=model, model_type="bpe", vocab_size=vocabulary,
        hard_vocab_limit=False, character_coverage=1.0, byte_fallback=True, split_digits=True,
        # Nothing about the text may change on the way: no normalisation, every space kept, none added.
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False,
        allow_whitespace_only_pieces=True, user_defined_symbols=[*ROLES.values(), END, "\n"], unk_id=0, bos_id=BOS_ID,
        eos_id=EOS_ID, pad_id=-1, max_sentence_length=20_000, num_threads=1, minloglevel=2,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    write_configuration(folder)


def write_configuration(folder: Path) -> None:
    """The files that let AutoTokenizer read tokenizer.model with the same ids.

    No token is added by the tokenizer itself: the chat template writes the one BOS. The end of a turn doubles
    as the end-of-sequence token.
    """
    shutil.copytree(words.TEXTS / "tokenizer", folder, dirs_exist_ok=True)


class ChatTokenizer:
    """Conversations as ids, and which of the ids the model has to learn to write."""

    def __init__(self, folder: Path) -> None:
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        self.end_id: int = self.pieces.piece_to_id(END)

    def __len__(self) -> int:
        return int(self.pieces.get_piece_size())

    def chat(self, messages: list[Message]) -> tuple[list[int], list[bool]]:
        """The conversation's ids, and for each whether it is the assistant's to write."""
        ids, learnt = [BOS_ID], [False]
        for message in messages:
            said, own = message.content.strip(), message.role == "assistant"
            content = [*(self.written(said) if own else self.pieces.encode(said)), self.end_id]
            ids += [self.pieces.piece_to_id(ROLES[message.role]), *content]
            learnt += [False] + [own] * len(content)
        return ids, learnt

    def written(self, text: str) -> list[int]:
        """The ids in which the model is taught to write: letter by letter what it knows by its letters alone.

        That is what stands in capitals or has been put in another case, and a word after its own letters with hyphens
        between them.
        """
        ids: list[int] = []
        for at, part in enumerate(_BY_LETTER.split(text)):
            ids += chain.from_iterable(map(self.pieces.encode, part if at % 2 else [part]))
        return ids
