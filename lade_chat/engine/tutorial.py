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
    Step,
    StepDetail,
)
from decoding.config import FixedSizes
from lade_chat.engine.comparison.history import ComparisonRecord, SideRecord
from lade_chat.engine.inspector import Inspector
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.errors import LadeChatError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.text.tokenization import has_chat_template
from lade_chat.presentation.methods import FIXED, LOOKAHEAD, PLAIN, title
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
    """Take greedy steps on their own sessions, and yield each chapter when it is complete. Raises LadeChatError."""
    if not loaded.info.lookahead_supported:
        raise LadeChatError(f"Lookahead cannot serve {loaded.info.name}, so there are no steps of it to show.")
    for chapter in _chapters(loaded, question, prompt, stopped):
        if stopped():
            break
        yield Explained(chapter)
    yield ExplainFinished()


def _chapters(loaded: LoadedModel, question: str, prompt: Prompt, stopped: Callable[[], bool]) -> Iterator[Chapter]:
    """One reply: its start by Jacobi iteration, then all of it by lookahead, and then plainly."""
    tokenizer = loaded.tokenizer
    inspector, details = Inspector(tokenizer), list[StepDetail]()
    yield Beginning(inspector.words(tokenizer.encode(question, add_special_tokens=False)))
    yield _convergence(loaded, prompt, stopped)
    steps: list[Step] = []
    inspected: list[tuple[int, LookaheadStep]] = []  # with the number of steps before each

    def observe(detail: StepDetail) -> None:
        inspector.observe(detail)
        details.append(detail)

    options: dict[str, Any] = {"max_new_tokens": prompt.max_new_tokens, "eos_token_ids": loaded.eos_token_ids}
    options["should_stop"] = stopped
    decoder = LookaheadDecoder(loaded.model, LookaheadConfig(*SIZES))
    for step in decoder.generate(prompt.ids, **options, observe=observe):
        inspector.take(step)
        if details:
            inspected.append((len(steps), lookahead_step(inspector, len(steps), step, details.pop())))
            if len(inspected) == COLLECTING_STEPS:
                yield Collection(tuple(step for _, step in inspected))
        steps.append(step)
    if len(inspected) < COLLECTING_STEPS:
        yield Collection(tuple(step for _, step in inspected))
    yield _verification(loaded, prompt, steps, inspected[COLLECTING_STEPS:])
    plain = list(AutoregressiveDecoder(loaded.model).generate(prompt.ids, **options))
    identical = _ids(plain) == _ids(steps)
    yield _compared(token_texts(tokenizer, prompt, steps), len(plain), steps, identical)


def _convergence(loaded: LoadedModel, prompt: Prompt, stopped: Callable[[], bool]) -> Convergence:
    """Jacobi iteration over the first tokens of the reply, until the block converges."""
    words, begun, iterations = Inspector(loaded.tokenizer).words, list[str](), list[Iteration]()
    taken: list[JacobiIteration] = []
    decoder = JacobiDecoder(loaded.model, BLOCK_SIZE, on_iteration=taken.append)
    # The prompt and the last iteration give one token each, so the block is never refilled from behind.
    # No EOS: a block is shown as a whole, even beyond the reply's end.
    for step in decoder.generate(prompt.ids, max_new_tokens=BLOCK_SIZE + 2, eos_token_ids=(), should_stop=stopped):
        if step.prefill:
            begun += words(step.tokens)
        for each in taken:
            groups: list[tuple[Group, int]] = [("input", 1), ("guesses", len(each.before))]
            mask = _mask(each.position - 1, groups, each.visible)
            iterations.append(Iteration(words(each.before), words(each.after), each.settled, mask))
        taken.clear()
    return Convergence("".join(begun), len(prompt.ids), has_chat_template(loaded.tokenizer), tuple(iterations))


def _verification(
    loaded: LoadedModel, prompt: Prompt, steps: Sequence[Step], later: Sequence[tuple[int, LookaheadStep]]
) -> Verification:
    """Explain the most instructive step: the longest accepted run that has a rejected candidate beside it."""
    verifying = [each for each in later if each[1].inspection.candidates]
    if not verifying:
        return Verification("", None)
    number, step = max(verifying, key=lambda each: _instructive(each[1]))
    return Verification("".join(token.text for token in token_texts(loaded.tokenizer, prompt, steps[:number])), step)


def _compared(texts: tuple[ReplyToken, ...], plain_steps: int, steps: Sequence[Step], identical: bool) -> Comparison:
    ended = bool(steps) and steps[-1].finish_reason is FinishReason.EOS
    return Comparison(texts, plain_steps, len(steps), identical=identical, ended=ended)


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
    candidates, window = len(detail.candidates), sum(map(len, detail.rows))
    groups: list[tuple[Group, int]] = [("input", 1), ("candidates", candidates), ("window", window)]
    mask = _mask(detail.position, groups, detail.visible)
    return LookaheadStep(inspector.inspect(number, step, detail), inspector.words(detail.chosen), mask)


def _instructive(step: LookaheadStep) -> tuple[bool, bool, bool, int]:
    candidates = step.inspection.candidates
    accepted = [candidate for candidate in candidates if candidate.accepted]
    from_window = any(candidate.origin == "trajectory" for candidate in accepted)
    # The step that ends the reply stops in the middle of what it verified, and lacks the model's own token behind it.
    is_whole = len(step.inspection.settled) > len(accepted)
    return is_whole, 0 < len(accepted) < len(candidates), from_window, len(accepted)


def _mask(cached: int, groups: Sequence[tuple[Group, int]], visible: npt.NDArray[np.bool_]) -> Mask:
    rows = tuple("".join("x" if seen else "." for seen in row) for row in visible)
    return Mask(cached, tuple(group for group in groups if group[1]), rows)


def _ids(steps: Sequence[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


def explain_comparison(loaded: LoadedModel, record: ComparisonRecord) -> Iterator[Event]:
    """Yield the chapters; for a stopped race, up to the text that both sides had written.

    Raises LadeChatError: neither side was lookahead decoding, or it was stopped before both had taken a step.
    """
    record = record.shared()
    if not any(each.steps for each in record.sides):
        raise LadeChatError("The race was stopped before both sides had taken a step: race again.")
    side = next((each for each in record.sides if each.method.name in (LOOKAHEAD, FIXED)), None)
    if side is None:
        raise LadeChatError("Neither side of the race was lookahead decoding, so there are no candidates to show.")
    other = record.sides[1 - record.sides.index(side)]
    texts = token_texts(loaded.tokenizer, record.prompt, side.steps)
    best = _longest(side)
    titles = title(side.method), title(other.method)
    tokens = iter(texts)
    by_step = tuple(tuple(next(tokens) for _ in step.tokens) for step in side.steps)
    yield Explained(ComparedSteps(by_step, *titles, len(other.steps), best=best + 1, stopped=record.stopped))
    if best in side.details:
        before = sum(len(step.tokens) for step in side.steps[:best])
        inspector = Inspector(loaded.tokenizer)
        step = lookahead_step(inspector, best, side.steps[best], side.details[best])
        text = "".join(token.text for token in texts[:before])
        yield Explained(Verification(text, step, best + 1))
    if other.method.name == PLAIN:
        yield Explained(_compared(texts, len(other.steps), side.steps, record.identical))
    yield ExplainFinished()


def _longest(side: SideRecord) -> int:
    """Return the step that emitted most tokens, preferably one with rejected candidates; 0 if none verified."""

    def length(number: int) -> tuple[int, bool]:
        detail = side.details[number]
        return len(side.steps[number].tokens), len(detail.candidates) > len(detail.accepted)

    return max(side.details, key=length, default=0)
