"""From a checkpoint to the folder that ships: weights, configuration, tokenizer, swapped in file by file."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from assets.recipe import tokenizer
from assets.recipe.loss import Point, read_curve
from assets.recipe.tokenizer import BOS_ID, EOS_ID, ChatTokenizer
from assets.recipe.training import LOG, TRAINING, load_trained


def export(work: Path, out: Path) -> None:
    """Write the last checkpoint of `work` as a Hugging Face model folder.

    Weights are stored in bfloat16, in which they lose nothing that training could see, but the configuration
    says float32, so that they load for float32 arithmetic: on a CPU that is faster for so small a model. How the
    training went, its loss curve thinned, is kept beside them.
    """
    model, state = load_trained(work)
    end_id = ChatTokenizer(work).end_id
    model.generation_config = GenerationConfig(
        bos_token_id=BOS_ID, eos_token_id=[end_id, EOS_ID], pad_token_id=EOS_ID, do_sample=False
    )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        folder = Path(scratch)
        model.bfloat16().save_pretrained(folder)
        configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        configuration["dtype"] = "float32"
        (folder / "config.json").write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")
        shutil.copy(work / "tokenizer.model", folder)
        tokenizer.write_configuration(folder)
        last = Point(state.step, state.tokens, state.loss)
        curve = [(point.step, point.tokens, round(point.loss, 4)) for point in read_curve(work / LOG, last)]
        training = asdict(state) | {"curve": curve}
        (folder / TRAINING).write_text(_one_line_each(training), encoding="utf-8")
        for file in sorted(folder.iterdir()):
            file.chmod(0o644)
            os.replace(file, out / file.name)


def _one_line_each(values: dict[str, Any]) -> str:
    """JSON with a line for each key, however long its value."""
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()) + "\n}\n"
