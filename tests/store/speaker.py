"""A program that talks until it is killed: ``python -m tests.store.speaker FOLDER turns COUNT`` or ``… stream``.

It prints what it has done once it is done: a turn's id when ``finish`` has returned, or a piece's number and the
moment before it was handed over.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lade_chat.store.all_conversations import Store
from tests.store.replies import MODEL, say, tokens


def tell(*values: object) -> None:
    """One line, at once."""
    sys.stdout.write(" ".join(map(str, values)) + "\n")
    sys.stdout.flush()


def talk(store: Store, count: int) -> None:
    """Conversations of three turns, as fast as possible."""
    conversation = store.begin()
    for number in range(count):
        if number % 3 == 0:
            conversation = store.begin()
        tell(say(conversation, f"question {number}", f"answer {number} " * 20))


def stream(store: Store) -> None:
    """One reply without an end."""
    conversation = store.begin()
    say(conversation, "before", "finished")
    conversation.ask("go on", MODEL)
    number = 0
    while True:
        moment = time.monotonic()
        conversation.grow(tokens(f" {number}", first=number))
        tell(number, moment)
        number += 1
        time.sleep(0.002)


if __name__ == "__main__":
    opened = Store(Path(sys.argv[1]))
    if sys.argv[2] == "stream":
        stream(opened)
    talk(opened, int(sys.argv[3]))
