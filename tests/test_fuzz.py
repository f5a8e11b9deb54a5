"""A short run of the fuzzer, always of the same seeds; ``DECODING_FUZZ_SEEDS=500`` runs the first 500 instead.

`python -m tests.fuzzing 600` runs seeds that were never run before, for so many seconds.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzzing import Fuzz
from tests.pairs import LONG

TELLING = (6, 21, 34, 35, 36, 61, 65, 116, 119, 132, 195)
"""Each fails if sessions are blind to changed models, keep states read at another length, leave the rotary frequencies
of a text in the model, or do not read a text anew where `generate` does."""
MORE = (12, 15, 17, 30, 43, 48, 98)
"""These fail of faults that some of the others fail of, too."""
COUNT = os.environ.get("DECODING_FUZZ_SEEDS")


@pytest.mark.parametrize("seed", TELLING + MORE * LONG if COUNT is None else range(int(COUNT)))
def test_random_texts_are_generates_and_leave_no_trace(seed: int) -> None:
    Fuzz(seed).run()
