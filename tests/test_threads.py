"""Several threads with one model, each with a session of its own, and what a thread leaves behind."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil
import pytest
import torch
import transformers as hf

from decoding import AutoregressiveDecoder, Session, native_support
from decoding.native.kernels import NativeKernels, native_kernels
from decoding.native_forward.rotary_tables import POSITIONS
from tests.length_models import LENGTHS
from tests.models import random_prompt, tokens_of

in_c = pytest.mark.skipif(native_kernels() is None, reason="no C compiler here")
SECONDS = 120


@in_c
def test_a_thread_that_outgrows_the_rotary_tables_leaves_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(1)
    config = hf.LlamaConfig(vocab_size=97, num_key_value_heads=1, eos_token_id=None, **shape)
    model = hf.LlamaForCausalLM(config).eval()
    assert native_support(model).supported
    decoder, first, second = AutoregressiveDecoder(model), Session(model), Session(model)
    expected = tokens_of(decoder.generate([5, 6, 7], max_new_tokens=8))
    tokens_of(decoder.generate([5, 6, 7], max_new_tokens=2, session=first))
    step, caller = NativeKernels.step, threading.get_ident()
    spoilt: list[Any] = []

    def interrupted(kernels: Any, *arguments: Any) -> None:
        """Before C reads the tables, another thread makes longer ones, and its own memory takes their place."""
        if threading.get_ident() == caller and not spoilt:
            spoilt.append(True)
            with ThreadPoolExecutor(1) as pool:
                long = random_prompt(2 * POSITIONS)
                pool.submit(lambda: tokens_of(decoder.generate(long, max_new_tokens=1, session=second))).result(SECONDS)
            sizes = range(POSITIONS, POSITIONS + 100)
            spoilt.extend(torch.full((rows, 64), torch.nan) for rows in sizes for _ in range(4))
        step(kernels, *arguments)

    monkeypatch.setattr(NativeKernels, "step", interrupted)
    assert tokens_of(decoder.generate([5, 6, 7], max_new_tokens=8, session=first)) == expected
    assert len(spoilt) > 1


PATIENCE = 0.3
"""For another thread to do what it must not: it is waited for in vain."""


def test_threads_that_share_a_model_of_dynamic_frequencies_leave_each_other_theirs() -> None:
    torch.manual_seed(1)
    model = hf.AutoModelForCausalLM.from_config(LENGTHS["llama-dynamic"]()).eval().double()
    short, long = random_prompt(40), random_prompt(100)

    def logits(prompt: list[int]) -> torch.Tensor:
        session = Session(model)
        session.sync(prompt)
        return session.read(len(prompt))

    expected, expected_of_long = logits(short), logits(long)
    caller, other = threading.get_ident(), ThreadPoolExecutor(1)
    grown, done = threading.Event(), threading.Event()
    started: list[Any] = []

    def before_the_frequencies(*_: Any) -> None:
        if threading.get_ident() == caller and not started:
            started.append(other.submit(logits, long))
            grown.wait(PATIENCE)

    def behind_the_frequencies(*_: Any) -> None:
        if threading.get_ident() != caller and not grown.is_set():
            grown.set()
            done.wait(PATIENCE)

    model.model.embed_tokens.register_forward_hook(before_the_frequencies)
    model.model.layers[0].register_forward_pre_hook(behind_the_frequencies)
    with other:
        assert torch.equal(logits(short), expected)
        done.set()
    assert torch.equal(started[0].result(), expected_of_long)


@in_c
def test_a_thread_that_has_ended_holds_no_memory() -> None:
    kernels = native_kernels()
    assert kernels is not None
    row, process = torch.randn(2_000_000), psutil.Process()

    def draw() -> None:
        kernels.draw(row, (1, 2), 1.0, 0, 0.9, -math.inf)

    def on_threads(count: int) -> int:
        for _ in range(count):
            thread = threading.Thread(target=draw)
            thread.start()
            thread.join()
        return process.memory_info().rss

    # The C library gives threads arenas of their own, up to a number.
    before = on_threads(20)
    assert on_threads(40) - before < 15 * row.nbytes


@in_c
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_kernels_without_memory_raise_and_work_again_once_there_is_some() -> None:
    kernels = native_kernels()
    assert kernels is not None
    # What they ask for is more than an arena of the C library may have left.
    row = torch.zeros(8_000_000)
    rows, weight = torch.ones(500, 40_000), torch.ones(8, 40_000, dtype=torch.bfloat16)
    calls = [
        lambda: kernels.draw(row, (1, 2), 1.0, 0, 0.9, -math.inf),
        lambda: float(kernels.product(rows, weight).sum()),
    ]
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(_raises_without_memory(calls))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _raises_without_memory(calls: list[Callable[[], float]]) -> int:
    """Return 0 if all calls raise while there is no memory, and none does after that."""
    import resource

    torch.set_num_threads(1)  # a forked process has no threads to share with

    limits, errors = resource.getrlimit(resource.RLIMIT_AS), 0
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 4_000_000, limits[1]))
    for call in calls:
        with suppress(MemoryError):
            call()
            errors += 1
    resource.setrlimit(resource.RLIMIT_AS, limits)
    return errors + sum(not math.isfinite(call()) for call in calls)
