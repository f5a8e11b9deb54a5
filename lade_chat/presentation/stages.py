"""The stages of loading a model, in words."""

from __future__ import annotations

from lade_chat.protocol.values import Stage

STAGES: dict[Stage, str] = {
    "configuration": "reading the configuration",
    "download": "downloading",
    "tokenizer": "loading the tokenizer",
    "weights": "loading the weights",
    "kernels": "compiling for this processor, the first time only",
    "probe": "checking lookahead",
    "compile": "compiling the model's steps",
    "cost": "measuring what a step costs",
}
PREFILL = "reading the prompt"
