"""ComparisonRecord: the steps of both sides of the last comparison, kept for the tutorial."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate

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

    def until(self, tokens: int) -> SideRecord:
        """Return the steps that wrote the first ``tokens`` tokens, which must be a step's end."""
        number = next((number for number, end in enumerate(self.ends, start=1) if end == tokens), 0)
        details = {step: detail for step, detail in self.details.items() if step < number}
        return SideRecord(self.method, self.steps[:number], details)

    @property
    def ends(self) -> list[int]:
        """The number of tokens written after each step."""
        return list(accumulate(len(step.tokens) for step in self.steps))


@dataclass
class ComparisonRecord:
    """A comparison over ``messages``; ``sides`` are empty until they have begun."""

    messages: tuple[Message, ...]
    prompt: Prompt
    sides: list[SideRecord] = field(default_factory=list)
    identical: bool = False
    stopped: bool = False

    def shared(self) -> ComparisonRecord:
        """Return a stopped one cut to the longest length at which both sides ended a step; a finished one whole."""
        if not self.stopped or len(self.sides) < 2:
            return self
        length = max(set(self.sides[0].ends) & set(self.sides[1].ends), default=0)
        sides = [side.until(length) for side in self.sides]
        texts = [[token for step in side.steps for token in step.tokens] for side in sides]
        return replace(self, sides=sides, identical=texts[0] == texts[1])
