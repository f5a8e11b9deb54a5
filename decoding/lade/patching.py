"""Patches of transformers: the methods with which `GenerationMixin.generate` decodes prepared arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import GenerationMixin, PreTrainedModel

from decoding.integrations.generate_call import GenerateCall
from decoding.lade.decoding import CONFIG_MAP, lookahead_config
from decoding.lade.printing import PrintingStreamer, ReplyPrinter, is_switched_on, print_reason, print_summary
from decoding.lookahead import LookaheadDecoder
from decoding.model.private_interfaces import OTHER_METHODS, SAMPLE_METHOD
from decoding.runner import lookahead_support
from decoding.step import Step

_originals: dict[str, Callable[..., Any]] = {}


def augment_all() -> None:
    """Have `generate` of every model decode by lookahead; once is enough, and more does no harm."""
    augment_llama()
    augment_generate()


def augment_llama() -> None:
    """Do nothing: the models stay as they are. The original implementation replaced Llama's methods."""


def augment_generate() -> None:
    """Have `generate` of every model decode by lookahead: all that :func:`augment_all` does."""
    if _originals:
        return
    for name in (SAMPLE_METHOD, *OTHER_METHODS):
        _originals[name] = original = getattr(GenerationMixin, name)
        replacement = _by_lookahead(original) if name == SAMPLE_METHOD else _left_alone(original, OTHER_METHODS[name])
        setattr(GenerationMixin, name, replacement)


def restore() -> None:
    """Restore transformers' own methods. The configuration and the log stay for another `augment_all`."""
    for name, original in _originals.items():
        setattr(GenerationMixin, name, original)
    _originals.clear()


def _by_lookahead(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, input_ids: torch.LongTensor, **prepared: Any) -> Any:
        if not is_switched_on("USE_LADE", unset=True):
            return _by_the_original(original, self, input_ids, prepared)
        call, reason = _as_call(self, input_ids, prepared)
        if reason is not None:
            print_reason(str(reason))
            return _by_the_original(original, self, input_ids, prepared)

        printer = ReplyPrinter.wanted(self, input_ids[0].tolist())
        steps: list[Step] = []

        def on_step(step: Step) -> None:
            steps.append(step)
            if printer is not None:
                printer.put(step.tokens, step.origins)

        decoder, streamer = LookaheadDecoder(self, lookahead_config()), prepared.get("streamer")
        result = call.decode(decoder, streamer, has_prompt=True, on_step=on_step)
        if printer is not None:
            printer.end()
        tokens = sum(len(step.tokens) for step in steps)
        ratio = round(tokens / len(steps), 2)
        CONFIG_MAP.setdefault("log", []).append([tokens, len(steps), ratio])
        print_summary(tokens, len(steps), ratio)
        return result

    return decode


def _as_call(
    model: PreTrainedModel, input_ids: torch.LongTensor, prepared: Mapping[str, Any]
) -> tuple[GenerateCall, Exception | str | None]:
    """Return the call that `generate` prepared, and the reason why lookahead cannot serve it; None if it can."""
    given = dict(prepared)
    processors, criteria = given.pop("logits_processor"), given.pop("stopping_criteria")
    config, _ = given.pop("generation_config"), given.pop("streamer", None)
    given["synced_gpus"] = given.get("synced_gpus") or None
    call = GenerateCall(model, input_ids, processors, criteria, config, given)
    return call, call.refusal() or lookahead_support(model).reason


def _by_the_original(
    original: Callable[..., Any], model: PreTrainedModel, input_ids: torch.LongTensor, prepared: Mapping[str, Any]
) -> Any:
    """Decode with transformers alone; ``CHAT`` still prints one text as it comes."""
    printer = ReplyPrinter.wanted(model, input_ids[0].tolist()) if len(input_ids) == 1 else None
    if printer is None:
        return original(model, input_ids, **prepared)
    streamer = PrintingStreamer(printer, prepared.get("streamer"))
    result = original(model, input_ids, **{**prepared, "streamer": streamer})
    print_summary(streamer.tokens, streamer.tokens, "N/A ")
    return result


def _left_alone(original: Callable[..., Any], reason: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, *args: Any, **kwargs: Any) -> Any:
        if is_switched_on("USE_LADE", unset=True):
            print_reason(f"lookahead decoding serves no {reason}")
        return original(self, *args, **kwargs)

    return decode
