"""The tutorial on the steps of the last comparison: all of them, the longest one in detail, and both texts."""

from __future__ import annotations

from collections.abc import Iterator

from decoding import FinishReason
from lade_chat.engine.comparison.record import ComparisonRecord, SideRecord
from lade_chat.engine.explain.chapters import lookahead_step, token_texts
from lade_chat.engine.inspector import Inspector
from lade_chat.errors import LadeChatError
from lade_chat.loading.model import LoadedModel
from lade_chat.presentation.methods import PLAIN, title
from lade_chat.protocol.events import Event
from lade_chat.protocol.tutorial import ComparedSteps, Comparison, Explained, ExplainFinished, ReplyToken, Verification


def explain_comparison(loaded: LoadedModel, record: ComparisonRecord) -> Iterator[Event]:
    """Yield the chapters; of a stopped one up to the text that both sides had written.

    Raises:
        LadeChatError: neither side was lookahead decoding, or it was stopped before both had taken a step.
    """
    record = record.shared()
    if not any(each.steps for each in record.sides):
        raise LadeChatError("The race was stopped before both sides had taken a step: race once more.")
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
        plain = token_texts(loaded.tokenizer, record.prompt, other.steps)
        ended = bool(side.steps) and side.steps[-1].finish_reason is FinishReason.EOS
        yield Explained(
            Comparison(plain, texts, len(other.steps), len(side.steps), identical=record.identical, ended=ended)
        )
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
