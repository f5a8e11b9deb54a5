"""The lookahead switch (Ctrl+L): one reply's steps, in which another decoder may take over at any step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from decoding import Decoder, SamplingConfig, Session, Step, prefill
from decoding.step_detail import Observe
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.loading.model_loader import LoadedModel


class SwitchedDecoding:
    """Decodes a reply in one session; before each step the job says if lookahead is on.

    Attributes:
        ids: the reply so far; the caller appends each step's tokens, or others in their place.
    """

    def __init__(
        self, loaded: LoadedModel, session: Session, prompt: Prompt, sampling: SamplingConfig | None, job: Job
    ) -> None:
        self.ids: list[int] = []
        self._loaded, self._session, self._prompt = loaded, session, prompt
        self._sampling, self._job = sampling, job
        self._prefilled = False

    @property
    def is_lookahead(self) -> bool:
        """True if the user has lookahead on, and the model supports it."""
        return self._job.lookahead and self._loaded.info.lookahead_supported

    def prefill(self) -> Iterator[int]:
        """Make the prompt the session's text, and read all but its last chunk, which the first step reads."""
        self._prefilled = True
        return prefill(self._session, self._prompt.ids)

    def steps(
        self, decoder: Callable[[bool], Decoder], observe: Observe, on_switch: Callable[[bool], None]
    ) -> Iterator[Step]:
        """Yield the steps until the reply ends or the job is stopped.

        Where lookahead is switched, or the caller appends other tokens, a decoder stops and another goes on.

        Args:
            decoder: returns the decoder to use from here on; like ``on_switch``, it is given whether lookahead is on.
            observe: as for :meth:`Decoder.generate`.
            on_switch: called before each decoder's first step.
        """
        finished = given = False
        while not finished and not self._job.stopped:
            lookahead = self.is_lookahead
            on_switch(lookahead)

            def should_stop(lookahead: bool = lookahead) -> bool:
                return self._job.stopped or self.is_lookahead is not lookahead

            for step in decoder(lookahead).generate(
                None if self._prefilled and not given else (*self._prompt.ids, *self.ids),
                max_new_tokens=self._prompt.max_new_tokens - len(self.ids),
                eos_token_ids=self._loaded.eos_token_ids,
                sampling=self._sampling,
                session=self._session,
                should_stop=should_stop,
                observe=observe,
            ):
                before = len(self.ids)
                yield step
                given = tuple(self.ids[before:]) != step.tokens
                finished = step.finish_reason is not None and not given
                if given:
                    break
