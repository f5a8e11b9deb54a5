"""The tutorial: real steps of the model that show how the method works, chapter by chapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from decoding import (
    AutoregressiveDecoder,
    Detokenizer,
    FinishReason,
    JacobiDecoder,
    JacobiIteration,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    Step,
    StepDetail,
)
from decoding.config import FixedSizes
from lade_chat.engine.comparison.record import ComparisonRecord, SideRecord
from lade_chat.engine.inspector import Inspector
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.errors import LadeChatError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.text.tokenization import has_chat_template
from lade_chat.presentation.methods import PLAIN, title
from lade_chat.protocol.events import Event
from lade_chat.protocol.tutorial import (
    Beginning,
    Chapter,
    Collection,
    ComparedSteps,
    Comparison,
    Convergence,
    Explained,
    ExplainFinished,
    Group,
    Iteration,
    LookaheadStep,
    Mask,
    ReplyToken,
    Verification,
)

BLOCK_SIZE = 6
"""Guesses of the Jacobi iteration; like the sizes below, chosen to fit a small screen."""
SIZES = FixedSizes(window_size=4, ngram_size=4, guess_set_size=3)
COLLECTING_STEPS = SIZES.ngram_size
"""The window yields its first n-grams in the last two of these."""
MAX_NEW_TOKENS = 64


def explain(loaded: LoadedModel, question: str, prompt: Prompt, stopped: Callable[[], bool]) -> Iterator[Event]:
    """Take the steps, greedily and on separate sessions, and yield each chapter as soon as it is complete.

    Raises:
        LadeChatError: the model does not support lookahead.
    """
    if not loaded.info.lookahead_supported:
        raise LadeChatError(f"Lookahead cannot serve {loaded.info.name}, so there are no steps of it to show.")
    for chapter in _Tutorial(loaded, prompt, stopped).chapters(question):
        if stopped():
            break
        yield Explained(chapter)
    yield ExplainFinished()


class _Tutorial:
    """One reply: its start by Jacobi iteration, then all of it by lookahead, and then plainly."""

    def __init__(self, loaded: LoadedModel, prompt: Prompt, stopped: Callable[[], bool]) -> None:
        self._loaded, self._prompt, self._stopped = loaded, prompt, stopped
        self._steps: list[Step] = []
        self._inspected: list[tuple[int, LookaheadStep]] = []
        """Inspected steps, each with the number of steps before it."""

    def chapters(self, question: str) -> Iterator[Chapter]:
        yield Beginning(self._words(self._loaded.tokenizer.encode(question, add_special_tokens=False)))
        yield self._convergence()
        for _ in self._look_ahead():
            if len(self._inspected) == COLLECTING_STEPS and self._inspected[-1][0] == len(self._steps) - 1:
                yield self._collection()
        if len(self._inspected) < COLLECTING_STEPS:
            yield self._collection()
        yield self._verification()
        yield self._comparison()

    def _convergence(self) -> Convergence:
        """Jacobi iteration over the first tokens of the reply, until the block converges."""
        begun, iterations = list[str](), list[Iteration]()
        taken: list[JacobiIteration] = []
        decoder = JacobiDecoder(self._loaded.model, BLOCK_SIZE, on_iteration=taken.append)
        # The prompt and the last iteration give one token each, so the block is never refilled from behind.
        # No EOS: a block is shown as a whole, even beyond the reply's end.
        for step in decoder.generate(
            self._prompt.ids, max_new_tokens=BLOCK_SIZE + 2, eos_token_ids=(), should_stop=self._stopped
        ):
            if step.prefill:
                begun += self._words(step.tokens)
            for each in taken:
                groups: list[tuple[Group, int]] = [("input", 1), ("guesses", len(each.before))]
                mask = _mask(each.position - 1, groups, each.visible)
                iterations.append(Iteration(self._words(each.before), self._words(each.after), each.settled, mask))
            taken.clear()
        template = has_chat_template(self._loaded.tokenizer)
        return Convergence("".join(begun), len(self._prompt.ids), template, tuple(iterations))

    def _look_ahead(self) -> Iterator[None]:
        session = Session(self._loaded.model)
        inspector = Inspector(self._loaded.tokenizer)
        details: list[StepDetail] = []

        def observe(detail: StepDetail) -> None:
            inspector.observe(detail)
            details.append(detail)

        for step in LookaheadDecoder(self._loaded.model, LookaheadConfig(*SIZES)).generate(
            self._prompt.ids,
            max_new_tokens=self._prompt.max_new_tokens,
            eos_token_ids=self._loaded.eos_token_ids,
            session=session,
            should_stop=self._stopped,
            observe=observe,
        ):
            inspector.take(step)
            if details:
                shown = lookahead_step(inspector, len(self._steps), step, details.pop())
                self._inspected.append((len(self._steps), shown))
            self._steps.append(step)
            yield

    def _collection(self) -> Collection:
        return Collection(tuple(step for _, step in self._inspected))

    def _verification(self) -> Verification:
        """Explain the most instructive step: the longest accepted run that has a rejected candidate beside it."""
        verifying = [each for each in self._inspected[COLLECTING_STEPS:] if each[1].inspection.candidates]
        if not verifying:
            return Verification("", None)
        number, step = max(verifying, key=lambda each: _instructive(each[1]))
        written = token_texts(self._loaded.tokenizer, self._prompt, self._steps[:number])
        return Verification("".join(token.text for token in written), step)

    def _comparison(self) -> Comparison:
        plain = list(
            AutoregressiveDecoder(self._loaded.model).generate(
                self._prompt.ids,
                max_new_tokens=self._prompt.max_new_tokens,
                eos_token_ids=self._loaded.eos_token_ids,
                should_stop=self._stopped,
            )
        )
        return Comparison(
            token_texts(self._loaded.tokenizer, self._prompt, self._steps),
            len(plain),
            len(self._steps),
            identical=_ids(plain) == _ids(self._steps),
            ended=bool(self._steps) and self._steps[-1].finish_reason is FinishReason.EOS,
        )

    def _words(self, tokens: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._loaded.tokenizer.decode([token]) for token in tokens)


def token_texts(tokenizer: Any, prompt: Prompt, steps: Sequence[Step]) -> tuple[ReplyToken, ...]:
    """Return the tokens of a reply as text, with their origins."""
    detokenizer = Detokenizer(tokenizer, prompt.ids)
    return tuple(
        ReplyToken(detokenizer.push(token) if count <= step.written else detokenizer.finish(), origin.value)
        for step in steps
        for count, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True), start=1)
    )


def lookahead_step(inspector: Inspector, number: int, step: Step, detail: StepDetail) -> LookaheadStep:
    """Return a step with the model's choices and its mask; ``number`` is that of the steps before it."""
    return LookaheadStep(inspector.inspect(number, step, detail), inspector.words(detail.chosen), _mask_of(detail))


def _instructive(step: LookaheadStep) -> tuple[bool, bool, bool, int]:
    candidates = step.inspection.candidates
    accepted = [candidate for candidate in candidates if candidate.accepted]
    from_window = any(candidate.origin == "trajectory" for candidate in accepted)
    # The step that ends the reply stops in the middle of what it verified, and lacks the model's own token behind it.
    is_whole = len(step.inspection.settled) > len(accepted)
    return is_whole, 0 < len(accepted) < len(candidates), from_window, len(accepted)


def _mask_of(detail: StepDetail) -> Mask:
    groups: list[tuple[Group, int]] = [
        ("input", 1),
        ("candidates", len(detail.candidates)),
        ("window", sum(map(len, detail.rows))),
    ]
    return _mask(detail.position, groups, detail.visible)


def _mask(cached: int, groups: Sequence[tuple[Group, int]], visible: npt.NDArray[np.bool_]) -> Mask:
    rows = tuple("".join("x" if seen else "." for seen in row) for row in visible)
    return Mask(cached, tuple(group for group in groups if group[1]), rows)


def _ids(steps: Sequence[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


def explain_comparison(loaded: LoadedModel, record: ComparisonRecord) -> Iterator[Event]:
    """Yield the chapters; for a stopped race, up to the text that both sides had written.

    Raises:
        LadeChatError: neither side was lookahead decoding, or it was stopped before both had taken a step.
    """
    record = record.shared()
    if not any(each.steps for each in record.sides):
        raise LadeChatError("The race was stopped before both sides had taken a step: race again.")
    side = next((each for each in record.sides if each.is_lookahead), None)
    if side is None:
        raise LadeChatError("Neither side of the race was lookahead decoding, so there are no candidates to show.")
    other = record.sides[1 - record.sides.index(side)]
    texts = token_texts(loaded.tokenizer, record.prompt, side.steps)
    best = _longest(side)
    titles = title(side.method), title(other.method)
    yield Explained(
        ComparedSteps(_by_step(side, texts), *titles, len(other.steps), best=best + 1, stopped=record.stopped)
    )
    if best in side.details:
        before = sum(len(step.tokens) for step in side.steps[:best])
        inspector = Inspector(loaded.tokenizer)
        step = lookahead_step(inspector, best, side.steps[best], side.details[best])
        text = "".join(token.text for token in texts[:before])
        yield Explained(Verification(text, step, best + 1))
    if other.method.name == PLAIN:
        ended = bool(side.steps) and side.steps[-1].finish_reason is FinishReason.EOS
        yield Explained(Comparison(texts, len(other.steps), len(side.steps), identical=record.identical, ended=ended))
    yield ExplainFinished()


def _longest(side: SideRecord) -> int:
    """Return the step that emitted most tokens, preferably one with rejected candidates; 0 if none verified."""

    def length(number: int) -> tuple[int, bool]:
        detail = side.details[number]
        return len(side.steps[number].tokens), len(detail.candidates) > len(detail.accepted)

    return max(side.details, key=length, default=0)


def _by_step(side: SideRecord, texts: tuple[ReplyToken, ...]) -> tuple[tuple[ReplyToken, ...], ...]:
    tokens = iter(texts)
    return tuple(tuple(next(tokens) for _ in step.tokens) for step in side.steps)
