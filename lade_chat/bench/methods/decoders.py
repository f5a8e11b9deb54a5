"""This package's decoders as methods of the benchmark: timed as a whole, their steps added up."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from decoding import Decoder, LookaheadConfig, LookaheadDecoder, SamplingConfig, Session, Step
from lade_chat.bench.memory import entries_of, size_of
from lade_chat.bench.methods.registry import Method, Replier, Setup, Sizes
from lade_chat.bench.results.values import Reply, StepFigures


def fixed_method(sizes: Sizes, setup: Setup) -> Method:
    """The paper's algorithm with fixed W, N and G."""
    name = "lookahead-fixed " + ",".join(map(str, sizes))
    return decoder_method(name, LookaheadDecoder(setup.model, LookaheadConfig(*sizes)), setup)


def decoder_method(name: str, decoder: Decoder, setup: Setup, *, learns: bool = True) -> Method:
    """A decoder as a method. One session lasts as long as what :attr:`Method.open` returns."""

    def opened(seed: int | None) -> Replier:
        session = Session(setup.model, compiled=setup.compiled)

        def reply(ids: Sequence[int], max_new_tokens: int) -> Reply:
            sampling = setup.sampling_of(ids, seed)
            return timed_reply(decoder, session, ids, max_new_tokens, setup.eos_token_ids, sampling)

        return reply

    return Method(name, learns, opened)


def timed_reply(
    decoder: Decoder,
    session: Session,
    ids: Sequence[int],
    max_new_tokens: int,
    eos_token_ids: Sequence[int],
    sampling: SamplingConfig | None,
) -> Reply:
    """Decode one reply, the prompt read anew: a kept session hands on its tables, not what it has read.

    The other methods read every prompt from its first token, so a prefix shared with the last one must not count.
    """
    session.prefix.rewind(0)
    started = perf_counter()
    steps = list(
        decoder.generate(
            ids, max_new_tokens=max_new_tokens, eos_token_ids=list(eos_token_ids), sampling=sampling, session=session
        )
    )
    synchronize(session.model)
    seconds = perf_counter() - started
    tokens = tuple(token for step in steps for token in step.tokens)
    return Reply(tokens, seconds, _added_up(steps, session))


def synchronize(model: Any) -> None:
    """Wait for the accelerator, so that the clock stops behind its work."""
    if model.device.type != "cpu":
        import torch

        torch.accelerator.synchronize(model.device)


def _added_up(steps: Sequence[Step], session: Session) -> StepFigures:
    own = [step for step in steps if not step.prefill]
    return StepFigures(
        steps=len(own),
        tokens=sum(len(step.tokens) for step in own),
        verified=sum(step.accepted for step in own),
        forward_tokens=sum(step.forward_tokens for step in own),
        seconds=sum(step.seconds for step in own),
        forward_seconds=sum(step.forward_seconds for step in own),
        median_seconds=median(step.seconds for step in own) if own else 0.0,
        table_entries=entries_of(session.tables),
        table_bytes=size_of(session.tables),
        share_tokens=sum(step.share_tokens or step.forward_tokens for step in own),
        exchanged_bytes=sum(step.exchanged_bytes for step in own),
    )
