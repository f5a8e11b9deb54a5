"""TransformersDecoder: transformers' own ``generate`` as steps, so that it can be raced on a clock of its own."""

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


class TransformersDecoder(Decoder):
    """``model.generate`` step by step, greedy; it keeps nothing of a session and reads every prompt from its start.

    It runs on a thread of its own, which waits whenever a step is not asked for, so that only one of the two runs.
    """

    def __init__(self, model: Any, *, prompt_lookup_num_tokens: int | None = None) -> None:
        super().__init__(model)
        self._settings = (
            {} if prompt_lookup_num_tokens is None else {"prompt_lookup_num_tokens": prompt_lookup_num_tokens}
        )
        # A token of an accepted run was found in the text so far.
        self._guessed = Origin.CONTEXT

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
        """As :meth:`Decoder.generate`; the session is not used, and with sampling only its penalties count."""
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
                yield self._step(tokens, reason, seconds, prompt=len(input_ids) if not emitted else 0)
                emitted += len(tokens)
        finally:
            run.close()

    def _step(self, tokens: Sequence[int], reason: FinishReason | None, seconds: float, prompt: int) -> Step:
        origins = (*(self._guessed for _ in tokens[1:]), Origin.PLAIN)
        return Step(
            tuple(tokens),
            origins,
            reason,
            # How many tokens its forward passes hold it does not tell; more than the prompt's, or than one.
            forward_tokens=max(prompt, len(tokens)),
            prefill=prompt > 0,
            forward_seconds=seconds,
            seconds=seconds,
        )

    def _steps(self, session: Any, request: Any) -> Iterator[Step]:
        raise NotImplementedError("generate is stepped as a whole")


def generation_config(eos_token_ids: Sequence[int], max_new_tokens: int, **settings: Any) -> GenerationConfig:
    """Decoding with a KV cache, and nothing that would change a logit."""
    eos = list(eos_token_ids)
    return GenerationConfig(
        **{
            "do_sample": False,
            # Where nothing is drawn it is not to be given at all.
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
def own_settings_aside(model: Any, config: GenerationConfig | None = None) -> Iterator[None]:
    """Put a model's own settings aside: generate fills in from them what is not said, as a repetition penalty."""
    own, model.generation_config = model.generation_config, config or GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = own


class _ClosedError(Exception):
    """Nobody wants any more of it."""


@dataclass
class _Run(BaseStreamer):
    """One call of ``generate`` on a thread that goes no further than it is asked to."""

    model: Any
    ids: list[int]
    config: GenerationConfig
    processors: Any
    _said: SimpleQueue[list[int] | BaseException | None] = field(default_factory=SimpleQueue)
    _wanted: Semaphore = field(default_factory=lambda: Semaphore(0))
    _thread: Thread | None = None
    _closed: bool = False
    _prompt_seen: bool = False

    def step(self) -> list[int] | None:
        """Let it take one step: the tokens of it, or None once it has ended."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="generate", daemon=True)
            self._thread.start()
        else:
            self._wanted.release()
        said = self._said.get()
        if isinstance(said, BaseException):
            raise said
        return said

    def close(self) -> None:
        """End it, and wait until it has."""
        self._closed = True
        self._wanted.release()
        if self._thread is not None:
            self._thread.join()

    def put(self, value: torch.Tensor) -> None:
        """What ``generate`` has said, its prompt first."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        self._said.put(value.flatten().tolist())
        self._wanted.acquire()
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
            self._said.put(None)
        except _ClosedError:
            pass
        except BaseException as error:  # raised where the steps are read
            self._said.put(error)


def _cut(tokens: list[int], room: int, eos_token_ids: Sequence[int]) -> tuple[list[int], FinishReason | None]:
    """The tokens up to the text's end, and why it ends there."""
    for index, token in enumerate(tokens[:room]):
        if token in eos_token_ids:
            return tokens[: index + 1], FinishReason.EOS
    return tokens[:room], FinishReason.LENGTH if len(tokens) >= room else None
