"""Record of a race: the steps of both sides, kept until the next one so that they can be explained."""

from __future__ import annotations

from dataclasses import dataclass, field

from decoding import Step, StepDetail
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.presentation.methods import FIXED, LOOKAHEAD
from lade_chat.protocol.values import Message, MethodSpec


@dataclass
class SideRecord:
    """One side's steps, and the details of those that verified candidates."""

    method: MethodSpec
    steps: list[Step] = field(default_factory=list)
    details: dict[int, StepDetail] = field(default_factory=dict)
    """By the number of steps before them."""
    _next: StepDetail | None = None

    @property
    def is_lookahead(self) -> bool:
        """True if its steps have details."""
        return self.method.name in (LOOKAHEAD, FIXED)

    def observe(self, detail: StepDetail) -> None:
        """Take the details of the step that the decoder is about to yield."""
        self._next = detail

    def take(self, step: Step) -> None:
        """Take the step itself."""
        if self._next is not None and self._next.candidates:
            self.details[len(self.steps)] = self._next
        self._next = None
        self.steps.append(step)


@dataclass
class RaceRecord:
    """A race over ``messages``; a side is None until it has begun."""

    messages: tuple[Message, ...]
    prompt: Prompt
    sides: list[SideRecord] = field(default_factory=list)
    identical: bool = False
