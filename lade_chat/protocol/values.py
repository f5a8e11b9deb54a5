"""Values in commands and events: messages, options, pieces of a reply, statistics."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from lade_chat.protocol.inspection import TokenSource

FinishReason: TypeAlias = Literal["eos", "length", "stop", "cancelled"]
Side: TypeAlias = Literal["left", "right"]
QUANTISATIONS = ("int8",)
_GGUF = re.compile(r".+\.gguf|ollama:.+|[\w.-]+/[\w.-]+:[\w.-]+", re.IGNORECASE)
"""Paths of GGUF files; the last are of the Hub."""
MANY_RESTS = 16
"""Steps without guessing from which on a reply may be called held back."""
HELD_BACK_TOKENS_PER_STEP = 1.1
"""A held-back reply has fewer tokens a step than this."""
Stage: TypeAlias = Literal[
    "configuration", "download", "tokenizer", "unpacking", "weights", "kernels", "probe", "compile", "cost"
]


def quantisation_named(precision: str | None) -> str | None:
    """The quantisation that a precision names; None for a dtype."""
    name = (precision or "").strip().lower()
    return name if name in QUANTISATIONS else None


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation. A reply's ``content`` may begin with its thought, which the prompt takes apart."""

    role: Literal["system", "user", "assistant"]
    content: str
    thought: str = ""


class ModelOptions(msgspec.Struct, frozen=True):
    """The model to load, and its settings. ``path`` None is the bundled model."""

    path: str | None = None
    device: str | None = None
    dtype: str | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False
    step_cost: bool = True
    """Measure the cost of a step, from which automatic sizes follow."""
    compiled: bool = False
    """Use ``torch.compile`` for steps where the model supports it."""
    lookahead_workers: int = 1
    """Ranks that share each lookahead step, each with a replica of the model."""
    tensor_parallel: int = 1
    """Ranks that the model is split over."""
    device_map: str | None = None
    """accelerate's placement of the model on devices: auto, balanced …"""
    quantize: str | None = None
    """Quantise the weights once loaded: int8."""
    thought_delimiters: tuple[tuple[str, str, str], ...] = ()
    """Paths of models, each with the delimiters that the user has given for its thoughts."""

    @property
    def precision(self) -> str | None:
        """The quantisation, or without one the dtype."""
        return self.quantize or self.dtype

    @property
    def processes(self) -> int:
        """Number of ranks in all."""
        return max(self.lookahead_workers, self.tensor_parallel)

    def at(self, path: str | None) -> ModelOptions:
        """Return the options with this path; another model may run no code of its own before it is allowed to.

        A precision is not asked of a GGUF file, whose weights stay as they are.
        """
        trust = self.trust_remote_code and path == self.path
        pickle = self.allow_pickle and path == self.path
        options = msgspec.structs.replace(self, path=path, trust_remote_code=trust, allow_pickle=pickle)
        return msgspec.structs.replace(options, dtype=None, quantize=None) if _GGUF.fullmatch(path or "") else options


class Sizes(msgspec.Struct, frozen=True):
    """The paper's W, N and G."""

    window_size: int = 7
    ngram_size: int = 5
    guess_set_size: int = 7


class MethodSpec(msgspec.Struct, frozen=True):
    """The method of one side of a race, by a name of ``presentation.methods``; ``sizes`` belong to lookahead-fixed."""

    name: str
    sizes: Sizes | None = None


class Sampling(msgspec.Struct, frozen=True):
    """Sampling values, with the meaning that transformers gives them.

    In a request, None is the value of the model's generation config with ``from_model``, otherwise a neutral one. In
    ``Statistics`` the values in force are all filled in, but ``seed`` is None in greedy decoding (temperature 0).
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    """The same seed gives the same text, with lookahead or without; the engine draws one if it is None."""
    from_model: bool = False
    """Fill in from the model's generation config."""

    def normalized(self) -> Sampling | None:
        """The same request in its simplest form; None for plain greedy decoding.

        Any sampling value but a repetition penalty implies temperature 1, which is not filled in: it goes with that
        value. A request over the model's generation config stays as it is, since that decides whether to sample.
        """
        if self.from_model:
            return self
        penalty = self.repetition_penalty
        if self.temperature == 0 or self == Sampling(repetition_penalty=penalty):
            return None if penalty in (None, 1) else Sampling(temperature=0.0, repetition_penalty=penalty)
        return self

    def values(self) -> dict[str, float | None]:
        """The values alone, by name: neither the seed nor where they are from."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("seed", "from_model")}

    @property
    def effective_temperature(self) -> float | None:
        """The temperature of a normalized request, given or implied; None where the model's own may apply."""
        return 1.0 if self.temperature is None and not self.from_model else self.temperature


class DecodingOptions(msgspec.Struct, frozen=True):
    """Decoding options of a reply.

    ``sizes`` None means automatic: each step as large as pays on this machine. ``sampling`` None means greedy. The
    reply ends before the first of the texts in ``stop``.
    """

    lookahead: bool = True
    sizes: Sizes | None = None
    max_new_tokens: int = 1024
    raw: bool = False
    debug: bool = False
    sampling: Sampling | None = None
    stop: tuple[str, ...] = ()
    think: bool | None = None
    """Have the model think before it answers, or not; None leaves it to the model."""
    max_thought_tokens: int | None = None
    """A longer thought is closed, and the answer follows."""


class ModelInfo(msgspec.Struct, frozen=True):
    """Description of the loaded model."""

    name: str
    device: str
    dtype: str
    parameters: int
    context_window: int
    lookahead_supported: bool
    notices: tuple[str, ...] = ()
    """Lines for the user, such as the reason for which lookahead is off."""
    compiled: bool = False
    """Its steps use ``torch.compile``."""
    bit_exact: bool = False
    """Its steps run in C: what a token yields is the same, bit for bit, whatever tokens are beside it in a step."""
    lookahead_workers: int = 1
    """Ranks that share each lookahead step."""
    tensor_parallel: int = 1
    """Ranks that the model is split over."""
    fingerprint: str = ""
    """The same for the same weights and tokenizer, wherever they were loaded from; empty if unknown."""
    has_thinking_switch: bool = False
    """Its chat template can be told whether to have it think."""
    tensor_types: tuple[tuple[str, int], ...] = ()
    """The types of a GGUF file's tensors and the number of each, the commonest first; empty for other models."""


class EarlierReply(msgspec.Struct, frozen=True, array_like=True):
    """A reply that the model gave in an earlier conversation: the question and the reply's token ids."""

    question: str
    ids: tuple[int, ...]
    successors: bytes = b""
    """Those of its ``ReplyFinished``, which only an engine reads."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """One token as text. The texts of a reply's pieces join to exactly the reply; some are empty."""

    text: str
    origin: TokenSource
    id: int
    step: int


class Statistics(msgspec.Struct, frozen=True):
    """Metrics of a reply so far. Times are in seconds of a clock that runs only during the decoder's steps.

    ``sizes`` are those requested; ``window_size`` and ``ngram_size`` (0 without a window), ``candidates`` and
    ``forward_tokens`` describe the last step.
    """

    generated_tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    time_to_first_token: float = 0.0
    recent_tokens_per_second: float = 0.0
    verified_tokens: int = 0
    verified_from: tuple[tuple[TokenSource, int], ...] = ()
    """Verified tokens of each source, the most first; empty if unknown."""
    thought_tokens: int = 0
    """Of the generated tokens, those of the thought."""
    thought_seconds: float = 0.0
    """Of the steps that thought, except for one that read the prompt."""
    prompt_tokens: int = 0
    context_used: int = 0
    context_window: int = 0
    lookahead: bool = False
    switches: tuple[int, ...] = ()
    """The tokens after which lookahead was switched on or off."""
    guessing_steps: int = 0
    """Steps that verified candidates or computed a window."""
    resting_steps: int = 0
    """Steps that did not, although lookahead was on."""
    sizes: Sizes | None = None
    window_size: int = 0
    ngram_size: int = 0
    candidates: int = 0
    step_milliseconds: float = 0.0
    """Mean time of a step, without the first."""
    forward_tokens: int = 0
    pool_size: int = 0
    accepted_runs: tuple[int, ...] = ()
    """``accepted_runs[k]``: number of steps that accepted exactly k candidates."""
    plain_step_seconds: float | None = None
    """A plain step's measured time at this context length (debug only)."""
    sampling: Sampling | None = None
    """The values in force, a drawn seed included; None in plain greedy decoding."""
    method: MethodSpec | None = msgspec.field(default=None, name="contender")
    """The method of this side of a race, with the sizes in force; None outside of races."""

    @property
    def is_held_back(self) -> bool:
        """Automatic sizes found hardly anything worth verifying, and hardly any token or time came of it."""
        gained = self.verified_tokens and (self.speedup or 0.0) > 1
        sizes = self.sizes if self.method is None else self.method.sizes
        few = self.tokens_per_step < HELD_BACK_TOKENS_PER_STEP
        rested = self.resting_steps >= max(MANY_RESTS, 4 * self.guessing_steps)
        return self.lookahead and sizes is None and rested and few and not gained

    @property
    def tokens_per_second(self) -> float:
        return self.generated_tokens / self.seconds if self.seconds > 0 else 0.0

    @property
    def tokens_per_step(self) -> float:
        """The paper's step compression S."""
        return self.generated_tokens / self.steps if self.steps else 0.0

    @property
    def tokens_per_later_step(self) -> float:
        """Tokens per step without the first step, which reads the prompt and yields one token."""
        return (self.generated_tokens - 1) / (self.steps - 1) if self.steps > 1 else 0.0

    @property
    def verified_share(self) -> float:
        return self.verified_tokens / self.generated_tokens if self.generated_tokens else 0.0

    @property
    def speedup(self) -> float | None:
        """Speed-up over plain decoding, without prefill on both sides."""
        decoding_seconds = self.seconds - self.time_to_first_token
        decoded = self.generated_tokens - 1
        if self.plain_step_seconds is None or decoding_seconds <= 0 or decoded < 1:
            return None
        return self.plain_step_seconds * decoded / decoding_seconds


class Difference(msgspec.Struct, frozen=True):
    """The first difference between the two texts of a race: the index of the token, and each side's choice.

    ``gap``: difference between the two logits in a plain forward pass; ``ulps``: the same in units in the last place of
    the model's dtype. Both are None if one of the texts had ended, or a filter such as top-k leaves out one of the
    tokens.
    """

    index: int
    left: str
    right: str
    gap: float | None = None
    ulps: float | None = None
