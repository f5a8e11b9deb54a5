"""A GGUF file's tokenizer, built from its metadata: a text's ids are those that llama.cpp gives it.

Built straight from tokens and merges, in a fraction of a second. transformers' own way takes seconds, and does not look
at the pre-tokenizer that the file names.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from decoding.gguf.errors import GgufError, quoted
from decoding.gguf.metadata import Metadata
from decoding.gguf.pre_tokenizers import PRE_TOKENIZERS, PreTokenizer
from decoding.gguf.vocabulary import SENTENCE_PIECES, Vocabulary, token_numbers

_BYTE_PAIRS = "gpt2"
_SPACE = "▁"
_NOT_STRIPPED = ("<unk>", "<s>", "<|endoftext|>")


def build_tokenizer(metadata: Metadata, vocabulary: Vocabulary) -> PreTrainedTokenizerFast:
    """Build the tokenizer, with the file's chat template if it has one.

    Raises:
        GgufError: for a vocabulary or a pre-tokenizer that is not known, by its name, and for a broken vocabulary.
    """
    if vocabulary.model not in (_BYTE_PAIRS, SENTENCE_PIECES):
        raise GgufError(f"its vocabulary is of the kind {quoted(vocabulary.model)}, which is not known")
    known = _pre_tokenizer(metadata) if vocabulary.model == _BYTE_PAIRS else None
    try:
        backend = _sentence_pieces(metadata, vocabulary) if known is None else _byte_pairs(metadata, vocabulary, known)
        backend.add_tokens(list(_added_tokens(metadata, vocabulary)))
    except GgufError:
        raise
    except Exception as error:  # the Rust library raises a bare Exception
        raise GgufError(f"its vocabulary cannot be used: {' '.join(str(error).split())}") from error
    adds_bos = metadata.flag("tokenizer.ggml.add_bos_token", known is None or known.adds_bos)
    if adds_bos and "bos" not in vocabulary.roles:
        raise GgufError("its texts begin with a BOS, and its vocabulary names none")
    return PreTrainedTokenizerFast(
        tokenizer_object=_Uncopied(backend),
        bos_token=vocabulary.text("bos"),
        eos_token=vocabulary.text("eos"),
        unk_token=vocabulary.text("unk"),
        pad_token=vocabulary.text("pad"),
        add_bos_token=adds_bos,
        add_eos_token=metadata.flag("tokenizer.ggml.add_eos_token", False),
        chat_template=_chat_template(metadata, vocabulary.text("bos") if adds_bos else None),
        clean_up_tokenization_spaces=False,
    )


class _Uncopied:
    """A tokenizer to hand over: transformers copies what it is given, which takes longer than building it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __deepcopy__(self, memo: object) -> Tokenizer:
        return self._tokenizer


def _pre_tokenizer(metadata: Metadata) -> PreTokenizer:
    name = metadata.text("tokenizer.ggml.pre", None)
    if name is None:
        raise GgufError("its vocabulary names no pre-tokenizer (tokenizer.ggml.pre): the file has to be made anew")
    if name not in PRE_TOKENIZERS:
        raise GgufError(f"its vocabulary has the pre-tokenizer {quoted(name)}, which is not known")
    return PRE_TOKENIZERS[name]


def _byte_pairs(metadata: Metadata, vocabulary: Vocabulary, known: PreTokenizer) -> Tokenizer:
    merges: list[tuple[str, str]] = []
    for merge in metadata.texts("tokenizer.ggml.merges"):
        space = merge.find(" ", 1)
        if space < 0:
            raise GgufError(f"the merge {quoted(merge)} does not join two tokens")
        merges.append((merge[:space], merge[space + 1 :]))
    backend = Tokenizer(models.BPE(dict(vocabulary.ids), merges, ignore_merges=known.ignores_merges))
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in known.patterns]
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, to_bytes])
    backend.decoder = decoders.ByteLevel()
    return backend


def _sentence_pieces(metadata: Metadata, vocabulary: Vocabulary) -> Tokenizer:
    if "tokenizer.ggml.scores" not in metadata:
        raise GgufError("its vocabulary has no scores")
    unknown = vocabulary.text("unk")
    bpe = models.BPE(dict(vocabulary.ids), _merges(metadata, vocabulary), unk_token=unknown, byte_fallback=True)
    backend = Tokenizer(bpe)
    spaces: normalizers.Normalizer = normalizers.Replace(" ", _SPACE)
    to_text: list[decoders.Decoder] = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if metadata.flag("tokenizer.ggml.add_space_prefix", True):
        # Before a text, and before what follows a control token.
        spaces = normalizers.Sequence([normalizers.Prepend(_SPACE), spaces])
        to_text.append(decoders.Strip(" ", 1, 0))
    backend.normalizer = spaces
    backend.decoder = decoders.Sequence(to_text)
    return backend


def _merges(metadata: Metadata, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return all pairs of tokens that make up a third, the best-scored first."""
    ids = vocabulary.ids
    scores = token_numbers(metadata, "tokenizer.ggml.scores", len(ids), 0)
    found: list[tuple[str, str]] = []
    for id_ in np.argsort(-scores, kind="stable").tolist():
        token = vocabulary.tokens[id_]
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in ids and right in ids:
                found.append((left, right))
    return found


def _added_tokens(metadata: Metadata, vocabulary: Vocabulary) -> Iterator[AddedToken]:
    # Phi 3's own tokenizer drops the spaces behind most of these; its files do not say so.
    name = metadata.text("general.name", "").lower()
    strips = "phi-3" in name or "phi3" in name
    for id_ in sorted(vocabulary.control | vocabulary.user_defined):
        text = vocabulary.tokens[id_]
        stripped = strips and text not in _NOT_STRIPPED
        yield AddedToken(text, special=id_ in vocabulary.control, normalized=False, rstrip=stripped)


def _chat_template(metadata: Metadata, bos: str | None) -> str | None:
    """Return the file's chat template, which writes a BOS where texts begin with one."""
    template = metadata.text("tokenizer.chat_template", None)
    if not template or bos is None or "bos_token" in template or bos in template:
        return template or None
    return "{{ bos_token }}" + template
