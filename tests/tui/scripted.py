"""An engine that says what a test tells it to, at the moment the test chooses: no model, no clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event, Loaded, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.inspection import Candidate, Inspection, Trials
from lade_chat.protocol.values import FinishReason, ModelInfo, Piece, Side, Sizes, Statistics

MODEL = ModelInfo("tiny-12M", "cpu", "float32", 12_000_000, 2048, lookahead_supported=True)

Script = Sequence[tuple[str, ...]]
"""A reply, step by step: the first token of each step is decoded plainly, the others were guessed."""

FUNCTION: Script = (
    ("Here",),
    (" is", " a", " function"),
    (" that", " returns", " the", " sum", " of"),
    (" a", " list"),
    (":", "\n", "\n"),
    ("def",),
    (" total", "(", "numbers", ")", ":"),
    ("\n", "    ", "result", " =", " 0"),
    ("\n", "    ", "for", " number"),
    (" in", " numbers", ":"),
    ("\n", "        ", "result"),
    (" +=", " number"),
    ("\n", "    ", "return", " result"),
    ("\n", "\n", "It"),
    (" adds", " the", " numbers"),
    (" one", " by", " one", "."),
)


INSPECTED_STEP = Inspection(
    step=11,
    last=" the",
    settled=(" numbers", ":", "\n"),
    candidates=(
        Candidate(" numbers", 0, "trajectory", True, 0.8),
        Candidate(":", 1, "trajectory", True, 0.5),
        Candidate(" list", 0, "context", False, 0.1),
    ),
    window=(("one", "two", "three"), ("four", "five", "six")),
    new_row=("seven", "eight", "nine"),
    ngram_size=3,
    costs=(1.0, 1.1, 1.2, 1.3, 2.0, 2.4),
    trials=(Trials("trajectory", (8, 4), (6, 1)), Trials("context", (2,), (0,))),
    table_sizes=(("context", 57), ("trajectory", 412), ("successor", 31)),
)
"""The twelfth step of ``FUNCTION``, as an inspector might be told of it."""


class ScriptedEngine:
    """Keeps the commands in ``sent``; ``tell`` is how the test speaks for the engine.

    Args:
        answer: what to tell at once of each command.
        on_start: called as the engine is started, right after the first picture.
    """

    def __init__(
        self,
        answer: Callable[[Command], Iterable[Event]] = lambda command: (),
        on_start: Callable[[], object] = lambda: None,
    ) -> None:
        self._answer, self.on_start = answer, on_start
        self.sent: list[Command] = []
        self.started = self.restarts = 0
        self.closed = False
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def start(self) -> None:
        self.started += 1
        self.on_start()

    def send(self, command: Command) -> None:
        self.sent.append(command)
        self.tell(*self._answer(command))

    async def events(self) -> AsyncIterator[Event]:
        while (event := await self._events.get()) is not None:
            yield event

    async def restart(self) -> None:
        self.restarts += 1

    def close(self) -> None:
        self.closed = True
        self._events.put_nowait(None)

    def tell(self, *events: Event) -> None:
        for event in events:
            self._events.put_nowait(event)

    def load(self, model: ModelInfo = MODEL) -> None:
        self.tell(Loaded(model))

    def sent_of(self, kind: type) -> list[Command]:
        return [command for command in self.sent if isinstance(command, kind)]


def pieces(script: Script, start: int = 0) -> tuple[Piece, ...]:
    """The script's tokens with their origins: plain first, then what the window had guessed."""
    return tuple(
        Piece(text, "plain" if rank == 0 else "trajectory", 100 + rank, start + step)
        for step, tokens in enumerate(script)
        for rank, text in enumerate(tokens)
    )


def statistics(
    script: Script,
    *,
    lookahead: bool = True,
    debug: bool = False,
    sizes: Sizes | None = None,
    switches: tuple[int, ...] = (),
) -> Statistics:
    """The metrics after ``script``, at 50 ms a step."""
    tokens = sum(len(step) for step in script)
    runs = [0] * 5
    for step in script:
        runs[min(len(step) - 1, 4)] += 1
    return Statistics(
        generated_tokens=tokens,
        steps=len(script),
        seconds=0.05 * len(script) + 0.1,
        time_to_first_token=0.15,
        recent_tokens_per_second=tokens / (0.05 * max(len(script), 1)),
        verified_tokens=tokens - len(script),
        verified_from=(("trajectory", tokens - len(script)),) if tokens > len(script) else (),
        prompt_tokens=23,
        context_used=23 + tokens,
        context_window=2048,
        lookahead=lookahead,
        switches=switches,
        guessing_steps=sum(len(step) > 1 for step in script),
        resting_steps=sum(len(step) == 1 for step in script) if lookahead else 0,
        sizes=sizes,
        window_size=7 if lookahead else 0,
        ngram_size=5 if lookahead else 0,
        candidates=35 if lookahead else 0,
        step_milliseconds=50.0,
        forward_tokens=64,
        pool_size=412,
        accepted_runs=tuple(runs) if debug else (),
        plain_step_seconds=0.045 if debug else None,
    )


def streamed(script: Script, *, side: Side = "left", lookahead: bool = True, debug: bool = False) -> list[Event]:
    """A reply's beginning: started, then four steps at a time."""
    events: list[Event] = [ReplyStarted(prompt_tokens=23)]
    for first in range(0, len(script), 4):
        sofar = script[: first + 4]
        batch = pieces(script[first : first + 4], first)
        events.append(Tokens(batch, statistics(sofar, lookahead=lookahead, debug=debug), side))
    return events


def finished(
    script: Script,
    reason: FinishReason = "eos",
    *,
    side: Side = "left",
    lookahead: bool = True,
    debug: bool = False,
    switches: tuple[int, ...] = (),
) -> ReplyFinished:
    return ReplyFinished(reason, statistics(script, lookahead=lookahead, debug=debug, switches=switches), side)


def text_of(script: Script) -> str:
    return "".join(token for step in script for token in step)
