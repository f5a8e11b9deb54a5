"""The stages of loading a model, in words."""

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
