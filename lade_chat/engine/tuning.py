"""Tuning report for this machine: step cost, candidates that pay, the fastest sizes, and what quantising changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp
from time import perf_counter
from typing import NamedTuple

import torch

from decoding import AutoregressiveDecoder, Decoder, Session, Step, StepCost, packed_weight_bytes, step_cost_of
from decoding.parallel import shared_step_cost_of
from lade_chat.engine.decoder_factory import lookahead_decoder
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.precision import remembered_times
from lade_chat.presentation.metric_words import sizes_name
from lade_chat.protocol.values import Message, Sizes
from lade_chat.suites.prompts import bundled_suites

STEP_TOKENS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 64)
ACCEPTANCES = (0.2, 0.4, 0.6, 0.8)
WINDOWS = ((4, 4), (7, 5), (15, 5))
FIXED = (Sizes(0, 5, 7), Sizes(4, 4, 4), Sizes(7, 5, 7), Sizes(10, 5, 10), Sizes(15, 5, 15))
PROMPTS = (
    "Write a Python function that returns the sum of a list.",
    "Count from 3 to 30.",
    "Make JSON from this: Nora is 31 years old and lives in Rome.",
    "Tell me a short story about a fox.",
)
ROUNDS = 2
MAX_NEW_TOKENS = 128
WARM_UP_TOKENS = 16


class StepTime(NamedTuple):
    """Time of a step over ``tokens`` tokens; ``relative`` is in plain steps."""

    tokens: int
    seconds: float
    relative: float


class Chain(NamedTuple):
    """The best length of a candidate chain, given each candidate's acceptance if all before it were accepted."""

    acceptance: float
    candidates: int
    speedup: float


class Window(NamedTuple):
    """A full window, and the additional tokens per step that it must yield to break even."""

    window_size: int
    ngram_size: int
    tokens: int
    break_even: float


class Outcome(NamedTuple):
    """One setting's result over all prompts, without prefill; the speed-up is over plain decoding."""

    sizes: str
    tokens_per_step: float
    tokens_per_second: float
    speedup: float


class Tuning(NamedTuple):
    """The report. ``copied_bytes``: memory of weight copies in bfloat16 for steps in C;
    ``dtype_times``: milliseconds of the products by which the dtype was chosen; ``spread``: that of the measurement."""

    steps: list[StepTime]
    chains: list[Chain]
    windows: list[Window]
    copied_bytes: int
    dtype_times: dict[str, float]
    spread: float
    is_rough: bool
    sweep: Sequence[Outcome] = ()


def tuning(loaded: LoadedModel) -> Tuning:
    """Derive the report from the cost of a step; the sweep is measured apart."""
    workers, alone = loaded.workers, step_cost_of(loaded.model, compiled=loaded.info.compiled)
    cost = alone if workers is None else shared_step_cost_of(loaded.model, workers, compiled=loaded.info.compiled)
    times = step_times(cost)
    relative = cost.relative(times[-1].tokens).tolist()
    chains = [best_chain(relative, acceptance) for acceptance in ACCEPTANCES]
    windows = [window_cost(relative, *sizes) for sizes in WINDOWS]
    copied, by_dtype = packed_weight_bytes(loaded.model), remembered_times(loaded.model)
    return Tuning(times, chains, windows, copied, by_dtype, alone.spread, alone.is_rough)


def step_times(cost: StepCost) -> list[StepTime]:
    """The cost curve at a few sizes."""
    relative = cost.relative(STEP_TOKENS[-1])
    return [StepTime(tokens, cost.seconds(tokens), float(relative[tokens])) for tokens in STEP_TOKENS]


def best_chain(relative: Sequence[float], acceptance: float) -> Chain:
    """The chain of n candidates that maximises (1 + p + … + pⁿ) / cost(1 + n), where p is the acceptance.

    ``relative``: the cost of a step over T tokens at index T, in plain steps.
    """
    expected, best = 1.0, Chain(acceptance, 0, 1.0)
    for candidates in range(1, len(relative) - 1):
        expected += acceptance**candidates
        speedup = expected / float(relative[1 + candidates])
        if speedup > best.speedup:
            best = Chain(acceptance, candidates, speedup)
    return best


def window_cost(relative: Sequence[float], window_size: int, ngram_size: int) -> Window:
    """The break-even point of W columns of N-1 rows, given ``relative`` as above."""
    tokens = window_size * (ngram_size - 1)
    return Window(window_size, ngram_size, tokens, float(relative[1 + tokens]) - 1.0)


def sweep(loaded: LoadedModel, more: Sizes | None, report: Callable[[str, int, int], None]) -> list[Outcome]:
    """Measure plain decoding, automatic sizes and fixed sizes on the same prompts; ``more`` is another fixed setting.

    The settings take turns on every prompt, so that a machine that slows down slows all of them. Each reply has its own
    session, so none learns from another. Lookahead uses all of the model's ranks.
    """
    fixed = dict.fromkeys((*FIXED, *([more] if more else [])))
    decoders: dict[str, Decoder] = {
        "plain": AutoregressiveDecoder(loaded.model),
        "auto": lookahead_decoder(loaded, None),
        **{sizes_name(sizes): lookahead_decoder(loaded, sizes) for sizes in fixed},
    }
    steps: dict[str, list[Step]] = {name: [] for name in decoders}
    names, turns = list(decoders), ROUNDS * len(PROMPTS)
    for turn in range(turns):
        prompt = prompt_for(loaded, (Message("user", PROMPTS[turn % len(PROMPTS)]),), MAX_NEW_TOKENS)
        warm_up = Session(loaded.model, compiled=loaded.info.compiled)
        most = min(WARM_UP_TOKENS, prompt.max_new_tokens)
        list(decoders["plain"].generate(prompt.ids, max_new_tokens=most, eos_token_ids=(), session=warm_up))
        for place, name in enumerate(names):
            report(name, turn * len(names) + place, turns * len(names))
            reply = decoders[name].generate(
                prompt.ids,
                max_new_tokens=prompt.max_new_tokens,
                eos_token_ids=loaded.eos_token_ids,
                session=Session(loaded.model, compiled=loaded.info.compiled),
            )
            steps[name] += [step for step in reply if not step.prefill]
        names = [*names[1:], names[0]]
    tokens = {name: sum(len(step.tokens) for step in taken) for name, taken in steps.items()}
    speeds = {name: tokens[name] / max(sum(step.seconds for step in taken), 1e-9) for name, taken in steps.items()}
    return [
        Outcome(name, tokens[name] / max(len(taken), 1), speeds[name], speeds[name] / max(speeds["plain"], 1e-9))
        for name, taken in steps.items()
    ]


QUALITY_TOKENS, QUALITY_SECONDS = 24, 20
"""Tokens of one reply that is compared; seconds for all replies of one model."""


class QualityText(NamedTuple):
    """A prompt, and a model's greedy reply to it."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


class Quality(NamedTuple):
    """The number of differing replies among ``texts``, and both perplexities over the unquantised model's texts."""

    texts: int
    differing: int
    perplexity: float
    unquantised_perplexity: float


def replies(loaded: LoadedModel, prompts: Sequence[tuple[int, ...]] | None = None) -> Iterator[QualityText]:
    """Yield replies to two prompts of each bundled suite, or to those given, as long as there is time."""
    begun = perf_counter()
    for prompt in _prompts(loaded) if prompts is None else prompts:
        steps = AutoregressiveDecoder(loaded.model).generate(
            prompt, max_new_tokens=QUALITY_TOKENS, eos_token_ids=loaded.eos_token_ids, session=Session(loaded.model)
        )
        yield QualityText(prompt, tuple(token for step in steps for token in step.tokens))
        if prompts is None and perf_counter() - begun > QUALITY_SECONDS:
            return


@torch.inference_mode()
def perplexity(loaded: LoadedModel, texts: Sequence[QualityText]) -> float:
    """Return the perplexity of a model over whole texts."""
    loss, count = 0.0, 0
    for text in texts:
        ids = torch.tensor([text.prompt + text.reply], device=loaded.model.device)
        scores = loaded.model(input_ids=ids).logits[0, :-1].float().log_softmax(-1)
        loss -= float(scores.gather(1, ids[0, 1:, None]).sum())
        count += ids.shape[1] - 1
    return exp(loss / max(count, 1))


def quality(loaded: LoadedModel, texts: Sequence[QualityText], unquantised_perplexity: float) -> Quality:
    """Compare a quantised model with the texts and the perplexity of the unquantised one."""
    own = replies(loaded, [text.prompt for text in texts])
    differing = sum(reply != text for reply, text in zip(own, texts, strict=True))
    return Quality(len(texts), differing, perplexity(loaded, texts), unquantised_perplexity)


def _prompts(loaded: LoadedModel) -> Iterator[tuple[int, ...]]:
    suites = bundled_suites()
    for place in range(2):
        for suite in suites:
            yield prompt_for(loaded, (Message("user", suite.questions[place].turns[0]),), QUALITY_TOKENS).ids
