"""History of comparisons: draft tables as they were before an answer, and the steps of the last race."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from decoding import DraftTables, Session, Step, StepDetail
from decoding.drafting.successors import Successors
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.protocol.values import Message, MethodSpec


@dataclass
class SideRecord:
    """One side's steps, and the details of those that verified candidates."""

    method: MethodSpec
    steps: list[Step] = field(default_factory=list)
    details: dict[int, StepDetail] = field(default_factory=dict)
    """By the number of steps before them."""
    _next: StepDetail | None = None

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


class SessionHistory:
    """A copy of the draft tables from before the last answer, and the prompts answered so far."""

    def __init__(self) -> None:
        self._ids: tuple[int, ...] = ()
        self._tables: DraftTables | None = None
        self._cached = 0
        self._answered: set[int] = set()

    def record(self, ids: tuple[int, ...], tables: DraftTables, cached: int) -> None:
        """Record that this prompt is about to be answered, with these tables; ``cached`` of its tokens were known."""
        if ids != self._ids:
            seen = hash(ids) in self._answered
            self._ids, self._tables, self._cached = ids, None if seen else tables.copy(), cached
        self._answered.add(hash(ids))

    def remember(self, texts: Sequence[Sequence[int]], successors: Sequence[Successors]) -> None:
        """Reset the copied tables to these earlier texts and the last turn's prompt."""
        if self._tables is not None:
            self._tables.remember(texts, successors)
            for table in self._tables:
                table.extend(self._ids)

    def start(self, ids: tuple[int, ...], session: Session) -> Session | None:
        """Return the session that a comparison over this prompt starts from; to be copied, not changed.

        If the prompt was answered in the last turn, that is the session as before the turn; if it is unanswered,
        the present session. None if the answer is too long ago to be undone.
        """
        if ids == self._ids and self._tables is not None:
            # Reading ahead may have changed the text since.
            return session.copy_as_of(ids, self._tables, min(self._cached, session.reusable(ids)))
        read_on = len(session.ids) > len(ids) and tuple(session.ids[: len(ids)]) == ids
        return None if hash(ids) in self._answered or read_on else session
