"""Values that commands and events carry: messages, options, pieces of a reply, statistics."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from lade_chat.protocol.inspection import Origin

FinishReason: TypeAlias = Literal["eos", "length", "stop", "cancelled"]
Side: TypeAlias = Literal["left", "right"]
MethodName: TypeAlias = Literal[
    "plain", "lookahead", "lookahead-fixed", "jacobi", "hf-generate", "hf-prompt-lookup-3", "hf-prompt-lookup-10"
]
"""The ways to decode that can race, by the names that the benchmark has for them too."""
Stage: TypeAlias = Literal["configuration", "download", "tokenizer", "weights", "probe", "compile", "cost"]


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation: who said it, and the text."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelOptions(msgspec.Struct, frozen=True):
    """Which model to load, and how. ``path`` None means the model that ships with the application."""

    path: str | None = None
    device: str | None = None
    dtype: str | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False
    step_cost: bool = True
    """Whether to measure what a step costs, which automatic sizes follow from."""
    compiled: bool = False
    """Whether steps go through ``torch.compile``, where they can."""
    lookahead_workers: int = 1
    """How many processes share each step of lookahead, every one with a replica of the model."""
    tensor_parallel: int = 1
    """How many processes hold a part of the model each."""
    device_map: str | None = None
    """How accelerate spreads the model over the devices: auto, balanced …"""

    @property
    def processes(self) -> int:
        """How many processes there are in all."""
        return max(self.lookahead_workers, self.tensor_parallel)


class Sizes(msgspec.Struct, frozen=True):
    """The paper's W, N and G."""

    window_size: int = 7
    ngram_size: int = 5
    guess_set_size: int = 7


class Contender(msgspec.Struct, frozen=True):
    """How one side of a race decodes; ``sizes`` are those of lookahead-fixed."""

    name: MethodName
    sizes: Sizes | None = None


class Sampling(msgspec.Struct, frozen=True):
    """How tokens are drawn, each value in the sense that transformers gives it.

    As a wish, None says nothing: the value is that of the model's generation config with ``from_model``, else one that
    changes nothing. As what was in force (in ``Statistics``) every value is filled in; only ``seed`` is None where the
    likeliest token is always taken (temperature 0).
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    """With one seed a text is drawn the same, lookahead or not; without one the engine draws it."""
    from_model: bool = False
    """Fill in from the model's generation config."""

    def normalized(self) -> Sampling | None:
        """The same request in its simplest form; None for plain greedy decoding.

        Any sampling value but a repetition penalty implies temperature 1. A request over the model's generation config
        stays as it is, since that decides whether to sample.
        """
        if self.from_model:
            return self
        penalty = self.repetition_penalty
        if self.temperature == 0 or self == Sampling(repetition_penalty=penalty):
            return None if penalty in (None, 1) else Sampling(temperature=0.0, repetition_penalty=penalty)
        return self if self.temperature is not None else msgspec.structs.replace(self, temperature=1.0)


class DecodingOptions(msgspec.Struct, frozen=True):
    """How a reply is decoded.

    ``sizes`` None means automatic: each step as large as pays on this machine. ``sampling`` None means greedy: the
    likeliest token, always. The reply ends before the first of the texts in ``stop``.
    """

    lookahead: bool = True
    sizes: Sizes | None = None
    max_new_tokens: int = 1024
    raw: bool = False
    debug: bool = False
    sampling: Sampling | None = None
    stop: tuple[str, ...] = ()


class ModelInfo(msgspec.Struct, frozen=True):
    """The loaded model, as people are told of it."""

    name: str
    device: str
    dtype: str
    parameters: int
    context_window: int
    lookahead_supported: bool
    notices: tuple[str, ...] = ()
    """Lines that people should read: why lookahead is off, that roles are plain text, which device was chosen."""
    compiled: bool = False
    """Whether its steps go through ``torch.compile``."""
    lookahead_workers: int = 1
    """How many processes share each step of lookahead."""
    tensor_parallel: int = 1
    """How many processes hold a part of the model each."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """One token as text. The texts of a reply's pieces join to exactly the reply; some are empty."""

    text: str
    origin: Origin
    id: int
    step: int


class Statistics(msgspec.Struct, frozen=True):
    """A reply's figures so far. Times are in seconds on the clock that runs only during the decoder's steps.

    ``sizes`` are those asked for. What was in force in the last step stands in ``window_size`` and ``ngram_size`` (0
    without a window), ``candidates`` and ``forward_tokens``.
    """

    generated_tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    time_to_first_token: float = 0.0
    recent_tokens_per_second: float = 0.0
    verified_tokens: int = 0
    verified_from: tuple[tuple[Origin, int], ...] = ()
    """How many of them each source had guessed, the most first; empty too where that is not known."""
    prompt_tokens: int = 0
    context_used: int = 0
    context_window: int = 0
    lookahead: bool = False
    sizes: Sizes | None = None
    window_size: int = 0
    ngram_size: int = 0
    candidates: int = 0
    step_milliseconds: float = 0.0
    """A step's mean time, that of the prompt left out."""
    forward_tokens: int = 0
    pool_size: int = 0
    accepted_runs: tuple[int, ...] = ()
    """``accepted_runs[k]``: how many steps accepted exactly k candidate tokens."""
    plain_step_seconds: float | None = None
    """A plain step's measured time at this context length (debug only)."""
    sampling: Sampling | None = None
    """In force in this reply, a drawn seed included; None where the likeliest token is always taken, as it is."""
    contender: Contender | None = None
    """How this side of a race decodes, with the sizes in force; None outside of races."""

    @property
    def automatic(self) -> bool:
        """Whether every step's sizes follow from what a step costs."""
        return self.sizes is None

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
        """How many times faster than plain decoding would have been, prefill left out on both sides."""
        decoding_seconds = self.seconds - self.time_to_first_token
        decoded = self.generated_tokens - 1
        if self.plain_step_seconds is None or decoding_seconds <= 0 or decoded < 1:
            return None
        return self.plain_step_seconds * decoded / decoding_seconds


class Difference(msgspec.Struct, frozen=True):
    """Where the two texts of a race part: the index of the first token that differs, and what each side chose.

    ``gap``: by how much the larger of the two logits exceeds the other there, read once in a plain forward pass;
    ``ulps``: the same in units of the last place of the model's number format. None where one of the texts had ended.
    """

    index: int
    left: str
    right: str
    gap: float | None = None
    ulps: float | None = None
