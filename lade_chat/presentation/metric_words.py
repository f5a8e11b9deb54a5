"""In words: metrics, with their units, the stages of loading, and what a prompt leaves out.

A metric has the same words at every width, so that two wordings are never taken for two metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from rich.filesize import decimal

from lade_chat.presentation.status_parts import StatusPart, part
from lade_chat.protocol.values import DecodingOptions, FinishReason, ModelInfo, Sampling, Sizes, Stage, Statistics

EXACT_DTYPES = frozenset({"float32", "float64"})
"""In these precisions, switching lookahead can change the text only at exact ties."""
_REASONS: dict[FinishReason, tuple[str, ...]] = {
    "eos": ("end of reply",),
    "length": ("token limit",),
    "stop": ("stopped at stop string",),
    "cancelled": ("stopped by you",),
}
_SAMPLING: dict[str, tuple[str, float | None]] = {
    "temperature": ("temperature", 0),
    "top_p": ("top-p", 1),
    "top_k": ("top-k", 0),
    "min_p": ("min-p", 0),
    "typical_p": ("typical-p", 1),
    "repetition_penalty": ("repetition penalty", 1),
}
"""The label of each field of ``Sampling``, and its neutral value."""

ROUGH = 1.05
"""Factor by which a speed-up may exceed tokens/later step: clocks are a little unsteady even on an idle machine."""


def seconds(value: float) -> str:
    """A time, in seconds or in minutes."""
    if value < 60:
        return f"{value:.2f} s"
    return "{:.0f} min {:.0f} s".format(*divmod(value, 60))


def speed(value: float) -> str:
    """A rate of tokens."""
    return f"{value:.1f} tok/s"


def lookahead_forms(on: bool, sizes: Sizes | None) -> tuple[str, ...]:
    """``lookahead ON auto`` or ``lookahead ON W7 N5 G7``, and shorter; the paper's letters stand for its sizes."""
    return (f"lookahead ON {sizes_name(sizes)}", "lookahead ON") if on else ("lookahead OFF",)


def sizes_name(sizes: Sizes | None) -> str:
    """``W7 N5 G7``, or ``auto``."""
    return "auto" if sizes is None else f"W{sizes.window_size} N{sizes.ngram_size} G{sizes.guess_set_size}"


def sampling_forms(sampling: Sampling) -> tuple[str, ...]:
    """Describe the sampling: all values that have an effect, then only the first of them, then only the seed.

    The values of a model's generation config are known only after a reply.
    """
    sampling = msgspec.structs.replace(sampling, temperature=sampling.effective_temperature)
    given = [(name, getattr(sampling, field), neutral) for field, (name, neutral) in _SAMPLING.items()]
    values = [f"{name} {value:g}" for name, value, neutral in given if value not in (None, neutral)]
    if sampling.from_model:
        values.insert(0, "the model's sampling")
    seed = [] if sampling.seed is None else [f"seed {sampling.seed}"]
    forms = ([*values, *seed], [*values[:1], *seed], seed)
    return tuple(dict.fromkeys(", ".join(form) for form in forms if form))


def thinking_forms(options: DecodingOptions, model: ModelInfo | None) -> tuple[str, ...]:
    """Say if the model thinks, and at most how long; empty where neither it nor the user has a say in that."""
    has_switch = model is None or model.has_thinking_switch
    state = {None: "thinking auto", True: "thinking on", False: "thinking off"}[options.think]
    if (limit := options.max_thought_tokens) is None or (options.think is False and has_switch):
        return (state,) if has_switch else ()
    if not has_switch:
        return (f"thoughts of at most {counted(limit, 'token')}", f"thoughts ≤ {limit}")
    return (f"{state}, at most {counted(limit, 'token')}", f"{state} ≤ {limit}")


def reply_parts(
    statistics: Statistics, reason: FinishReason | None = None, *, lookahead: bool = True
) -> list[StatusPart]:
    """Return a reply's metrics; without a ``reason`` it still runs. ``lookahead``: tell whether that is on."""
    s = statistics
    if reason is not None and not s.generated_tokens:
        return [part(0, *reason_forms(s, reason))]
    parts = [
        _metric("tok/s", 0, "999.9 tok/s", speed(s.tokens_per_second)),
        _metric("tokens/step", 3, "9.9 tokens/step", f"{s.tokens_per_step:.1f} tokens/step"),
        _metric("verified", 4, "100% verified", f"{s.verified_share:.0%} verified"),
        _metric("first token", 6, "first token 99.99 s", f"first token {seconds(s.time_to_first_token)}"),
        _metric(
            "tokens in seconds",
            8,
            "9999 tokens in 99.99 s",
            f"{counted(s.generated_tokens, 'token')} in {seconds(s.seconds)}",
        ),
    ]
    if s.thought_tokens:
        parts.append(_metric("thought", 2, "9999 tokens thought", f"{counted(s.thought_tokens, 'token')} thought"))
    if s.context_window:
        full = f"context {s.context_window}/{s.context_window}"
        parts.append(_metric("context", 5, full, f"context {s.context_used}/{s.context_window}"))
    if s.is_held_back:
        parts.append(part(1, "guesses save nothing", metric="guesses save nothing"))
    if lookahead and s.method is None:  # in a race the titles say it
        parts.append(part(1, *lookahead_forms(s.lookahead, s.sizes)))
    if reason is None:
        parts.insert(1, _metric("now", 7, "now 999.9 tok/s", f"now {speed(s.recent_tokens_per_second)}"))
        return parts
    settled = [each._replace(room=0) for each in parts]
    if s.sampling is not None:
        settled.append(part(1, *sampling_forms(s.sampling)))
    # A normal end is less important than any other.
    return [*settled, part(3 if reason == "eos" else 2, *reason_forms(s, reason))]


def ended_parts(
    statistics: Statistics, ending: FinishReason | Literal["failed"] | None, why: str = "", *, lookahead: bool = True
) -> list[StatusPart]:
    """Return the metrics of a reply that is over, and ``why`` it was stopped; without an ending it was interrupted."""
    if ending == "cancelled" and why:
        return [*reply_parts(statistics, ending, lookahead=lookahead)[:-1], part(2, why)]
    if ending is not None and ending != "failed":
        return reply_parts(statistics, ending, lookahead=lookahead)
    return [*reply_parts(statistics, "eos", lookahead=lookahead)[:-1], part(2, "broken off")]


_SUMS = (
    *("generated_tokens", "thought_tokens", "thought_seconds", "steps", "seconds"),
    *("verified_tokens", "guessing_steps", "resting_steps"),
)


def of_whole(runs: Sequence[Statistics]) -> Statistics:
    """Return the metrics of a reply that was continued, added up over its runs where that makes sense."""
    last = next((each for each in reversed(runs) if each.steps), runs[-1])
    sums = {name: sum(getattr(each, name) for each in runs) for name in _SUMS}
    first = {name: getattr(runs[0], name) for name in ("prompt_tokens", "time_to_first_token")}
    return msgspec.structs.replace(last, **sums, **first)


def speedup_words(s: Statistics, unknown: str = "not measured") -> str:
    """Return the speed-up over plain decoding; where nothing was verified there is none, whatever the clocks say."""
    if s.speedup is None:
        return unknown
    if not s.verified_tokens:
        return "nothing verified"
    # A step is no shorter than a plain one; where it seems so, something else took the time of the plain ones.
    is_rough = s.steps > 1 and s.speedup > ROUGH * s.tokens_per_later_step
    return f"rough: {s.speedup:.2f}x" if is_rough else f"{s.speedup:.2f}x"


def _metric(metric: str, rank: int, widest: str, *forms: str) -> StatusPart:
    return part(rank, *forms, room=len(widest), metric=metric)


def reason_forms(statistics: Statistics, reason: FinishReason) -> tuple[str, ...]:
    """Return the reason why a reply ended."""
    full = 0 < statistics.context_window <= statistics.context_used
    return ("context full",) if reason == "length" and full else _REASONS[reason]


def summary(statistics: Statistics) -> list[str]:
    """The SUMMARY line of a reply, item by item."""
    s = statistics
    return [
        f"SUMMARY input {counted(s.prompt_tokens, 'token')}",
        f"generated {counted(s.generated_tokens, 'token')}",
        f"time {seconds(s.seconds)}",
        f"throughput {speed(s.tokens_per_second)}",
        counted(s.steps, "step"),
        f"compression ratio {s.tokens_per_step:.2f}",
    ]


def exactness(dtype: str) -> tuple[str, ...]:
    """Say where switching lookahead may change the text in this precision; long and short forms."""
    if dtype in EXACT_DTYPES:
        return (f"in {dtype} only ties may pick another token", f"{dtype}: only ties may differ")
    return (
        f"in {dtype} near ties may pick another token when you switch",
        f"{dtype}: near ties may pick another token",
    )


def promise(dtype: str, *, bit_exact: bool = False) -> tuple[str, ...]:
    """Promise what holds for the text when lookahead is switched; the manual explains ties."""
    return ("lookahead on or off: same text",) if bit_exact or dtype in EXACT_DTYPES else exactness(dtype)


def window(statistics: Statistics) -> str:
    """The window in force, its columns by the length of its n-grams."""
    s = statistics
    return f"{s.window_size} × {s.ngram_size}" if s.window_size else "no window"


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


STAGES: dict[Stage, str] = {
    "configuration": "reading the configuration",
    "download": "downloading",
    "tokenizer": "loading the tokenizer",
    "unpacking": "unpacking the weights to bfloat16",
    "weights": "loading the weights",
    "kernels": "compiling for this processor, the first time only",
    "probe": "checking lookahead",
    "compile": "compiling the model's steps",
    "cost": "measuring what a step costs",
}


def stage_words(stage: Stage, total: int) -> str:
    """Name a stage; where weights are unpacked, with the ``total`` of bytes that they take."""
    return f"{STAGES[stage]}, {decimal(total)} of memory" if stage == "unpacking" else STAGES[stage]


PREFILL = "reading the prompt"


def left_out(messages: int) -> str:
    """Tell how many of a conversation's oldest messages a prompt leaves out."""
    one = messages == 1
    which = "message no longer fits and was" if one else f"{messages} messages no longer fit and were"
    return f"the oldest {which} left out"
