"""GenerateCall: a call of `model.generate` as its decoding method gets it, checked, and decoded by a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any, cast

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteria, StoppingCriteriaList
from transformers.cache_utils import Cache, DynamicCache
from transformers.generation.configuration_utils import GenerationMode
from transformers.generation.logits_process import LogitsProcessor
from transformers.generation.stopping_criteria import EosTokenCriteria, MaxLengthCriteria
from transformers.generation.streamers import BaseStreamer, TextStreamer
from transformers.generation.utils import ALL_CACHE_NAMES, GenerateDecoderOnlyOutput

from decoding.decoder import Decoder
from decoding.model.capabilities import capabilities_of
from decoding.model.mask_check import is_padding_visible
from decoding.model.prefix import KVPrefix
from decoding.model.private_interfaces import is_users_cache
from decoding.recurrent.recurrent_prefix import RecurrentPrefix
from decoding.sampling.config import SamplingConfig
from decoding.session import Session
from decoding.step import Step

_RECORDS = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
_KNOWN = {"attention_mask", "position_ids", "logits_to_keep", "use_cache", "tokenizer", *ALL_CACHE_NAMES, *_RECORDS}
"""Arguments that are handled here, or do not change the text."""
_TAIL = 8
"""Tokens before a line that are decoded with it; several, since a character may take several tokens."""


@dataclass(frozen=True)
class GenerateCall:
    """The arguments that `generate` has prepared for its decoding method.

    Attributes:
        model: the model.
        input_ids: the prompt, left padding included. Shape (batch, n).
        processors: all logits processors, in order, warpers included if tokens are sampled.
        criteria: all stopping criteria, maximal length and end-of-sequence ids among them.
        config: the complete generation config.
        model_kwargs: the arguments of the model's forward.
    """

    model: PreTrainedModel
    input_ids: torch.Tensor
    processors: Sequence[LogitsProcessor]
    criteria: Sequence[StoppingCriteria]
    config: GenerationConfig
    model_kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, model: PreTrainedModel, input_ids: torch.Tensor, prepared: Mapping[str, Any]) -> GenerateCall:
        """Return the call of a decoding method with these keywords, a streamer not among them."""
        given = dict(prepared)
        processors, criteria = given.pop("logits_processor"), given.pop("stopping_criteria")
        return cls(model, input_ids, processors, criteria, given.pop("generation_config"), given)

    def refusal(self) -> ValueError | NotImplementedError | None:
        """Return the reason why no decoder here can serve this; None if one can."""
        mask = self.model_kwargs.get("attention_mask")
        if isinstance(mask, torch.Tensor) and not bool(mask.any()):
            return ValueError("attention_mask hides the whole prompt")
        reason = next((reason for reason in self._out_of_scope() if reason), None)
        if reason is not None:
            return NotImplementedError(f"lookahead decoding serves no {reason}")
        if self.input_ids.shape[1] == 0:
            return ValueError("input_ids is empty: there is nothing to go on from")
        return None

    def _out_of_scope(self) -> Iterator[str | None]:
        config, given = self.config, self.model_kwargs
        yield "encoder-decoder models" if getattr(self.model.config, "is_encoder_decoder", False) else None
        yield f"num_beams={config.num_beams}" if (config.num_beams or 1) > 1 else None
        several = config.num_return_sequences or 1
        yield f"num_return_sequences={several}" if several > 1 else None
        mode = config.get_generation_mode()
        lookup = config.prompt_lookup_num_tokens
        yield f"prompt_lookup_num_tokens={lookup}" if lookup is not None else None
        yield f"{mode.value}" if mode not in (GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE) else None
        yield "model that drafts for another" if config.is_assistant else None
        batch = len(self.input_ids)
        yield f"batches: input_ids holds {batch} texts" if batch != 1 else None
        kind = config.cache_implementation
        yield f"cache_implementation={kind!r}" if kind not in (None, "dynamic") else None
        yield "use_cache=False" if given.get("use_cache") is False else None
        yield next((f"{name} of the caller's" for name in ALL_CACHE_NAMES if not _fresh(given.get(name))), None)
        # Multimodal models get encoded pictures, which may be empty.
        strange = sorted(name for name, value in given.items() if not _is_empty(value) and name not in _KNOWN)
        yield ", ".join(strange) or None
        asked = [name for name in _RECORDS if config.return_dict_in_generate and getattr(config, name)]
        yield ", ".join(asked) or None
        mask, positions = given.get("attention_mask"), given.get("position_ids")
        if mask is not None and not isinstance(mask, torch.Tensor):
            yield f"attention_mask of type {type(mask).__name__}"
        elif mask is not None and mask.shape != self.input_ids.shape:
            yield f"attention_mask of shape {tuple(mask.shape)}"
        elif mask is not None and not bool(mask[0, self._padding :].all()):
            yield "attention_mask that hides more than padding on the left"
        if positions is not None:
            places = positions[..., self._padding :]
            counted = torch.arange(places.shape[-1], device=places.device)
            yield "position_ids other than 0, 1, 2, …" if bool((places != counted).any()) else None
        yield self._visible_padding

    @cached_property
    def _padding(self) -> int:
        """The number of padding tokens at the start of the prompt."""
        mask = self.model_kwargs.get("attention_mask")
        return 0 if mask is None else int(mask[0].nonzero()[0])

    @property
    def _visible_padding(self) -> str | None:
        if not self._padding:
            return None
        capabilities, (_, most, _) = capabilities_of(self.model), self._ends()
        given = self.model_kwargs.get("position_ids") is not None
        padding = self.input_ids[0, : self._padding].tolist()
        if is_padding_visible(self.model, capabilities, padding, with_positions=given):
            return "padding on the left with this model: `generate` itself gives another text with it than without"
        if capabilities.needs_plain_decoding(most - self._padding - 1):
            limit = capabilities.ties_after
            return (
                f"padding on the left of a text of more than {limit} tokens: past that its attention picks among tokens"
                " of equal score, and `generate` itself gives another text with padding than without"
            )
        return None

    def decode(
        self,
        decoder: Decoder,
        streamer: BaseStreamer | None,
        *,
        has_prompt: bool,
        seed: int | None = None,
        session: Session | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> torch.LongTensor | GenerateDecoderOnlyOutput:
        """Decode a call without a :meth:`refusal`.

        Args:
            decoder: a decoder of this model.
            streamer: gets the prompt, every token once, and the end; nothing before all is checked.
            has_prompt: True if the streamer has got the prompt already.
            seed: the seed of sampling; None to draw it from torch's generator.
            session: the session to go on from; None for a fresh one.

        Returns:
            The ids, prompt included, shape (1, n + new), or an output with ``return_dict_in_generate``.

        Raises ValueError for a session of another model, as it was, and RuntimeError for one in the middle of a step.
        """
        padding = self.input_ids[:, : self._padding]
        eos, most, others = self._ends()
        processors = self.processors
        if padding.shape[1]:
            processors = _padded(LogitsProcessorList(processors), padding)
            others = _padded(StoppingCriteriaList(others), padding)
        session = Session(self.model) if session is None else session
        sampling = SamplingConfig.greedy()
        if self.config.do_sample:
            # The warpers are among the processors. Drawing the seed makes the text depend on `torch.manual_seed`.
            sampling = SamplingConfig(seed=int(torch.randint(2**62, ())) if seed is None else seed)
        steps = decoder.generate(
            self.input_ids[:, self._padding :],
            max_new_tokens=max(1, most - self.input_ids.shape[1]),
            eos_token_ids=eos,
            sampling=sampling,
            logits_processor=processors,
            stopping_criteria=others,
            session=session,
        )
        # Only now is anything written: the session is this model's, and all arguments are right.
        new: list[int] = []
        with self._as_prompted(session):
            feed = None if streamer is None else Feed(streamer, self.input_ids[0].tolist(), has_prompt=has_prompt)
            for step in steps:
                new.extend(step.tokens)
                if feed is not None:
                    feed.put(step.tokens)
                if on_step is not None:
                    on_step(step)
        if streamer is not None:
            streamer.end()
        said = torch.tensor([new], dtype=torch.long, device=self.input_ids.device)
        sequences = torch.cat([self.input_ids, said], dim=-1)
        if self.config.return_dict_in_generate:
            return GenerateDecoderOnlyOutput(
                sequences=cast(torch.LongTensor, sequences), past_key_values=self._filled_cache(session.prefix)
            )
        return cast(torch.LongTensor, sequences)

    @contextmanager
    def _as_prompted(self, session: Session) -> Iterator[None]:
        """Have the session prefill a text like `generate`: all of it, even if some of it was emitted here.

        `generate` counts padding when it decides to prefill a text again, and then still uses the frequencies for short
        texts. So a text behind padding is never prefilled again here.
        """
        with session.held():
            session.emitted = 0
            switch = session.capabilities.reread_after if self._padding else None
            if switch is not None:
                # Sync first: it may replace the capabilities.
                session.sync(self.input_ids[0, self._padding :].tolist())
                session.capabilities = replace(session.capabilities, reread_after=None)
        try:
            yield
        finally:
            if switch is not None:
                session.capabilities = replace(session.capabilities, reread_after=switch)

    def _filled_cache(self, prefix: KVPrefix | RecurrentPrefix) -> Cache | None:
        """Return the cache that `generate` has made, filled like its own; None if it cannot be."""
        cache = self.model_kwargs.get("past_key_values")
        if not isinstance(cache, DynamicCache) or not isinstance(prefix, KVPrefix):
            return None
        # The states of padding are missing here, and all of a text that has to be prefilled again.
        if self._padding or not prefix.length:
            return None
        return cache if prefix.fill(cache) else None

    def _ends(self) -> tuple[list[int], int, list[StoppingCriteria]]:
        """Return the ids that end the text, its maximal length, and the other criteria."""
        eos: list[int] = []
        most = [] if self.config.max_length is None else [self.config.max_length]
        others = []
        for criterion in self.criteria:
            if type(criterion) is EosTokenCriteria:
                eos.extend(criterion.eos_token_id.tolist())
            elif type(criterion) is MaxLengthCriteria:
                most.append(criterion.max_length)
            else:
                others.append(criterion)
        return eos, ceil(min(most)), others


class Feed:
    """Passes tokens to a streamer of transformers one at a time, in order, as plain `generate` does.

    A :class:`TextStreamer` drops a line's tokens after the line, and decodes the next line alone. Tokenizers like
    Llama's drop the first space of a text, so that indented lines would lose one. Here it keeps the last few tokens.
    """

    def __init__(self, streamer: BaseStreamer, prompt: Sequence[int], *, has_prompt: bool) -> None:
        """Pass the prompt on, unless the streamer has got it already."""
        self._streamer = streamer
        self._tail: list[int] = []
        shown = not getattr(streamer, "skip_prompt", False)
        if not has_prompt:
            streamer.put(torch.tensor([list(prompt)]))
        if shown:
            self._remember(prompt)

    def put(self, tokens: Sequence[int]) -> None:
        """Pass a step's tokens on."""
        for token in tokens:
            self._streamer.put(torch.tensor([token]))
            self._remember([token])

    def _remember(self, tokens: Sequence[int]) -> None:
        self._tail = [*self._tail, *tokens][-_TAIL:]
        streamer = self._streamer
        if isinstance(streamer, TextStreamer) and not streamer.token_cache:
            streamer.token_cache = list(self._tail)
            streamer.print_len = len(str(streamer.tokenizer.decode(self._tail, **streamer.decode_kwargs)))


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and not value)


def _fresh(cache: Any) -> bool:
    """Return True for no cache, or the empty one that `generate` makes for every call."""
    return cache is None or (isinstance(cache, DynamicCache) and not is_users_cache(cache))


def _padded(functions: LogitsProcessorList | StoppingCriteriaList, padding: torch.Tensor) -> list[Any]:
    """Return processors or criteria that see the padding before the text, as in `generate`."""

    def with_padding(input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> Any:
        called: Any = functions
        return called(torch.cat([padding.to(input_ids.device), input_ids], dim=-1), scores, **kwargs)

    return [with_padding] if functions else []
