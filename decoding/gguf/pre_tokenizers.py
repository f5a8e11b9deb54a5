"""Pre-tokenizers by the names that GGUF files give them: patterns that split a text before byte pairs are merged.

Each pattern splits what the ones before it left over into its matches and what lies between them. A wrong one gives
other ids than the model was trained on, so a name that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_CONTRACTIONS_ANY_CASE = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_DIGIT, _DIGITS, _DIGITS_BY_THREE = r"\p{N}", r"\p{N}+", r"\p{N}{1,3}"
_GPT2 = rf"{_CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)"


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


def _known() -> Iterator[tuple[str, PreTokenizer]]:
    def named(names: str, *patterns: str, ignores_merges: bool = False, adds_bos: bool = False) -> Iterator[_Entry]:
        for name in names.split():
            yield name, PreTokenizer(patterns, ignores_merges, adds_bos)

    yield from named(
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2",
        _LLAMA3,
        ignores_merges=True,
        adds_bos=True,
    )
    yield from named("dbrx smaug-bpe glm4 chatglm-bpe", _LLAMA3)
    yield from named("qwen2 deepseek-r1-qwen kormo megrez stablelm2 hunyuan solar-open grok-2", _QWEN2)
    yield from named("qwen35", _words(_DIGIT, marks=True))
    yield from named("tekken", _words_by_case(_DIGIT, ""), ignores_merges=True, adds_bos=True)
    yield from named("gpt-4o llama4 kanana2 minimax-m2", _words_by_case(_DIGITS_BY_THREE, f"{_CONTRACTIONS_ANY_CASE}?"))
    yield from named("gpt-2 phi-2 gigachat a.x-4.0 mellum exaone4 mpt olmo jais trillion granite-docling", _GPT2)
    yield from named("smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", _DIGIT, _GPT2)
    yield from named("deepseek-v3 hunyuan-dense joyai-llm", *_DEEPSEEK3)
    yield from named("deepseek-coder", r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿&&\S]+", _DIGIT)
    yield from named("falcon", r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")
    yield from named("bloom gpt3-finnish poro-chat", _BLOOM)
    yield from named("viking", _BLOOM, _DIGIT)
    yield from named("default", r"[\p{P}\$\+<=>\^~\|]+", _GPT2, _DIGITS, "[0-9][0-9][0-9]")


_Entry = tuple[str, PreTokenizer]
PRE_TOKENIZERS: Mapping[str, PreTokenizer] = dict(_known())
"""By the name that a file has under ``tokenizer.ggml.pre``."""
