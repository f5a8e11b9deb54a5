"""Pace: whether a reply's steps go on by themselves, one at a time, or not at all."""

from __future__ import annotations

from threading import Condition


class Pace:
    """Paused, resumed and stepped from any thread; waited on by the one that decodes."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._paused = False
        self._allowed = 0
        self._woken = False

    def pause(self) -> None:
        """Let no further step begin."""
        with self._changed:
            self._paused, self._allowed = True, 0

    def step_once(self) -> None:
        """Let one step begin, if they are paused."""
        with self._changed:
            self._allowed += self._paused
            self._changed.notify_all()

    def resume(self) -> None:
        """Let all steps begin, as at the start."""
        with self._changed:
            self._paused, self._allowed = False, 0
            self._changed.notify_all()

    def wake(self) -> None:
        """Something else was asked of the reply: have it look."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def admits(self) -> bool:
        """Whether the next step may begin; a single step that was allowed is used up by the answer."""
        with self._changed:
            if self._paused and self._allowed:
                self._allowed -= 1
                return True
            return not self._paused

    def wait(self) -> None:
        """Wait until a step may begin or something else was asked."""
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._allowed or not self._paused)
            self._woken = False
