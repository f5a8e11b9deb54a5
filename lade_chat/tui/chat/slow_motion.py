"""Slow motion: each step's candidates are shown before its tokens, at the pace that is set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from textual.screen import Screen
from textual.worker import Worker

from lade_chat.protocol.commands import StepOnce
from lade_chat.protocol.events import Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.tui.chat.decisions.replies import show_tokens
from lade_chat.tui.chat.effects import Change
from lade_chat.tui.reply.candidate_tree_view import CandidateStage
from lade_chat.tui.transcript.transcript import Transcript

PAUSED_PACE = 1.0
"""The pace at which a single step of a paused reply is shown, in steps a second."""
_JUDGED, _WRITTEN, _DONE = 0.4, 0.65, 1.0
"""The beginning of each stage of a step, as a share of its time."""


class SlowMotion:
    """Holds back a step's tokens until its candidates have been seen, then asks for the next step."""

    def __init__(self, screen: Screen[None], decide: Callable[..., None]) -> None:
        """``decide`` takes decisions: to show tokens, and to have the next step."""
        self._screen, self._decide = screen, decide
        self._held: Tokens | None = None
        self._showing: Worker[None] | None = None
        self._pace: float | None = None
        self._paused = self._awaiting = False

    def update(self, pace: float | None, *, paused: bool) -> None:
        """Follow the pace; at full speed nothing is held back."""
        self._pace, self._paused = pace, paused
        if pace is None and not paused:
            self.settle()
            self._awaiting = False
        elif self._showing is None and not self._awaiting:
            self._go_on()

    def take(self, tokens: Tokens) -> None:
        """Show a step: its candidates, which of them are right, its tokens."""
        self.settle()
        self._awaiting, self._held = False, tokens
        if tokens.inspection is not None:
            earlier, self._held = _parted(tokens, tokens.inspection.step)
            if earlier.pieces:
                self._decide(show_tokens, earlier)
        self._showing = self._screen.run_worker(self._show(self._held), group="slow motion")

    def settle(self) -> None:
        """Show what is held back."""
        if self._showing is not None:
            self._showing.cancel()
            self._showing = None
        self._release()

    async def _show(self, tokens: Tokens) -> None:
        inspection, left = tokens.inspection, _DONE
        if tokens.pieces and inspection is not None and inspection.candidates:
            self._draw(inspection, CandidateStage.PROPOSED)
            await self._wait(_JUDGED)
            self._draw(inspection, CandidateStage.JUDGED)
            await self._wait(_WRITTEN - _JUDGED)
            left -= _WRITTEN
        self._release()
        if inspection is not None:
            self._draw(inspection, CandidateStage.FADED)
        await self._wait(left)
        self._showing = None
        self._go_on()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._decide(show_tokens, held)

    def _draw(self, inspection: Inspection, stage: CandidateStage) -> None:
        if (reply := self._screen.query_one(Transcript).reply) is not None:
            reply.show_step(inspection, stage)

    async def _wait(self, share: float) -> None:
        await asyncio.sleep(share / (self._pace or PAUSED_PACE))

    def _go_on(self) -> None:
        if self._pace is not None and not self._paused:
            self._awaiting = True
            self._decide(Change.send, StepOnce())


def _parted(tokens: Tokens, step: int) -> tuple[Tokens, Tokens]:
    """Return the tokens of earlier steps, and those of ``step``."""
    parts = [tuple(each for each in tokens.pieces if (each.step >= step) is own) for own in (False, True)]
    earlier, own = (msgspec.structs.replace(tokens, pieces=part) for part in parts)
    return msgspec.structs.replace(earlier, inspection=None), own
