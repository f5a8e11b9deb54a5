"""SamplingConfig: the settings of sampling in transformers' terms, and the logits processors that they stand for."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, isnan
from typing import Any, TypeVar

from transformers import GenerationConfig
from transformers.generation import logits_process
from transformers.generation.logits_process import LogitsProcessor, LogitsProcessorList

from decoding.arguments import as_count, as_eos, as_seed, as_text, check_kind, check_number, shown

_WARPERS: dict[str, tuple[Callable[[Any], LogitsProcessor], tuple[float | None, ...]]] = {
    "temperature": (lambda value: logits_process.TemperatureLogitsWarper(float(value)), (1,)),
    "top_h": (logits_process.TopHLogitsWarper, (None,)),
    "top_k": (logits_process.TopKLogitsWarper, (0,)),
    "top_p": (logits_process.TopPLogitsWarper, (1,)),
    "min_p": (logits_process.MinPLogitsWarper, (0,)),
    "typical_p": (logits_process.TypicalLogitsWarper, (1,)),
    "epsilon_cutoff": (logits_process.EpsilonLogitsWarper, (0, 1)),
    "eta_cutoff": (logits_process.EtaLogitsWarper, (0, 1)),
}
"""Each with the values at which it has no effect, in the order of `generate`."""
_FRACTIONS = ("top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
_WITHOUT_COUNTERPART: dict[str, tuple[Any, ...]] = {
    "min_length": (0,),
    "min_new_tokens": (0,),
    "encoder_repetition_penalty": (1,),
    "encoder_no_repeat_ngram_size": (0,),
    "begin_suppress_tokens": ([],),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "exponential_decay_length_penalty": (),
    "guidance_scale": (1,),
    "watermarking_config": (),
    "num_beams": (1,),
    "penalty_alpha": (0,),
    "dola_layers": (),
    "token_healing": (False,),
    "constraints": (),
    "force_words_ids": (),
}
"""Settings of a generation config that change texts and are not supported here, with the values at which they do
not."""
Key = TypeVar("Key", int, tuple[int, ...])
MIN_TEMPERATURE = 1e-30
"""Logits over a smaller temperature may leave the range of float32, where no token is likelier than another."""


@dataclass(frozen=True)
class SamplingConfig:
    """Settings of sampling. The defaults have no effect.

    Sequences and biases are copied, so that equal settings are equal, and hash alike, however they were passed.

    Attributes:
        temperature: the divisor of the logits; 0 for the likeliest token always (greedy).
        top_k: the number of likeliest tokens to draw from; 0 for all.
        top_p: the probability that the likeliest tokens to draw from make up.
        min_p: the least probability of a token to draw, relative to that of the likeliest.
        top_h: the share of the entropy of the likeliest tokens to draw from, as in transformers; None for all.
        typical_p, epsilon_cutoff, eta_cutoff: as in transformers.
        repetition_penalty: the divisor of the scores of tokens already in the text; 1 for none.
        no_repeat_ngram_size: the size of n-grams that may not recur; 0 for no such rule.
        bad_words_ids: sequences of token ids that are never completed.
        logit_bias: an addition to the logit of each token id; -inf never to choose it.
        sequence_bias: an addition to the logit of a sequence's last token behind the rest of it.
        suppress_tokens: token ids that are never chosen.
        seed: a whole number from 0 to 2**64 - 1; with one seed a text is drawn the same, lookahead or not. None
            draws one, which can be read here.

    Raises:
        ValueError: a value is out of range or of another kind.
    """

    temperature: float = 1.0
    top_h: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    bad_words_ids: Sequence[Sequence[int]] = ()
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    sequence_bias: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    suppress_tokens: Sequence[int] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "repetition_penalty", *_FRACTIONS):
            check_number(getattr(self, name), name)
        for name in ("temperature", *_FRACTIONS):
            value = getattr(self, name)
            if not value >= 0:
                raise ValueError(f"{name} must be at least 0, not {value}")
            if name in _FRACTIONS and value > 1:
                raise ValueError(f"{name} must be at most 1, not {value}")
        if self.top_h is not None:
            check_number(self.top_h, "top_h")
            if not 0 < self.top_h <= 1:
                raise ValueError(f"top_h must be above 0 and at most 1, not {self.top_h}")
        if self.top_p == 0 or self.typical_p == 0:
            raise ValueError("top_p and typical_p must be above 0: nothing would be left to draw from")
        if not 0 < self.repetition_penalty < inf:
            raise ValueError(f"repetition_penalty must be above 0 and finite, not {self.repetition_penalty}")
        if self.temperature != 0 and not MIN_TEMPERATURE <= self.temperature < inf:
            raise ValueError(f"temperature must be finite, and 0 or at least {MIN_TEMPERATURE}, not {self.temperature}")
        kept: dict[str, Any] = {
            "top_k": as_count(self.top_k, "top_k", least=0),
            "no_repeat_ngram_size": as_count(self.no_repeat_ngram_size, "no_repeat_ngram_size", least=0),
            "logit_bias": _as_biases(self.logit_bias, "logit_bias", _as_id),
            "sequence_bias": _as_biases(self.sequence_bias, "sequence_bias", _as_sequence),
            "bad_words_ids": _as_bad_words(self.bad_words_ids),
            "suppress_tokens": _as_ids(self.suppress_tokens, "suppress_tokens"),
            "seed": secrets.randbelow(2**32) if self.seed is None else as_seed(self.seed),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        for ids, bias in self._biases().items():
            _as_bias(bias, f"the bias of {ids}")  # infinities may cancel out

    @classmethod
    def greedy(cls, **settings: Any) -> SamplingConfig:
        """Return settings for the likeliest token always, under the penalties and bans among ``settings``."""
        return cls(**{"temperature": 0.0, "seed": 0, **settings})

    def __hash__(self) -> int:
        values = (getattr(self, each.name) for each in fields(self))
        return hash(tuple(frozenset(value.items()) if isinstance(value, dict) else value for value in values))

    def check_vocabulary(self, size: int) -> None:
        """Raise ValueError if a bias or a ban names a token that a model with this many ids does not have."""
        named: dict[str, Iterable[Iterable[int]]] = {
            "logit_bias": [self.logit_bias],
            "sequence_bias": self.sequence_bias,
            "bad_words_ids": self.bad_words_ids,
        }
        for name, sequences in named.items():
            unknown = next((token for ids in sequences for token in ids if token >= size), None)
            if unknown is not None:
                raise ValueError(f"{name} holds {unknown}, and the model's vocabulary has ids 0 to {size - 1}")

    @classmethod
    def from_generation_config(cls, config: GenerationConfig, seed: int | None = None) -> SamplingConfig:
        """Return the settings of a checkpoint's generation config.

        Raises:
            NotImplementedError: one is in force that changes texts and has no counterpart here.
            ValueError: one is out of range, or there is no generation config.
        """
        check_kind(config, GenerationConfig, "config", required=True)
        for name, inactive in _WITHOUT_COUNTERPART.items():
            value = getattr(config, name, None)
            if value is not None and value not in inactive:
                raise NotImplementedError(f"{name}={shown(value)} has no counterpart in lookahead decoding: unset it")
        names = {field.name for field in fields(cls)} - {"seed", "temperature", "logit_bias"}
        found = {name: getattr(config, name, None) for name in names}
        settings = {name: value for name, value in found.items() if value is not None}
        if isinstance(pairs := settings.get("sequence_bias"), list):
            if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
                raise ValueError(f"sequence_bias must be pairs of token ids and their bias, not {shown(pairs)}")
            settings["sequence_bias"] = {_as_sequence(ids, "sequence_bias"): bias for ids, bias in pairs}
        if "bad_words_ids" in settings:
            # `generate` keeps the end of a text possible.
            banned, ends = _as_bad_words(settings["bad_words_ids"]), as_eos(config.eos_token_id)
            settings["bad_words_ids"] = [ids for ids in banned if len(ids) > 1 or ends.isdisjoint(ids)]
        if not config.do_sample:
            # Greedy decoding ignores warpers.
            return cls.greedy(**{name: value for name, value in settings.items() if name not in _WARPERS})
        temperature = 1.0 if config.temperature is None else config.temperature
        # The default of `generate` for a top-k that is left out.
        return cls(temperature=temperature, seed=seed, **{"top_k": 50, **settings})

    def __repr__(self) -> str:
        # Only settings that differ from the defaults.
        usual: dict[str, Any] = {each.name: each.default for each in fields(self)}
        usual |= {"logit_bias": {}, "sequence_bias": {}}
        usual |= {"temperature": 0.0, "seed": 0} if self.is_greedy else {}
        asked = ", ".join(
            f"{name}={value!r}" for name, default in usual.items() if (value := getattr(self, name)) != default
        )
        return f"SamplingConfig{'.greedy' if self.is_greedy else ''}({asked})"

    @property
    def is_greedy(self) -> bool:
        """True if the likeliest token is always taken."""
        return self.temperature == 0

    def processors(self, custom: Sequence[LogitsProcessor] = ()) -> LogitsProcessorList:
        """Return the logits processors in the order of `generate`: penalties and bans, the caller's, then warpers."""
        found: list[LogitsProcessor] = []
        if biases := self._biases():
            found.append(logits_process.SequenceBiasLogitsProcessor([[[*ids], bias] for ids, bias in biases.items()]))
        if self.repetition_penalty != 1:
            found.append(logits_process.RepetitionPenaltyLogitsProcessor(float(self.repetition_penalty)))
        if self.no_repeat_ngram_size:
            found.append(logits_process.NoRepeatNGramLogitsProcessor(self.no_repeat_ngram_size))
        if self.bad_words_ids:
            found.append(logits_process.NoBadWordsLogitsProcessor([list(ids) for ids in self.bad_words_ids]))
        if self.suppress_tokens:
            found.append(logits_process.SuppressTokensLogitsProcessor(list(self.suppress_tokens)))
        return LogitsProcessorList([*found, *custom, *(() if self.is_greedy else self._warpers())])

    def _biases(self) -> dict[tuple[int, ...], float]:
        """Return the bias of each sequence; those of single tokens add up."""
        biases: dict[tuple[int, ...], float] = {(token,): bias for token, bias in self.logit_bias.items()}
        for ids, bias in self.sequence_bias.items():
            biases[ids] = biases.get(ids, 0.0) + bias
        return biases

    def _warpers(self) -> list[LogitsProcessor]:
        given = [(warper, getattr(self, name), neutral) for name, (warper, neutral) in _WARPERS.items()]
        return [warper(value) for warper, value, neutral in given if value not in neutral]


def _as_id(token: Any, name: str) -> int:
    return as_count(token, f"a token id of {name}", least=0)


def _as_ids(ids: Any, name: str, whole: str | None = None) -> tuple[int, ...]:
    return tuple(_as_id(token, name) for token in as_text(ids, whole or name))


def _as_sequence(ids: Any, name: str) -> tuple[int, ...]:
    sequence = _as_ids(ids, name, f"each sequence of {name}")
    if not sequence:
        raise ValueError(f"each sequence of {name} must hold a token id, and one is empty")
    return sequence


def _as_bad_words(sequences: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(sequences, Iterable):
        raise ValueError(f"bad_words_ids must be sequences of token ids, not {shown(sequences)}")
    return tuple(_as_sequence(ids, "bad_words_ids") for ids in sequences)


def _as_biases(biases: Any, name: str, as_key: Callable[[Any, str], Key]) -> dict[Key, float]:
    check_kind(biases, Mapping, name, required=True)
    return {as_key(key, name): _as_bias(bias, f"{name} of {key}") for key, bias in biases.items()}


def _as_bias(bias: Any, name: str) -> float:
    check_number(bias, name)
    if isnan(bias):
        raise ValueError(f"{name} must be a number, not nan")
    return float(bias)
