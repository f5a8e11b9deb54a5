"""A benchmark's result as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lade_chat.bench.benchmark import Result
from lade_chat.figures import EXACT_DTYPES


def as_json(result: Result) -> dict[str, Any]:
    """Everything that the tables and the plots show, and each single run's figures."""
    import torch
    import transformers

    info, plan, padding = result.model.info, result.plan, result.padding
    return {
        "model": {
            "name": info.name,
            "device": info.device,
            "dtype": info.dtype,
            "compiled": info.compiled,
            "parameters": info.parameters,
            "padding": None if padding is None else {**asdict(padding), "meaning": padding.meaning},
        },
        "settings": {
            "repeats": plan.repeats,
            "max_new_tokens": plan.options.max_new_tokens,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "suites": [
            {"name": suite.name, "prompts": len(suite.tasks), "nats_per_token": suite.nats_per_token}
            for suite in result.suites
        ],
        "rows": [asdict(row) for row in result.rows],
        "overall": [asdict(row) for row in result.overall],
        "differences": [_difference(result, each) for each in map(asdict, result.differences)],
        "unexpected_differences": bool(result.differences) and info.dtype in EXACT_DTYPES,
        "sweep": [asdict(point) for point in result.sweep],
        "left_out": result.left_out,
        "runs": [
            {
                "method": run.method,
                "tables": run.tables,
                "suite": run.suite,
                "prompt": run.prompt,
                "repeat": run.repeat,
                "tokens": len(run.reply.ids),
                "seconds": run.reply.seconds,
                "steps": None if run.reply.figures is None else asdict(run.reply.figures),
            }
            for run in result.runs
        ],
    }


def _difference(result: Result, difference: dict[str, Any]) -> dict[str, Any]:
    texts = {f"{side}_text": token_text(result, difference[side]) for side in ("expected", "found")}
    return {**difference, **texts}


def token_text(result: Result, token: int | None) -> str | None:
    """A token as text; None for the end of a reply."""
    return None if token is None else str(result.model.tokenizer.decode([token]))
