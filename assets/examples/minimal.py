"""The shortest way to speed up a program that calls `model.generate`, with the speed before and after.

$ python -m assets.examples.minimal                          # transformers alone
$ LOAD_LADE=1 python -m assets.examples.minimal              # with lookahead decoding
$ LOAD_LADE=1 USE_LADE=0 python -m assets.examples.minimal   # loaded, and switched off
$ LOAD_LADE=1 python -m assets.examples.minimal PATH         # another model than the bundled one
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding import lade

BUNDLED = Path(__file__).parents[1] / "model"
QUESTION = "Write a Python function that returns the sum of a list."


def main(model_path: str = str(BUNDLED), max_new_tokens: int = 128) -> None:
    """Answer a question greedily, then sampled, and print both answers and their speeds."""
    if int(os.environ.get("LOAD_LADE", "0")):
        lade.augment_all()
        # LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7 would fix N, W and G; without them each step takes what pays here.
        lade.config_lade(DEBUG=1)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer: Any = AutoTokenizer.from_pretrained(model_path)
    model: Any = AutoModelForCausalLM.from_pretrained(model_path)
    model.to(device)
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    ).to(device)

    model.generate(**inputs, max_new_tokens=4, do_sample=False)  # warm up
    torch.manual_seed(7)
    greedy: dict[str, Any] = {"do_sample": False}
    sampled: dict[str, Any] = {"do_sample": True, "temperature": 0.7, "top_k": 50, "top_p": 0.9}
    for name, how in (("Greedy", greedy), ("Sampled", sampled)):
        started = perf_counter()
        output = model.generate(**inputs, max_new_tokens=max_new_tokens, **how)
        seconds = perf_counter() - started
        new = output[0, inputs["input_ids"].shape[1] :]
        print(f"{name}: {len(new)} tokens, {len(new) / seconds:.1f} tokens/s\n{tokenizer.decode(new)}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(BUNDLED))
