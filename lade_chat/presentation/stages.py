"""In words: the stages of loading a model, and what a prompt leaves out."""

from __future__ import annotations

from rich.filesize import decimal

from lade_chat.protocol.values import Stage

STAGES: dict[Stage, str] = {
    "configuration": "reading the configuration",
    "download": "downloading",
    "tokenizer": "loading the tokenizer",
    "unpacking": "unpacking the weights to bfloat16",
    "weights": "loading the weights",
    "kernels": "compiling for this processor, the first time only",
    "probe": "checking lookahead",
    "compile": "compiling the model's steps",
    "cost": "measuring what a step costs",
}


def stage_words(stage: Stage, total: int) -> str:
    """Name a stage; where weights are unpacked, with the ``total`` of bytes that they take."""
    return f"{STAGES[stage]}, {decimal(total)} of memory" if stage == "unpacking" else STAGES[stage]


PREFILL = "reading the prompt"


def left_out(messages: int) -> str:
    """Tell how many of a conversation's oldest messages a prompt leaves out."""
    one = messages == 1
    which = "message no longer fits and was" if one else f"{messages} messages no longer fit and were"
    return f"the oldest {which} left out"
