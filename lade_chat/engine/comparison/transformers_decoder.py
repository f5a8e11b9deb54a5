"""TransformersDecoder: transformers' own ``generate`` as steps, so that each side of a comparison has its own clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Semaphore, Thread
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from decoding import Decoder, FinishReason, Origin, SamplingConfig, Session, Step
from decoding.arguments import as_eos, eos_of
from decoding.native.skeleton import Skeleton


class TransformersDecoder(Decoder):
    """Greedy ``model.generate``, step by step; it uses no session and prefills every prompt from its start.

    It runs on a thread of its own that waits between steps, so that only one side of a comparison runs at a time.
    """

    def __init__(self, model: Any, *, prompt_lookup_num_tokens: int | None = None) -> None:
        super().__init__(model)
        if isinstance(model, Skeleton):
            model.to_transformers()  # outside the clocks: it imports transformers' classes
        self._settings = (
            {} if prompt_lookup_num_tokens is None else {"prompt_lookup_num_tokens": prompt_lookup_num_tokens}
        )

    def generate(  # type: ignore[override]
        self,
        input_ids: Sequence[int],
        *,
        max_new_tokens: int,
        eos_token_ids: Sequence[int] | None = None,
        sampling: SamplingConfig | None = None,
        session: Session | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        observe: None = None,
    ) -> Iterator[Step]:
        """Like :meth:`Decoder.generate`; ignores the session, and all of ``sampling`` but its penalties."""
        ends = sorted(as_eos(eos_of(self.model) if eos_token_ids is None else eos_token_ids))
        config = generation_config(ends, max_new_tokens, **self._settings)
        processors = sampling.processors() if sampling is not None else None
        run = _Run(self.model, list(input_ids), config, processors)
        emitted, done = 0, False
        try:
            while not done and not should_stop():
                started = perf_counter()
                tokens = run.step()
                seconds = perf_counter() - started
                if not tokens:
                    raise RuntimeError("generate ended before it should have")
                tokens, reason = _cut(tokens, max_new_tokens - emitted, ends)
                done = reason is not None
                yield Step(
                    tuple(tokens),
                    (*(Origin.CONTEXT for _ in tokens[1:]), Origin.PLAIN),
                    reason,
                    # generate() hides its forward sizes: this is a lower bound.
                    forward_tokens=len(tokens) if emitted else max(len(input_ids), len(tokens)),
                    prefill=not emitted,
                    forward_seconds=seconds,
                    seconds=seconds,
                )
                emitted += len(tokens)
        finally:
            run.close()

    def _steps(self, session: Any, request: Any) -> Iterator[Step]:
        raise NotImplementedError("generate is stepped as a whole")


def generation_config(eos_token_ids: Sequence[int], max_new_tokens: int, **settings: Any) -> GenerationConfig:
    """A configuration with a KV cache and nothing that would change a logit."""
    eos = list(eos_token_ids)
    return GenerationConfig(
        **{
            "do_sample": False,
            # transformers warns about top_k in greedy decoding.
            **({"top_k": 0} if settings.get("do_sample") else {}),
            "num_beams": 1,
            "use_cache": True,
            "max_new_tokens": max_new_tokens,
            "eos_token_id": eos or None,
            "pad_token_id": eos[0] if eos else 0,
            **settings,
        }
    )


@contextmanager
def override_generation_config(model: Any, config: GenerationConfig | None = None) -> Iterator[None]:
    """Replace the model's generation config, from which generate() fills in unset values such as penalties."""
    own, model.generation_config = model.generation_config, config or GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = own


class _ClosedError(Exception):
    """The run was closed before its end."""


@dataclass
class _Run(BaseStreamer):
    """One call of ``generate`` on a thread, step by step."""

    model: Any
    ids: list[int]
    config: GenerationConfig
    processors: Any
    _output: SimpleQueue[list[int] | BaseException | None] = field(default_factory=SimpleQueue)
    _step_requested: Semaphore = field(default_factory=lambda: Semaphore(0))
    _thread: Thread | None = None
    _closed: bool = False
    _prompt_seen: bool = False

    def step(self) -> list[int] | None:
        """Take one step; returns its tokens, or None after the end."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="generate", daemon=True)
            self._thread.start()
        else:
            self._step_requested.release()
        output = self._output.get()
        if isinstance(output, BaseException):
            raise output
        return output

    def close(self) -> None:
        """End the call and wait for its thread."""
        self._closed = True
        self._step_requested.release()
        if self._thread is not None:
            self._thread.join()

    def put(self, value: torch.Tensor) -> None:
        """Take tokens from ``generate``, which passes the prompt first."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        self._output.put(value.flatten().tolist())
        self._step_requested.acquire()
        if self._closed:
            raise _ClosedError

    def end(self) -> None:
        pass

    def _work(self) -> None:
        try:
            input_ids = torch.tensor([self.ids], device=self.model.device)
            self.model.generate(
                input_ids,
                attention_mask=torch.ones_like(input_ids),
                generation_config=self.config,
                logits_processor=self.processors,
                streamer=self,
            )
            self._output.put(None)
        except _ClosedError:
            pass
        except BaseException as error:  # raised where the steps are read
            self._output.put(error)


def _cut(tokens: list[int], room: int, eos_token_ids: Sequence[int]) -> tuple[list[int], FinishReason | None]:
    for index, token in enumerate(tokens[:room]):
        if token in eos_token_ids:
            return tokens[: index + 1], FinishReason.EOS
    return tokens[:room], FinishReason.LENGTH if len(tokens) >= room else None
