"""On against off, fairly: each side on its own cache and clock, the side that is behind taking the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from decoding import AutoregressiveDecoder, Session
from lade_chat.engine.conversation import Prompt
from lade_chat.engine.reply import ReplyRun
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol import DecodingOptions, Difference, Event, RaceFinished

WARM_UP_TOKENS = 64


def race(
    loaded: LoadedModel,
    session: Session,
    prompt: Prompt,
    options: DecodingOptions,
    stopped: Callable[[], bool],
) -> Iterator[Event]:
    """Decode one prompt twice, lookahead on (left) and off (right), and compare.

    Both sides start from copies of ``session``, which stays as it is; each pays its own prefill. A clock runs only
    during its own side's steps, so neither side's figures hold any of the other's time.
    """
    # Whoever goes first after a pause pays for cold caches: neither side shall.
    warm_up = Session(loaded.model, compiled=loaded.info.compiled)
    list(AutoregressiveDecoder(loaded.model).generate(prompt.ids[:WARM_UP_TOKENS], max_new_tokens=2, session=warm_up))
    left = ReplyRun(loaded, session.copy(), prompt, options, lookahead=lambda: True, stopped=stopped, side="left")
    right = ReplyRun(loaded, session.copy(), prompt, options, lookahead=lambda: False, stopped=stopped, side="right")
    running = [(left, left.events()), (right, right.events())]
    while running:
        behind = min(running, key=lambda side: side[0].seconds)
        run, events = behind
        try:
            event = next(events)
        except StopIteration:
            running.remove(behind)
            continue
        run.synchronize()
        if event is not None:
            yield event
    difference = first_difference(left.ids, right.ids, lambda token: loaded.tokenizer.decode([token]))
    speedup = right.seconds / left.seconds if left.seconds > 0 else 0.0
    yield RaceFinished(speedup, difference is None, difference)


def first_difference(left: list[int], right: list[int], text_of: Callable[[int], str]) -> Difference | None:
    """Where two token sequences part; None if they are identical."""
    for index in range(max(len(left), len(right))):
        a, b = left[index : index + 1], right[index : index + 1]
        if a != b:
            return Difference(index, *(text_of(side[0]) if side else "(the end)" for side in (a, b)))
    return None
