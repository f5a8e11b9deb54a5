"""Exact lookahead decoding for any causal language model of transformers. Token ids in, steps out.

>>> from transformers import AutoModelForCausalLM, AutoTokenizer
>>> from decoding import Detokenizer, GenerationStats, LookaheadDecoder, Session
>>> tokenizer = AutoTokenizer.from_pretrained("assets/model")
>>> model = AutoModelForCausalLM.from_pretrained("assets/model")
>>> decoder, session = LookaheadDecoder(model), Session(model)

>>> question = [{"role": "user", "content": "What is 17 plus 25?"}]
>>> ids = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_dict=False)
>>> text, stats, reply = Detokenizer(tokenizer, ids), GenerationStats(), ""
>>> for step in decoder.generate(ids, max_new_tokens=64, session=session):
...     stats.add(step)
...     reply += text.push(*step.tokens)
>>> reply += text.finish()
>>> stats.tokens == len(session.ids) - len(ids)
True
>>> print(stats)  # doctest: +SKIP
30 tokens in 15 forward passes, 2.00 each: 14 plain, 5 context, 11 successor; 0.81 s, 36.8 tokens/s
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoding.asynchronous import GenerationOptions
    from decoding.config import LookaheadConfig
    from decoding.costs.step_cost import StepCost
    from decoding.decoder import AutoregressiveDecoder, Decoder, prefill
    from decoding.detokenizer import Detokenizer
    from decoding.drafting.tables import DraftTables
    from decoding.gguf.metadata import GgufError
    from decoding.gguf.model import load_gguf
    from decoding.integrations.custom_generate import generate
    from decoding.jacobi import JacobiDecoder, JacobiIteration
    from decoding.lookahead import LookaheadDecoder
    from decoding.plain_step import plain_step_seconds
    from decoding.planning.cost_probe import measure_step_cost, step_cost_of, still_holds
    from decoding.quantization.int8 import quantize
    from decoding.runner import (
        Support,
        compile_support,
        lookahead_support,
        native_support,
    )
    from decoding.sampling.config import SamplingConfig
    from decoding.session import Session
    from decoding.step import FinishReason, GenerationStats, Origin, Step
    from decoding.step_detail import Outlook, StepDetail
    from decoding.weight_trust import packed_weight_bytes, relocate_weights, trust_weights

_MODULES = {
    "GenerationOptions": "asynchronous",
    "AutoregressiveDecoder": "decoder",
    "LookaheadConfig": "config",
    "Decoder": "decoder",
    "prefill": "decoder",
    "Detokenizer": "detokenizer",
    "DraftTables": "drafting.tables",
    "GgufError": "gguf.metadata",
    "load_gguf": "gguf.model",
    "generate": "integrations.custom_generate",
    "JacobiDecoder": "jacobi",
    "JacobiIteration": "jacobi",
    "LookaheadDecoder": "lookahead",
    "plain_step_seconds": "plain_step",
    "measure_step_cost": "planning.cost_probe",
    "step_cost_of": "planning.cost_probe",
    "still_holds": "planning.cost_probe",
    "StepCost": "costs.step_cost",
    "quantize": "quantization.int8",
    "Support": "runner",
    "compile_support": "runner",
    "lookahead_support": "runner",
    "native_support": "runner",
    "SamplingConfig": "sampling.config",
    "Session": "session",
    "GenerationStats": "step",
    "FinishReason": "step",
    "Origin": "step",
    "Step": "step",
    "Outlook": "step_detail",
    "StepDetail": "step_detail",
    "packed_weight_bytes": "weight_trust",
    "relocate_weights": "weight_trust",
    "trust_weights": "weight_trust",
}
"""The module of each name. Torch takes seconds to import, and a file's header is read without it."""

__all__ = [
    "AutoregressiveDecoder",
    "Decoder",
    "Detokenizer",
    "DraftTables",
    "FinishReason",
    "GenerationOptions",
    "GenerationStats",
    "GgufError",
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
    "compile_support",
    "generate",
    "load_gguf",
    "lookahead_support",
    "measure_step_cost",
    "native_support",
    "packed_weight_bytes",
    "plain_step_seconds",
    "prefill",
    "quantize",
    "relocate_weights",
    "step_cost_of",
    "still_holds",
    "trust_weights",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"decoding.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
