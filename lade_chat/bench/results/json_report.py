"""A benchmark's result as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lade_chat.bench.benchmark import Result
from lade_chat.presentation.metrics import EXACT_DTYPES


def as_json(result: Result) -> dict[str, Any]:
    """Everything that the tables show, and each single run's totals."""
    import torch
    import transformers

    info, plan = result.model.info, result.plan
    return {
        "model": {
            "name": info.name,
            "device": info.device,
            "dtype": info.dtype,
            "tensor_types": dict(info.tensor_types),
            "compiled": info.compiled,
            "parameters": info.parameters,
        },
        "settings": {
            "repeats": plan.repeats,
            "max_new_tokens": plan.options.max_new_tokens,
            "sampling": None if result.sampling is None else result.sampling.values(),
            "seeds": [seed for seed in result.seeds if seed is not None],
            "random_weights": plan.random_weights,
            "step_cost": plan.step_cost,
            "decoding_only": plan.decoding_only,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "suites": [
            {
                "name": suite.name,
                "benchmark": suite.benchmark,
                "prompts": suite.prompts,
                "nats_per_token": suite.nats_per_token,
            }
            for suite in result.suites
        ],
        "rows": [asdict(row) for row in result.rows],
        "overall": [asdict(row) for row in result.overall],
        "benchmarks": {name: [asdict(row) for row in rows] for name, rows in result.benchmarks.items()},
        "differences": [_difference(result, each) for each in map(asdict, result.differences)],
        "unexpected_differences": bool(result.differences) and info.dtype in EXACT_DTYPES,
        "left_out": result.left_out,
        "broken_off": None if result.broken_off is None else asdict(result.broken_off),
        "not_compared": result.not_compared,
        "runs": [
            {
                "method": run.method,
                "tables": run.tables,
                "suite": run.suite,
                **_prompt(result, run.suite, run.prompt),
                "repeat": run.repeat,
                "tokens": len(run.reply.ids),
                "seconds": run.reply.seconds,
                "decoding_tokens": run.reply.decoding_tokens,
                "decoding_seconds": run.reply.decoding_seconds,
                "steps": None if run.reply.totals is None else asdict(run.reply.totals),
            }
            for run in result.runs
        ],
    }


def _prompt(result: Result, name: str, task: int) -> dict[str, Any]:
    """A task by its prompt and its seed."""
    prompt, seed = prompt_and_seed(result, name, task)
    return {"prompt": prompt, "seed": seed}


def _difference(result: Result, difference: dict[str, Any]) -> dict[str, Any]:
    texts = {f"{side}_text": token_text(result, difference[side]) for side in ("expected", "found")}
    return {**difference, **_prompt(result, difference["suite"], difference["prompt"]), **texts}


def prompt_and_seed(result: Result, name: str, task: int) -> tuple[int, int | None]:
    """A task's prompt, counted from 0 within its suite, and its seed."""
    suite = next(suite for suite in result.suites if suite.name == name)
    return task % suite.prompts, suite.tasks[task].seed


def token_text(result: Result, token: int | None) -> str | None:
    """A token as text; None for the end of a reply."""
    return None if token is None else str(result.model.tokenizer.decode([token]))
