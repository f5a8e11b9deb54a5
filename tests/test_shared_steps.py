"""Steps in C whose work is shared: among threads, by several callers at once, and in a forked process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import (
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    StepDetail,
    native_support,
    plain_step_seconds,
    prefill,
)
from decoding.native.kernels import native_kernels
from tests.models import tokens_of

pytestmark = pytest.mark.skipif(native_kernels() is None, reason="no C compiler here")

SECONDS = 60
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
SIZES = LookaheadConfig(4, 3, 2)
"""With fixed sizes every step is planned, so that each is observed."""


def wide_model() -> hf.PreTrainedModel:
    """A model whose products and attention are large enough to be shared."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = hf.LlamaForCausalLM(hf.LlamaConfig(vocab_size=2000, num_key_value_heads=2, eos_token_id=None, **sizes))
    assert native_support(model.eval()).supported
    return model


def test_a_text_is_the_same_by_any_number_of_threads_and_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    model = wide_model()

    def text(_: int = 0) -> list[int]:
        return tokens_of(LookaheadDecoder(model).generate(PROMPT * 12, max_new_tokens=60))

    texts = []
    for threads in (1, 2, 3, 16):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        texts.append(text())
    with ThreadPoolExecutor(4) as pool:
        texts += pool.map(text, range(8))
    assert all(one == texts[0] for one in texts)


def test_a_session_in_the_middle_of_a_step_is_refused_to_others() -> None:
    model = wide_model()
    decoder, session, refused = LookaheadDecoder(model, SIZES), Session(model), []

    def take_another_step(_: StepDetail) -> None:
        with pytest.raises(RuntimeError, match="in the middle of a step"):
            next(decoder.generate(PROMPT, max_new_tokens=2, session=session))
        refused.append(True)

    expected = tokens_of(decoder.generate(PROMPT, max_new_tokens=9))
    steps = decoder.generate(PROMPT, max_new_tokens=9, session=session, observe=take_another_step)
    assert tokens_of(steps) == expected
    assert refused


def test_a_session_taken_up_the_moment_before_a_step_is_refused() -> None:
    decoder = LookaheadDecoder(wide_model(), SIZES)
    session = Session(decoder.model)
    steps = decoder.generate(PROMPT, max_new_tokens=9, session=session)
    next(steps)
    others, lock = decoder.generate(PROMPT[::-1], max_new_tokens=9, session=session), session.stepping

    class Overtaken:
        """The session's lock; before it is first taken, another generation takes a step."""

        release = lock.release

        def acquire(self, blocking: bool) -> bool:
            session.stepping = lock
            next(others)
            return lock.acquire(blocking=blocking)

    session.stepping = Overtaken()  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="has moved on"):
        next(steps)
    expected = tokens_of(decoder.generate(PROMPT[::-1], max_new_tokens=9))
    tokens_of(others)
    assert session.ids == [*PROMPT[::-1], *expected]


@pytest.mark.parametrize(
    "use",
    [
        lambda session: next(prefill(session, PROMPT * 200)),
        plain_step_seconds,
        Session.copy,
        lambda session: session.remember([]),
    ],
    ids=["prefill", "plain_step_seconds", "copy", "remember"],
)
def test_whatever_changes_or_copies_a_session_is_refused_in_the_middle_of_a_step(use: Callable[[Session], Any]) -> None:
    decoder, refused = LookaheadDecoder(wide_model(), SIZES), []
    session = Session(decoder.model)

    def use_it(_: StepDetail) -> None:
        with pytest.raises(RuntimeError, match="in the middle of a step"):
            use(session)
        refused.append(True)

    expected = tokens_of(decoder.generate(PROMPT, max_new_tokens=9))
    assert tokens_of(decoder.generate(PROMPT, max_new_tokens=9, session=session, observe=use_it)) == expected
    assert refused
    use(session)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_process_shares_work_among_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = native_kernels()
    assert kernels is not None
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    rows = torch.randn(64, 30_000)
    before = kernels.largest(rows, 2)
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(kernels.largest(rows, 2) != before)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
