"""Decoder, the base of all decoders, and plain decoding: checks the prompt, prefills it in chunks, keeps the clock."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import torch
from transformers.generation.logits_process import LogitsProcessor
from transformers.generation.stopping_criteria import StoppingCriteria, StoppingCriteriaList
from typing_extensions import Unpack

from decoding.arguments import (
    EosTokenIds,
    InputIds,
    as_callables,
    as_count,
    as_eos,
    as_ids,
    check_functions,
    check_kind,
    eos_of,
)
from decoding.asynchronous import GenerationOptions, on_a_thread
from decoding.model.capabilities import capabilities_of, vocabulary_size, warn_of_dropout, warn_of_length
from decoding.model.prefix import input_device
from decoding.model.unwrapping import check_head, unwrapped
from decoding.plain_step import plain_step, plain_steps
from decoding.prefilling import read_chunks
from decoding.request import Request, StepClock
from decoding.sampling.config import SamplingConfig
from decoding.sampling.sampler import GreedySampler, ProcessorSampler, Sampler
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OnPrefill: TypeAlias = Callable[[int, int], None]


class Decoder(ABC):
    """A way to decode. All state of a text is in the session."""

    def __init__(self, model: PreTrainedModel) -> None:
        """
        Raises:
            TypeError: the model is not a module but, say, its name.
            NotImplementedError: the model is not a causal language model of transformers, or torch's default device
                is another than its own.
        """
        self.model = causal_model(model)

    def generate(
        self,
        input_ids: InputIds | None,
        *,
        max_new_tokens: int,
        eos_token_ids: EosTokenIds = None,
        sampling: SamplingConfig | None = None,
        logits_processor: Iterable[LogitsProcessor] = (),
        stopping_criteria: Iterable[StoppingCriteria] = (),
        session: Session | None = None,
        on_prefill: OnPrefill | None = None,
        should_stop: Callable[[], bool] | None = None,
        observe: Observe | None = None,
    ) -> Iterator[Step]:
        """Decode after a text.

        After each step the session is consistent: a caller that stops iterating can go on
        later, with this decoder or another, by passing the session and its ``ids``. A session serves one generation
        at a time. The model has to be in eval mode: with dropout no two answers are alike.

        Args:
            input_ids: the whole text so far, a sequence of ids or a LongTensor of shape (n,) or (1, n), n ≥ 1. None for
                the session's, as :func:`prefill` or its last generation left it: the model is taken to be the same.
            max_new_tokens: the most tokens to emit, at least 1. Where the model has learnt positions, no more than it
                has positions for; other models go on past the length they were made for. A warning says so.
            eos_token_ids: ids that end the reply; the ending one is emitted. None for those of the model's generation
                config, ``()`` for no such id.
            sampling: the settings of sampling; None for greedy decoding. One seed gives one text, however it is decoded
                and wherever it was stopped: a draw depends only on the seed and the token's place in the text. The
                draws are not those of `generate`.
            logits_processor: transformers' or the caller's own, run before temperature, top-k and the like, on each row
                with the text before it. They must be pure functions.
            stopping_criteria: transformers' or the caller's own, asked after every token; their ``scores`` is None.
            session: the session to continue; None for a fresh one. The longest common prefix with its text is not read
                again, provided that it would be read the same way now, and its tables stay. If ``input_ids`` is its
                text as it stands, the generation continues as if it had never been stopped; else ``input_ids`` is a
                prompt, read as by a freshly loaded model (the two differ where reading depends on a text's length).
            on_prefill: called after every chunk of the prompt with the tokens read and their total.
            should_stop: asked before every chunk of the prompt and before every step; True ends the generation.
            observe: called with the detail of every step that lookahead decoding planned, before it is yielded; not for
                the prompt's step, for plain steps without a search for candidates, or by other decoders.

        Yields:
            A :class:`Step` for every forward pass that emitted, that of the prompt's last chunk included.

        Raises:
            ValueError: an argument is out of range or of another kind, or the session belongs to another model.
            RuntimeError: the session was taken up by another generation meanwhile, or is in one of its steps.
            FloatingPointError: the model computes NaN. The session keeps the tokens before.

        An exception raised in a callback ends the generation and propagates. The session is consistent: its ``ids`` are
        the text. After an error in ``observe``, or Ctrl+C, they may end with the tokens of a step that was not yielded.
        """
        warn_of_dropout(self.model)
        check_default_device(self.model)
        own = session.ids if input_ids is None and isinstance(session, Session) else None
        ids = as_ids(input_ids if own is None else own, vocabulary_size(self.model))
        count = as_count(max_new_tokens, "max_new_tokens", least=1)
        ends = as_eos(eos_of(self.model) if eos_token_ids is None else eos_token_ids)
        sampler = self._sampler_to_use(sampling, as_callables(logits_processor, "logits_processor"), ends)
        criteria = StoppingCriteriaList(as_callables(stopping_criteria, "stopping_criteria"))
        check_functions(on_prefill=on_prefill, should_stop=should_stop, observe=observe)
        check_kind(session, Session, "session")
        session = Session(self.model) if session is None else session
        if session.model is not self.model:
            raise ValueError("the session belongs to another model than the decoder's")
        length = self._max_length(session, len(ids), count)
        request = Request(length, ends, sampler, criteria, input_device(self.model), observe, own is not None)
        steps = self._generate(session, ids, request, on_prefill or (lambda read, total: None))
        return self._timed(session, steps, request.clock, should_stop)

    def agenerate(
        self,
        input_ids: InputIds,
        *,
        max_new_tokens: int,
        should_stop: Callable[[], bool] | None = None,
        **options: Unpack[GenerationOptions],
    ) -> AsyncGenerator[Step, None]:
        """Decode after a text, for ``async for``: as :meth:`generate`, on a thread beside the event loop.

        A task cancelled in the middle of a step ends with the forward pass under way, whose tokens are then in the
        session's ``ids``, though nobody received them. The session is consistent, as after every step, and can be
        continued. Callbacks, processors and criteria run on that thread.

        Args:
            input_ids, max_new_tokens, should_stop, options: as for :meth:`generate`.

        Yields:
            The steps of :meth:`generate`.

        Raises:
            ValueError: an argument is out of range, before anything is awaited.
        """
        check_functions(should_stop=should_stop)
        cancelled = threading.Event()

        def stopped() -> bool:
            return cancelled.is_set() or (should_stop is not None and should_stop())

        steps = self.generate(input_ids, max_new_tokens=max_new_tokens, should_stop=stopped, **options)
        return on_a_thread(steps, cancelled.set)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([type(self.model).__name__, *self._described()])})"

    def _described(self) -> list[str]:
        """Return the settings to show in its representation."""
        return []

    def _sampler_to_use(
        self, sampling: SamplingConfig | None, processors: Sequence[LogitsProcessor], eos_token_ids: frozenset[int]
    ) -> Sampler:
        """Return the sampler of a generation. Raises ValueError for settings that this model does not have."""
        check_kind(sampling, SamplingConfig, "sampling")
        if sampling is not None:
            sampling.check_vocabulary(vocabulary_size(self.model))
        sampling = sampling or SamplingConfig.greedy()
        processors = sampling.processors(processors)
        if sampling.is_greedy:
            return ProcessorSampler(processors, None, eos_token_ids) if processors else GreedySampler()
        return ProcessorSampler(processors, sampling.seed, eos_token_ids)

    def _max_length(self, session: Session, prompt: int, count: int) -> int:
        """Return the length at which a text ends at the latest. Raises ValueError if its prompt is too long already."""
        capabilities = session.capabilities
        room = capabilities.room_after(prompt)
        if room is not None and room < count:  # unless the model has been given more positions since the last text
            capabilities = capabilities_of(self.model)
            room = capabilities.room_after(prompt)
        if room is not None and room < 1:
            raise ValueError(
                f"input_ids holds {prompt} tokens, and the model has positions for {capabilities.positions}"
            )
        warn_of_length(self.model, prompt + count, ends=room is not None)
        return prompt + (count if room is None else min(count, room))

    @abstractmethod
    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        """Yield steps from a session whose text is read but for its last token, until one finishes."""

    def _generate(
        self, session: Session, ids: list[int], request: Request, on_prefill: OnPrefill
    ) -> Iterator[Step | None]:
        """Yield all steps; None after each earlier chunk of the prompt, so that a stop takes effect there too."""
        plainly = session.capabilities.needs_plain_decoding(request.max_length - 1)
        if plainly and not session.continues(ids):
            session.prefix.rewind(0)
        if request.synced and session.ids == ids:
            session.turn += 1
        else:
            session.sync(ids)
        for read in read_chunks(session):
            on_prefill(read, len(ids))
            yield None
        reason = None
        if len(ids) - session.cached > 1:
            step = plain_step(session, request, prefill=True)
            reason = step.finish_reason
            on_prefill(len(ids), len(ids))
            yield step
        if reason is None:
            yield from plain_steps(session, request) if plainly else self._steps(session, request)

    @staticmethod
    def _timed(
        session: Session, steps: Iterator[Step | None], clock: StepClock, should_stop: Callable[[], bool] | None
    ) -> Iterator[Step]:
        """Yield steps, on a clock that stands still while the caller holds the last one."""
        turn = None
        while should_stop is None or not should_stop():
            with session.held():
                if turn is not None and turn != session.turn:
                    raise RuntimeError(
                        "the session has moved on: another generation has taken it up since the last step"
                    )
                clock.resume()
                step = next(steps, Ellipsis)
                clock.pause()
                turn = session.turn
            if step is Ellipsis:
                return
            if step is not None:
                yield step


def causal_model(model: PreTrainedModel) -> PreTrainedModel:
    """Return the causal language model, unwrapped; raises as :class:`Decoder` does for any other."""
    model = unwrapped(model)
    name = type(model).__name__
    if not hasattr(model, "config") or not hasattr(model, "get_input_embeddings"):
        raise NotImplementedError(f"{name} is not a transformers model")
    if getattr(model.config, "is_encoder_decoder", False):
        raise NotImplementedError(f"{name} is an encoder-decoder, not a causal language model")
    check_head(model)
    check_default_device(model)
    return model


def check_default_device(model: PreTrainedModel) -> None:
    """Raise NotImplementedError if torch makes tensors elsewhere by default: kernels would read what is not there."""
    default = torch.get_default_device()
    if default.type != "cpu" and default.type != (device := input_device(model)).type:
        raise NotImplementedError(f"torch's default device is {default}, and the model is on {device}: leave it at cpu")


class AutoregressiveDecoder(Decoder):
    """Plain decoding: what `generate` does, as steps over a session. Serves every causal language model."""

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        return plain_steps(session, request)
