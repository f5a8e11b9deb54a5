"""A line that says why a finished reply has no text."""

from __future__ import annotations

from lade_chat.presentation.metrics import counted
from lade_chat.presentation.thoughts import split_reply

ENDED_AT_ONCE = "the model ended at once, without a word"
STOPPED_AT_ONCE = "no text: a stop string came first"


def nothing_said(text: str, ending: str | None, tokens: int) -> str:
    """Return the line, or an empty one if there is a text, or whoever asked stopped the reply.

    Args:
        ending: the reason why it ended.
        tokens: the number of tokens that the model wrote, its end of reply among them.
    """
    split = split_reply(text)
    if split.answer.strip() or ending not in ("eos", "length", "stop"):
        return ""
    if ending == "stop":
        return STOPPED_AT_ONCE
    if split.thought.strip():
        return f"no answer: the model's {counted(tokens, 'token')} are all a thought"
    if tokens <= 1 and ending == "eos":
        return ENDED_AT_ONCE
    return f"no text in the model's {counted(tokens, 'token')}: special, unprintable or blank"
