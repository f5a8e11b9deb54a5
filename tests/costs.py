"""What a step costs in tests: figures given beforehand, so that steps are the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding import LookaheadDecoder, StepCost

DEAR: Mapping[int, float] = {1: 1.0, 2: 1.4, 64: 5.0}
"""Seconds by tokens: a few sure candidates pay, and no window does."""
NEARLY_FREE: Mapping[int, float] = {1: 1.0, 128: 1.02}
"""Whatever might come pays, the largest window included."""
PROHIBITIVE: Mapping[int, float] = {1: 1.0, 2: 100.0}
"""Nothing pays, however sure."""


def fixed_cost(seconds: Mapping[int, float]) -> StepCost:
    return StepCost(seconds, live=False)


def budgeted(model: Any, seconds: Mapping[int, float] = DEAR) -> LookaheadDecoder:
    """The decoder as it is without a configuration, but for the measuring."""
    return LookaheadDecoder(model, cost=fixed_cost(seconds))
