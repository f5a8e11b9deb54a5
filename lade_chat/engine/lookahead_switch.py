"""LookaheadSwitch: lookahead switched in the middle of a reply (Ctrl+L), which another decoder goes on with."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from decoding import Step
from lade_chat.engine.job import Job


class LookaheadSwitch:
    """Lookahead on or off in a reply, as its job says before each step; always off where it is not ``supported``."""

    def __init__(self, job: Job, *, supported: bool) -> None:
        self._job, self._supported = job, supported

    @property
    def is_on(self) -> bool:
        return self._job.lookahead and self._supported

    def steps(self, decode: Callable[[bool, Callable[[], bool]], Generator[Step, None, bool]]) -> Iterator[Step]:
        """Yield the steps until the reply ends or the job is stopped.

        ``decode``: goes on with a decoder, given whether lookahead is on and a function that says when that decoder
        should stop; returns True if the reply has ended.
        """
        ended = False
        while not ended and not self._job.stopped:
            lookahead = self.is_on

            def should_stop(lookahead: bool = lookahead) -> bool:
                return self._job.stopped or self.is_on is not lookahead

            ended = yield from decode(lookahead, should_stop)
