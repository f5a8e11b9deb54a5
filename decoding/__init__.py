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
    from decoding.asynchronous import GenerationOptions as GenerationOptions
    from decoding.config import LookaheadConfig as LookaheadConfig
    from decoding.costs.step_cost import StepCost as StepCost
    from decoding.decoder import AutoregressiveDecoder as AutoregressiveDecoder
    from decoding.decoder import Decoder as Decoder
    from decoding.detokenizer import Detokenizer as Detokenizer
    from decoding.drafting.draft_tables import DraftTables as DraftTables
    from decoding.gguf.loading import load_gguf as load_gguf
    from decoding.gguf.metadata import GgufError as GgufError
    from decoding.integrations.custom_generate import generate as generate
    from decoding.jacobi import JacobiDecoder as JacobiDecoder
    from decoding.jacobi import JacobiIteration as JacobiIteration
    from decoding.lookahead import LookaheadDecoder as LookaheadDecoder
    from decoding.plain_step import plain_step_seconds as plain_step_seconds
    from decoding.planning.cost_probe import measure_step_cost as measure_step_cost
    from decoding.planning.cost_probe import step_cost_of as step_cost_of
    from decoding.planning.cost_probe import still_holds as still_holds
    from decoding.prefilling import prefill as prefill
    from decoding.quantization.int8 import quantize as quantize
    from decoding.runner import Support as Support
    from decoding.runner import compile_support as compile_support
    from decoding.runner import lookahead_support as lookahead_support
    from decoding.runner import native_support as native_support
    from decoding.sampling.config import SamplingConfig as SamplingConfig
    from decoding.session import Session as Session
    from decoding.step import FinishReason as FinishReason
    from decoding.step import GenerationStats as GenerationStats
    from decoding.step import Origin as Origin
    from decoding.step import Step as Step
    from decoding.step_detail import StepDetail as StepDetail
    from decoding.weight_trust import packed_weight_bytes as packed_weight_bytes
    from decoding.weight_trust import relocate_weights as relocate_weights
    from decoding.weight_trust import trust_weights as trust_weights

_NAMES = {
    "asynchronous": "GenerationOptions",
    "config": "LookaheadConfig",
    "costs.step_cost": "StepCost",
    "decoder": "AutoregressiveDecoder Decoder",
    "detokenizer": "Detokenizer",
    "drafting.draft_tables": "DraftTables",
    "gguf.metadata": "GgufError",
    "gguf.loading": "load_gguf",
    "integrations.custom_generate": "generate",
    "jacobi": "JacobiDecoder JacobiIteration",
    "lookahead": "LookaheadDecoder",
    "plain_step": "plain_step_seconds",
    "planning.cost_probe": "measure_step_cost step_cost_of still_holds",
    "prefilling": "prefill",
    "quantization.int8": "quantize",
    "runner": "Support compile_support lookahead_support native_support",
    "sampling.config": "SamplingConfig",
    "session": "Session",
    "step": "FinishReason GenerationStats Origin Step",
    "step_detail": "StepDetail",
    "weight_trust": "packed_weight_bytes relocate_weights trust_weights",
}
"""By their modules. Torch takes seconds to import, and a file's header is read without it."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"decoding.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
