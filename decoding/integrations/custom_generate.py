"""generate: lookahead decoding in place of `model.generate`, or within it as its ``custom_generate``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

import torch
from transformers import (
    GenerationConfig,
    GenerationMixin,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteria,
    StopStringCriteria,
)
from transformers.generation.logits_process import LogitsProcessor
from transformers.generation.streamers import BaseStreamer
from transformers.generation.utils import GenerateDecoderOnlyOutput

from decoding.arguments import as_callables, as_seed, check_kind, check_streamer, check_tokenizer, shown
from decoding.config import LookaheadConfig
from decoding.decoder import causal_model
from decoding.integrations.generate_call import GenerateCall
from decoding.lookahead import LookaheadDecoder
from decoding.model.unwrapping import unwrapped
from decoding.session import Session

_Result: TypeAlias = "torch.LongTensor | GenerateDecoderOnlyOutput"
_Prepared: TypeAlias = tuple[Sequence[LogitsProcessor], Sequence[StoppingCriteria], GenerationConfig]
_ABSENT: Any = object()
"""Default of an argument that `generate` always passes."""
NEEDED = ("streamer", "assistant_model", "synced_gpus")


def generate(
    model: PreTrainedModel,
    input_ids: torch.LongTensor | None = None,
    logits_processor: Sequence[LogitsProcessor] | None = None,
    stopping_criteria: Sequence[StoppingCriteria] | None = None,
    generation_config: GenerationConfig | None = None,
    *,
    inputs: torch.LongTensor | None = _ABSENT,
    lookahead_config: LookaheadConfig | None = None,
    seed: int | None = None,
    session: Session | None = None,
    streamer: BaseStreamer | None = None,
    stop_strings: str | Sequence[str] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    **model_kwargs: Any,
) -> torch.LongTensor | GenerateDecoderOnlyOutput:
    """Decode as `model.generate` would, in fewer steps.

    It may be called in three ways, each with all the arguments of `model.generate`:

    >>> import decoding
    >>> expected = model.generate(**inputs, max_new_tokens=8)
    >>> folder = "assets/examples/custom_generate_folder"
    >>> for output in (
    ...     decoding.generate(model, **inputs, max_new_tokens=8),
    ...     model.generate(**inputs, max_new_tokens=8, custom_generate=decoding.generate),
    ...     model.generate(**inputs, max_new_tokens=8, custom_generate=folder, trust_remote_code=True),
    ... ):
    ...     assert output.tolist() == expected.tolist()

    The folder's ``custom_generate/generate.py`` says ``from decoding import generate``. All processors, warpers,
    stopping criteria and streamers of `generate` apply. The greedy text is that of plain `generate`; a sampled one is
    from the same distribution. Where a model has learnt positions the text ends with them; `generate` fails there.

    Args:
        model, input_ids, logits_processor, stopping_criteria, generation_config, inputs, model_kwargs: as of
            `generate`. One text of shape (1, n); padding on its left is allowed where it changes nothing.
        lookahead_config: W, N and G; None for :meth:`LookaheadConfig.auto`.
        seed: the seed of sampling, from 0 to 2**64 - 1; None to draw it from torch's generator, so that
            `torch.manual_seed` decides the text.
        session: a session of this model to go on from, whose prefix is not prefilled again.
        streamer: gets the prompt, every token once, and the end.
        stop_strings: strings that end the text, as of `generate`; they need the ``tokenizer``. With a callable,
            `generate` itself refuses those of a generation config: pass them here.
        tokenizer: the model's.

    Returns:
        The ids, prompt included, shape (1, n + new); with ``return_dict_in_generate`` an output that holds them as
        its ``sequences``, and the KV cache as its ``past_key_values`` (None with padding, a recurrent state, a sparse
        attention, or a text that has just outgrown the frequencies for short ones).

    Raises:
        TypeError: the model or the tokenizer is not a loaded one of transformers.
        ValueError: an argument is out of range or of another kind, or names two streamers.
        NotImplementedError: the call asks for something unsupported, which the message names: beams, batches, several
            return sequences, assistants, the caller's own or non-dynamic caches, embeddings as input, encoder-decoders,
            token healing, scores, logits, attentions, hidden states, padding that changes the model's answers, or a
            model without a language modelling head.
    """
    check_kind(generation_config, GenerationConfig, "generation_config")
    check_kind(lookahead_config, LookaheadConfig, "lookahead_config")
    check_kind(session, Session, "session")
    check_streamer(streamer)
    seed = None if seed is None else as_seed(seed)

    def decode(call: GenerateCall, streamer: BaseStreamer | None, *, has_prompt: bool) -> _Result:
        if (refusal := call.refusal()) is not None:
            raise refusal
        decoder = LookaheadDecoder(call.model, lookahead_config)
        return call.decode(decoder, streamer, has_prompt=has_prompt, seed=seed, session=session)

    given = logits_processor, stopping_criteria, generation_config
    # A folder's function always gets `inputs`, a callable never.
    caller = arguments_of_caller(model) if inputs is _ABSENT and all(each is not None for each in given) else None
    if caller is not None:
        # Decode what the calling `generate` has prepared; it has passed the prompt to its own streamer already.
        theirs = caller["streamer"]
        if theirs is not None and streamer is not None and streamer is not theirs:
            raise ValueError("streamer was passed twice, to generate and to decoding.generate")
        processors, criteria, config = cast(_Prepared, given)
        criteria = [*criteria, *_stop_criteria(stop_strings, tokenizer or caller["tokenizer"])]
        arguments = {**model_kwargs, **_unserved(caller)}
        call = GenerateCall(unwrapped(model), cast(torch.Tensor, input_ids), processors, criteria, config, arguments)
        return decode(call, streamer or theirs, has_prompt=theirs is not None)
    lists = {"logits_processor": logits_processor, "stopping_criteria": stopping_criteria}
    arguments = {
        **model_kwargs,
        "inputs": None if inputs is _ABSENT else inputs,
        **({} if input_ids is None else {"input_ids": input_ids}),
        **{name: value and as_callables(value, name) for name, value in lists.items()},
        "generation_config": generation_config,
    }
    decode_it = partial(decode, streamer=streamer, has_prompt=False)
    return _by_generate(decode_it, model, arguments, stop_strings, tokenizer)


def _by_generate(
    decode: Callable[[GenerateCall], _Result],
    model: PreTrainedModel,
    arguments: Mapping[str, Any],
    stop_strings: str | Sequence[str] | None,
    tokenizer: PreTrainedTokenizerBase | None,
) -> _Result:
    """Have `model.generate` prepare everything, then decode."""
    model, config = causal_model(model), arguments["generation_config"]
    for name in ("input_ids", "inputs"):
        ids = arguments.get(name)
        if ids is not None and not (isinstance(ids, torch.Tensor) and ids.ndim == 2):
            raise ValueError(f"{name} must be a tensor of token ids of shape (1, n), not {shown(ids)}")
    check_kind(arguments.get("attention_mask"), torch.Tensor, "attention_mask")
    if arguments.get("cache_implementation") == "paged":
        # `generate` would leave the text to its continuous batching, without a word of this.
        raise NotImplementedError("lookahead decoding serves no cache_implementation='paged'")
    # Those in force, the one passed before the model's own.
    configs = [each for each in (config, model.generation_config) if each is not None]
    asked = (arguments.get("token_healing"), *(each.token_healing for each in configs))
    if next((value for value in asked if value is not None), False):  # it needs the tokenizer that `generate` drops
        raise NotImplementedError("lookahead decoding serves no token_healing")
    configured = next((each.stop_strings for each in configs if each.stop_strings), None)
    ends = _stop_criteria(configured if stop_strings is None else stop_strings, tokenizer)
    unserved = _unserved(arguments)

    def decode_prepared(model: PreTrainedModel, input_ids: torch.LongTensor, **prepared: Any) -> _Result:
        criteria = [*prepared["stopping_criteria"], *ends]
        return decode(GenerateCall.of(model, input_ids, {**prepared, **unserved, "stopping_criteria": criteria}))

    known = {name: value for name, value in arguments.items() if name not in unserved}
    if configured:
        # They are among the criteria already; `generate` would want a tokenizer for them.
        known["stop_strings"] = None
    whole: Any = model
    result: _Result = whole.generate(**known, custom_generate=decode_prepared)
    return result


def _stop_criteria(strings: str | Sequence[str] | None, tokenizer: Any) -> list[StoppingCriteria]:
    given = [strings] if isinstance(strings, str) else strings or ()
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"stop_strings must be strings, not {shown(strings)}")
    if not given:
        return []
    if tokenizer is None:
        raise ValueError("stop_strings need the model's tokenizer: pass it to generate as tokenizer=")
    check_tokenizer(tokenizer)
    return [StopStringCriteria(tokenizer, list(given))]


def _unserved(caller: Mapping[str, Any]) -> dict[str, Any]:
    return {name: caller.get(name) or None for name in ("assistant_model", "synced_gpus")}


def arguments_of_caller(model: PreTrainedModel) -> Mapping[str, Any] | None:
    """Return streamer, assistant_model, synced_gpus and tokenizer of the calling `generate` of this model.

    None if no such `generate` is calling.

    Raises:
        RuntimeError: in this version of transformers the caller has no such variables.
    """
    code = inspect.unwrap(GenerationMixin.generate).__code__
    frame = sys._getframe(1)
    while frame is not None and not (frame.f_code is code and frame.f_locals.get("self") is model):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    found = frame.f_locals
    if not all(name in found for name in NEEDED):
        raise RuntimeError(
            "this version of transformers does not show its streamer: call decoding.generate(model, **inputs, …) with"
            " the arguments of model.generate instead"
        )
    # `generate` has removed it from its keywords by now; the decorator around it (`torch.no_grad`) still has it.
    around = frame.f_back.f_locals.get("kwargs") if frame.f_back is not None else None
    tokenizer = around.get("tokenizer") if isinstance(around, Mapping) else None
    return {**{name: found[name] for name in NEEDED}, "tokenizer": tokenizer}
