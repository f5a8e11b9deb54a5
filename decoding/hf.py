"""generate: lookahead decoding within `model.generate(..., custom_generate=decoding.generate)`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

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

from decoding.config import LookaheadConfig
from decoding.handed_over import HandedOver
from decoding.lookahead import LookaheadDecoder
from decoding.session import Session
from decoding.streaming import Feed


def generate(
    model: PreTrainedModel,
    input_ids: torch.LongTensor,
    logits_processor: Sequence[LogitsProcessor],
    stopping_criteria: Sequence[StoppingCriteria],
    generation_config: GenerationConfig,
    *,
    lookahead_config: LookaheadConfig | None = None,
    seed: int | None = None,
    session: Session | None = None,
    streamer: BaseStreamer | None = None,
    stop_strings: str | Sequence[str] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    **model_kwargs: Any,
) -> torch.LongTensor | GenerateDecoderOnlyOutput:
    """Decode as `generate` would, in fewer steps: ``model.generate(**inputs, custom_generate=decoding.generate)``.

    All that `generate` knows of processors, warpers and stopping criteria holds, its streamer's too. What follows may
    be passed to `generate` along with its own arguments. Greedy, the text is that of plain `generate`; drawn, it is
    from the same distribution.

    Args:
        model, input_ids, logits_processor, stopping_criteria, generation_config, model_kwargs: what `generate` hands
            over. One text of shape (1, n); padding on its left is allowed where it changes nothing.
        lookahead_config: W, N and G; None for :meth:`LookaheadConfig.auto`.
        seed: of the draws where tokens are drawn, a whole number; None to take it from torch's generator, so that
            `torch.manual_seed` decides the text.
        session: a session of this model to go on from, so that what it has read is not read again.
        streamer: for use through `functools.partial` alone; pass a streamer to `generate` itself.
        stop_strings: texts that end the text, as of `generate`; they need its ``tokenizer``. Those of a generation
            config are refused by `generate` itself when a method not its own decodes: pass them here, or a
            ``StopStringCriteria`` among the ``stopping_criteria``.
        tokenizer: the model's.

    Returns:
        The ids, prompt included, shape (1, n + new); with ``return_dict_in_generate`` an output that holds them as
        its ``sequences``, and the KV cache as its ``past_key_values`` (None with padding, a recurrent state or a
        sparse attention).

    Raises:
        ValueError: an argument is out of range or of another kind, or names two streamers.
        NotImplementedError: what is asked for is not served; the message names it. Beams, batches, several return
            sequences, assistants, caches of the caller's or other than dynamic, embeddings as input, encoder-decoders,
            scores, logits, attentions and hidden states; padding that a model does not pass over.
    """
    _check("lookahead_config", lookahead_config, LookaheadConfig)
    _check("session", session, Session)
    told = _told_to_generate(model)
    criteria = [*stopping_criteria, *_stop_strings(stop_strings, tokenizer or told.get("tokenizer"))]
    handed_over = HandedOver(
        model, input_ids, logits_processor, criteria, generation_config, {**model_kwargs, **_unserved(told)}
    )
    refusal = handed_over.refusal()
    if refusal is not None:
        raise refusal
    own = told.get("streamer")
    if own is not None and streamer is not None and streamer is not own:
        raise ValueError("streamer was passed twice, to generate and to decoding.generate")
    streamer = streamer or own
    # `generate` has given its own streamer the prompt already.
    feed = None if streamer is None else Feed(streamer, input_ids[0].tolist(), prompt_told=own is not None)
    result = handed_over.decode(
        LookaheadDecoder(model, lookahead_config),
        seed=seed,
        session=session,
        on_step=None if feed is None else lambda step: feed.put(step.tokens),
    )
    if feed is not None:
        feed.end()
    return result


def _told_to_generate(model: PreTrainedModel) -> Mapping[str, Any]:
    """The arguments of the `generate` that is calling, of which it hands over only some.

    It keeps the streamer to itself, has given it the prompt and would never end it: whoever reads from the streamer
    would wait forever. So it is looked up in the caller's frame. The tokenizer it loses on its way; the decorator
    around it (`torch.no_grad`) still has it.
    """
    code = inspect.unwrap(GenerationMixin.generate).__code__
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is code and frame.f_locals.get("self") is model:
            around = frame.f_back.f_locals.get("kwargs") if frame.f_back is not None else None
            lost = around if isinstance(around, Mapping) else {}
            return {**frame.f_locals, "tokenizer": lost.get("tokenizer")}
        if frame.f_back is None:
            break
        frame = frame.f_back
    return {}


def _stop_strings(strings: str | Sequence[str] | None, tokenizer: Any) -> list[StoppingCriteria]:
    if not strings:
        return []
    if tokenizer is None:
        raise ValueError("stop_strings need the model's tokenizer: pass it to generate as tokenizer=")
    return [StopStringCriteria(tokenizer, strings if isinstance(strings, str) else list(strings))]


def _check(name: str, value: Any, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, not {value!r}")


def _unserved(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told.get(name) or None for name in ("assistant_model", "synced_gpus")}
