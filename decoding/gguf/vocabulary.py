"""A GGUF file's vocabulary: tokens, what each is, and which of them begin and end texts, as llama.cpp finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoding.gguf.metadata import GgufError, Metadata, quoted

SENTENCE_PIECES = "llama"
"""The one vocabulary whose merges follow from its tokens' scores."""
SPACED_PAIRS = "gemma4"
"""The vocabulary whose pairs are of characters, of which a space is one, and not of bytes."""
TWIN = "\ufdd0"
"""A character that no text has, behind all but the last of equal tokens: such vocabularies have some twice."""
_ROLES = ("bos", "eos", "eot", "eom", "unk", "pad", "fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep")
_NAMES = {"unk": "unknown", "pad": "padding"}
"""Of roles in a file, where they are others."""
_DEFAULTS = {"bos": 1, "eos": 2, "unk": 0}
"""Of sentence pieces, where the file says nothing."""
_ENDINGS = {
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>"),
    *("<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>"),
    *("<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["),
}
"""Tokens that end a reply wherever a vocabulary has them: many files name only one of theirs."""
_FILLING: Mapping[str, set[str]] = {
    "fim_pre": {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>"},
    "fim_suf": {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>"},
    "fim_mid": {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>"},
    "fim_pad": {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
    "fim_rep": {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
    "fim_sep": {"<|file_sep|>"},
}
"""Tokens for filling in the middle of a text, where the file does not name its own."""
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
"""Kinds of tokens, by their numbers in a file."""
_ENDING_ROLES = ("eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All tokens, by id."""

    model: str
    """The kind of vocabulary, such as ``gpt2`` for byte pairs."""
    tokens: list[str]
    ids: Mapping[str, int]
    roles: Mapping[str, int]
    """Ids by role: ``bos``, ``eos``, ``eot``, ``eom``, ``unk``, ``pad``, ``fim_…``."""
    control: frozenset[int]
    """Tokens that are no text; among them the unknown token."""
    user_defined: frozenset[int]
    """Tokens of text that is never split."""
    endings: tuple[int, ...]
    """Tokens that end a reply, the EOS first."""

    @classmethod
    def read(cls, metadata: Metadata) -> Vocabulary:
        """Read a vocabulary. Raises GgufError if there is none, or if it contradicts itself."""
        model = metadata.text("tokenizer.ggml.model")
        tokens = [text or f"[EMPTY_{id_}]" for id_, text in enumerate(metadata.texts("tokenizer.ggml.tokens"))]
        ids = {text: id_ for id_, text in enumerate(tokens)}
        if model == SPACED_PAIRS and len(ids) < len(tokens):
            tokens = [text if ids[text] == id_ else text + TWIN for id_, text in enumerate(tokens)]
            ids = {text: id_ for id_, text in enumerate(tokens)}
        if not tokens or len(ids) < len(tokens):
            twice = next((text for id_, text in enumerate(tokens) if ids[text] != id_), None)
            raise GgufError("its vocabulary is empty" if twice is None else f"token {quoted(twice)} is there twice")
        roles = dict(_read_roles(metadata, ids, _DEFAULTS if model == SENTENCE_PIECES else {}))
        ending = {ids[text] for text in _ENDINGS & ids.keys()}
        ending |= {roles[role] for role in _ENDING_ROLES if role in roles}
        texts = {tokens[id_] for id_ in ending}
        # Beside these tokens, <|end|> and </s> do not end a reply.
        if {"<|return|>", "<|call|>"} <= texts or ("<|flush|>" in texts and {"<|call|>", "<|calls|>"} & texts):
            ending.discard(ids.get("<|end|>", -1))
        if "<|tool_response>" in texts:
            ending.discard(ids.get("</s>", -1))
        kinds = token_numbers(metadata, "tokenizer.ggml.token_type", len(tokens), _NORMAL)
        marked = {int(id_) for id_ in np.flatnonzero((kinds == _CONTROL) | (kinds == _UNKNOWN))}
        control = marked | ending | {ids[text] for role, texts in _FILLING.items() for text in texts & ids.keys()}
        user_defined = {int(id_) for id_ in np.flatnonzero(kinds == _USER_DEFINED)}
        eos = roles.get("eos", -1)
        return cls(
            model,
            tokens,
            ids,
            roles,
            frozenset(control),
            frozenset(user_defined - control),
            tuple(sorted(ending, key=lambda id_: (id_ != eos, id_))),
        )

    def text(self, role: str) -> str | None:
        """Return the token of a role, if there is one."""
        return self.tokens[self.roles[role]] if role in self.roles else None


def token_numbers(metadata: Metadata, key: str, count: int, default: float) -> npt.NDArray[np.float32]:
    """Return a number for each token. Raises GgufError if there are fewer."""
    numbers = metadata.numbers(key, None)
    if numbers is None:
        return np.full(count, default, np.float32)
    if len(numbers) < count:
        raise GgufError(f"{quoted(key)} has {len(numbers):,} numbers for {count:,} tokens")
    return numbers[:count].astype(np.float32)


def _read_roles(metadata: Metadata, ids: Mapping[str, int], defaults: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for role in _ROLES:
        declared = metadata.integer(f"tokenizer.ggml.{_NAMES.get(role, role)}_token_id", defaults.get(role, -1))
        # Some files say "none" by an id that no token has.
        if 0 <= declared < len(ids):
            yield role, declared
        elif found := _FILLING.get(role, set()) & ids.keys():
            yield role, min(ids[text] for text in found)
