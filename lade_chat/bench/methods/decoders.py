"""This package's decoders, and transformers' ``generate``, as methods of the benchmark: timed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import msgspec
import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    Step,
    StepCost,
    lookahead_support,
)
from decoding.parallel import ParallelLookaheadDecoder, shared_step_cost_of
from lade_chat.bench.methods.all_methods import Method, Replier, Setup
from lade_chat.bench.results.measurements import StepTotals, TimedReply, seed_of_draws
from lade_chat.engine.comparison.transformers_decoder import generation_config, override_generation_config
from lade_chat.presentation.methods import FIXED, JACOBI, LOOKAHEAD, PLAIN


def plain(setup: Setup) -> list[Method]:
    """Plain decoding."""
    return [decoder_method(PLAIN, lambda: AutoregressiveDecoder(setup.model), setup, learns=False)]


def jacobi(setup: Setup) -> list[Method]:
    """Jacobi decoding."""
    return [decoder_method(JACOBI, lambda: JacobiDecoder(setup.model), setup, learns=False)]


def lookahead(setup: Setup) -> list[Method]:
    """Lookahead with automatic sizes, alone and shared."""
    # One cost, with its balance of time, for all conversations, as a model has on a machine.
    return _lookahead(LOOKAHEAD, LookaheadConfig.auto(), setup, setup.fixed_cost())


def lookahead_fixed(setup: Setup) -> list[Method]:
    """The paper's algorithm with each of the fixed sizes, alone and shared."""
    return [
        method
        for sizes in dict.fromkeys(setup.fixed_sizes)
        for method in _lookahead(f"{FIXED} {','.join(map(str, sizes))}", LookaheadConfig(*sizes), setup)
    ]


def _lookahead(name: str, config: LookaheadConfig, setup: Setup, cost: StepCost | None = None) -> list[Method]:
    """Lookahead in this process alone, and with steps shared among all processes, if there are several."""
    model, workers = setup.model, setup.workers
    alone = decoder_method(name, lambda: LookaheadDecoder(model, config, cost=cost), setup)
    if workers is None:
        return [alone]
    shared = None
    if config.sizes is None and lookahead_support(model).supported:
        shared = shared_step_cost_of(model, workers, compiled=setup.compiled)

    def decoder() -> Decoder:
        return ParallelLookaheadDecoder(model, workers, config, cost=shared)

    return [alone, decoder_method(f"{name} ×{workers.ranks}", decoder, setup)]


def decoder_method(name: str, make: Callable[[], Decoder], setup: Setup, *, learns: bool = True) -> Method:
    """A decoder as a method, one with its session for each call of :attr:`Method.open`.

    A kept session passes on its tables, but not its KV cache: the other methods prefill every prompt from its first
    token, so a prefix shared with the last one must not count. With a given cost, the seconds are plain steps.
    """
    cost, ends = setup.fixed_cost(), list(setup.eos_token_ids)

    def opened(seed: int | None) -> Replier:
        decoder, session = make(), Session(setup.model, compiled=setup.compiled)

        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            draws, sampling = seed_of_draws(seed, ids), setup.sampling
            if sampling is not None and draws is not None:
                sampling = replace(sampling, seed=draws)
            session.prefix.rewind(0)
            started = perf_counter()
            steps = list(
                decoder.generate(
                    ids, max_new_tokens=max_new_tokens, eos_token_ids=ends, sampling=sampling, session=session
                )
            )
            synchronize(setup.model)
            seconds = perf_counter() - started
            if cost is not None:
                steps = [_at_cost(step, cost) for step in steps]
                seconds = sum(step.seconds for step in steps)
            tokens = tuple(token for step in steps for token in step.tokens)
            # A peer's policy has tables of its own, and those of its session are not asked.
            tables = getattr(decoder, "policy", session.tables)
            totals = _add_up(steps, sum(tables.sizes().values()))
            return TimedReply(tokens, seconds, totals, totals.tokens, totals.seconds)

        return reply

    return Method(name, learns, opened)


def _at_cost(step: Step, cost: StepCost) -> Step:
    """Return the step with its cost in place of its time; a prefill, the same for all methods, counts as plain step."""
    taken = cost.in_plain_steps(1 if step.prefill else step.forward_tokens)
    return msgspec.structs.replace(step, seconds=taken, forward_seconds=taken)


def synchronize(model: Any) -> None:
    """Wait for the accelerator, so that its work is inside the measured time."""
    if model.device.type != "cpu":
        torch.accelerator.synchronize(model.device)


def _add_up(steps: Sequence[Step], table_entries: int) -> StepTotals:
    own = [step for step in steps if not step.prefill]
    return StepTotals(
        steps=len(own),
        tokens=sum(len(step.tokens) for step in own),
        verified=sum(step.accepted for step in own),
        forward_tokens=sum(step.forward_tokens for step in own),
        seconds=sum(step.seconds for step in own),
        forward_seconds=sum(step.forward_seconds for step in own),
        median_seconds=median(step.seconds for step in own) if own else 0.0,
        table_entries=table_entries,
    )


def generate(setup: Setup, *, name: str, **settings: Any) -> list[Method]:
    """``model.generate`` with further settings, such as ``prompt_lookup_num_tokens``, in place of the model's own."""
    return [_generate_method(name, lambda seed: partial(_timed_generate, setup, seed, settings, {}))]


def assisted(setup: Setup, *, name: str) -> list[Method]:
    """``model.generate`` with a smaller draft model."""
    assistant = setup.assistant
    arguments = {"assistant_model": assistant.model}
    if assistant.tokenizer.get_vocab() != setup.tokenizer.get_vocab():
        arguments |= {"tokenizer": setup.tokenizer, "assistant_tokenizer": assistant.tokenizer}

    def opened(seed: int | None) -> Replier:
        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            with override_generation_config(assistant.model, _generation_config(setup, max_new_tokens)):
                return _timed_generate(setup, seed, {}, arguments, ids, max_new_tokens)

        return reply

    return [_generate_method(name, opened)]


def _generate_method(name: str, opened: Callable[[int | None], Replier]) -> Method:
    return Method(name, learns=False, open=opened, may_refuse=True, own_draws=True)


class _FirstTokens(BaseStreamer):
    """Notes when the prefill's tokens came, and how many they are: more than one if it verified candidates, too."""

    def __init__(self) -> None:
        self._calls = self.tokens = 0
        self.came = 0.0

    def put(self, value: torch.Tensor) -> None:
        self._calls += 1
        if self._calls == 2:  # the first call has the prompt
            self.tokens, self.came = value.numel(), perf_counter()

    def end(self) -> None:
        pass


def _timed_generate(
    setup: Setup,
    seed: int | None,
    settings: dict[str, Any],
    arguments: dict[str, Any],
    ids: Sequence[int],
    max_new_tokens: int,
) -> TimedReply:
    config = _generation_config(setup, max_new_tokens, **settings)
    model = setup.model
    first = _FirstTokens()
    draws = seed_of_draws(seed, ids)
    if draws is not None:
        torch.manual_seed(draws)
    with override_generation_config(model, config):
        started = perf_counter()
        input_ids = torch.tensor([list(ids)], device=model.device)
        output = model.generate(
            input_ids,
            attention_mask=torch.ones_like(input_ids),
            generation_config=config,
            # All of them, warpers included: the same processors as in this package's decoders.
            logits_processor=None if setup.sampling is None else setup.sampling.processors(),
            streamer=first,
            **arguments,
        )
        tokens = output[0, len(ids) :].tolist()
        synchronize(model)
        ended = perf_counter()
    later = max(0, len(tokens) - first.tokens) if first.tokens else 0
    return TimedReply(tuple(tokens), ended - started, None, later, ended - first.came if later else 0.0)


def _generation_config(setup: Setup, max_new_tokens: int, **settings: Any) -> GenerationConfig:
    draws = setup.sampling is not None and not setup.sampling.is_greedy
    return generation_config(setup.eos_token_ids, max_new_tokens, do_sample=draws, **settings)
