"""Exact lookahead decoding for any causal language model of transformers. Token ids in, steps out."""

from decoding.autoregressive import AutoregressiveDecoder
from decoding.candidates.tables import Tables
from decoding.config import LookaheadConfig
from decoding.cost import StepCost
from decoding.cost_probe import measure_step_cost, step_cost, still_holds
from decoding.decoder import Decoder, plain_step_seconds, prefill
from decoding.detail import Outlook, StepDetail
from decoding.hf import generate
from decoding.jacobi import JacobiDecoder, JacobiIteration
from decoding.linear_kernels import packed_weight_bytes
from decoding.lookahead import LookaheadDecoder
from decoding.sampling import SamplingConfig
from decoding.session import Session
from decoding.static_prefix import compile_support
from decoding.step import FinishReason, Origin, Step
from decoding.support import Support, lookahead_support

__all__ = [
    "AutoregressiveDecoder",
    "Decoder",
    "FinishReason",
    "JacobiDecoder",
    "JacobiIteration",
    "LookaheadConfig",
    "LookaheadDecoder",
    "Origin",
    "Outlook",
    "SamplingConfig",
    "Session",
    "Step",
    "StepCost",
    "StepDetail",
    "Support",
    "Tables",
    "compile_support",
    "generate",
    "lookahead_support",
    "measure_step_cost",
    "packed_weight_bytes",
    "plain_step_seconds",
    "prefill",
    "step_cost",
    "still_holds",
]
