"""A GGUF file's tokenizer, built from its metadata: a text's ids are those that llama.cpp gives it.

Built straight from tokens and merges, in a fraction of a second. transformers' own way takes seconds, and does not look
at the pre-tokenizer that the file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from decoding.gguf.metadata import GgufError, Metadata, quoted
from decoding.gguf.vocabulary import SENTENCE_PIECES, SPACED_PAIRS, TWIN, Vocabulary, token_numbers

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_CONTRACTIONS_ANY_CASE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_DIGIT, _DIGITS, _DIGITS_BY_THREE = r"\p{N}", r"\p{N}+", r"\p{N}{1,3}"
_GPT2 = rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)"
_BYTE_PAIRS = "gpt2"
_SPACE = "▁"
_NOT_STRIPPED = ("<unk>", "<s>", "<|endoftext|>")


def _words(numbers: str, *, marks: bool = False) -> str:
    """Words (``marks``: with their combining marks) and the character before them, numbers, punctuation with the line
    breaks behind it, and spaces.
    """
    mark, letter = (r"\p{M}", r"[\p{L}\p{M}]") if marks else ("", r"\p{L}")
    punctuation = rf" ?[^\s\p{{L}}{mark}\p{{N}}]+[\r\n]*"
    return rf"{_CONTRACTIONS_ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?{letter}+|{numbers}|{punctuation}|{_SPACES}"


def _words_by_case(numbers: str, ending: str) -> str:
    """Words split where a lower-case letter meets an upper-case one."""
    upper, lower = r"(?:(?=\p{L})[^a-z])", r"(?:(?=\p{L})[^A-Z])"
    before = r"[^\r\n\p{L}\p{N}]?"
    words = f"{before}{upper}*{lower}+{ending}|{before}{upper}+{lower}*{ending}"
    return rf"{words}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"


_LLAMA3, _QWEN2 = _words(_DIGITS_BY_THREE), _words(_DIGIT)
_ASCII_PUNCTUATION = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
_DEEPSEEK3 = (
    _DIGITS_BY_THREE,
    "[一-龥぀-ゟ゠-ヿ]+",
    rf"{_ASCII_PUNCTUATION}[A-Za-z]+|"
    rf"[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}",
)
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """A vocabulary's rule for splitting texts before byte pairs are merged."""

    patterns: tuple[str, ...]
    """Regular expressions, as Oniguruma reads them."""
    ignores_merges: bool = False
    """Take a piece that is a token as that token, whatever the merges say."""
    adds_bos: bool = False
    """Begin texts with a BOS unless the file says otherwise."""


_RULES: Mapping[str, PreTokenizer] = {
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2": PreTokenizer(
        (_LLAMA3,), ignores_merges=True, adds_bos=True
    ),
    "dbrx smaug-bpe glm4 chatglm-bpe": PreTokenizer((_LLAMA3,)),
    "qwen2 deepseek-r1-qwen kormo megrez stablelm2 hunyuan solar-open grok-2": PreTokenizer((_QWEN2,)),
    "qwen35": PreTokenizer((_words(_DIGIT, marks=True),)),
    "tekken": PreTokenizer((_words_by_case(_DIGIT, ""),), ignores_merges=True, adds_bos=True),
    "gpt-4o llama4 kanana2 minimax-m2": PreTokenizer((_words_by_case(_DIGITS_BY_THREE, f"{_CONTRACTIONS_ANY_CASE}?"),)),
    "gpt-2 phi-2 gigachat a.x-4.0 mellum exaone4 mpt olmo jais trillion granite-docling": PreTokenizer((_GPT2,)),
    "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2": PreTokenizer((_DIGIT, _GPT2)),
    "deepseek-v3 hunyuan-dense joyai-llm": PreTokenizer(_DEEPSEEK3),
    "deepseek-coder": PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿&&\S]+", _DIGIT)),
    "falcon": PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
    "bloom gpt3-finnish poro-chat": PreTokenizer((_BLOOM,)),
    "viking": PreTokenizer((_BLOOM, _DIGIT)),
    "default": PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, _DIGITS, "[0-9][0-9][0-9]")),
}
PRE_TOKENIZERS = {name: rule for names, rule in _RULES.items() for name in names.split()}
"""By the name that a file has under ``tokenizer.ggml.pre``."""


def build_tokenizer(metadata: Metadata, vocabulary: Vocabulary) -> PreTrainedTokenizerFast:
    """Build the tokenizer, with the file's chat template. Raises GgufError for an unknown or a broken vocabulary."""
    if vocabulary.model not in (_BYTE_PAIRS, SENTENCE_PIECES, SPACED_PAIRS):
        raise GgufError(f"its vocabulary is of the kind {quoted(vocabulary.model)}, which is not known")
    known = _pre_tokenizer(metadata) if vocabulary.model == _BYTE_PAIRS else None
    try:
        if known is not None:
            backend = _byte_pairs(metadata, vocabulary, known)
        else:
            make = _spaced_pairs if vocabulary.model == SPACED_PAIRS else _sentence_pieces
            backend = make(metadata, vocabulary)
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


def _read_merges(metadata: Metadata) -> Iterator[tuple[str, str]]:
    for merge in metadata.texts("tokenizer.ggml.merges"):
        space = merge.find(" ", 1)
        if space < 0:
            raise GgufError(f"the merge {quoted(merge)} does not join two tokens")
        yield merge[:space], merge[space + 1 :]


def _spaced_pairs(metadata: Metadata, vocabulary: Vocabulary) -> Tokenizer:
    unknown, merges = vocabulary.text("unk"), list(_read_merges(metadata))
    pairs = models.BPE(dict(vocabulary.ids), merges, unk_token=unknown, byte_fallback=True, ignore_merges=True)
    backend = Tokenizer(pairs)
    backend.normalizer = normalizers.Replace(" ", _SPACE)
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|\n+"), "isolated")
    to_text = [decoders.Replace(_SPACE, " "), decoders.Replace(TWIN, ""), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence(to_text)
    return backend


def _byte_pairs(metadata: Metadata, vocabulary: Vocabulary, known: PreTokenizer) -> Tokenizer:
    merges = list(_read_merges(metadata))
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
