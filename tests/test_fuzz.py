"""A short run of the fuzzer, always of the same seeds; ``DECODING_FUZZ_SEEDS=500`` runs so many of them.

`python -m tests.fuzzing` runs seeds that were never run before, for as long as it is told to.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzzing import Fuzz

SEEDS = int(os.environ.get("DECODING_FUZZ_SEEDS", "24"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_texts_are_generates_and_leave_no_trace(seed: int) -> None:
    Fuzz(seed).run()
