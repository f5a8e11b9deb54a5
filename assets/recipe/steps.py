"""The recipe's steps, each from folder to folder: what the command line and the quick run call."""

from __future__ import annotations

from pathlib import Path

from assets.recipe import card, evaluation, export, tokenizer
from assets.recipe.model import QUICK, Shape
from assets.recipe.schedule import Schedule
from assets.recipe.training import Plan, Trainer


def train(work: Path, seed: int, schedule: Schedule, compiled: bool, start: Path | None, rate: float) -> None:
    """Train, or go on from the last checkpoint, until the schedule is through.

    Args:
        work: the folder of tokenizer, checkpoint and log.
        seed: of the corpus and of fresh weights.
        schedule: how long the run lasts, its resumed parts included.
        compiled: whether the model is compiled.
        start: an exported model to go on from, where the folder has no checkpoint yet.
        rate: what both peak learning rates are multiplied by.
    """
    if schedule.minutes is None and schedule.steps is None:
        raise ValueError("say how long to train: --minutes or --steps")
    rates = {"muon_rate": rate * Plan.muon_rate, "adam_rate": rate * Plan.adam_rate}
    Trainer(Plan(work, Shape(), schedule, seed, compiled=compiled, start=start, **rates)).train()


def export_model(work: Path, out: Path) -> None:
    """Write the last checkpoint as a model folder."""
    export.export(work, out)


def evaluate(out: Path, count: int, stepped: int) -> None:
    """Examine the exported model and leave the figures beside it."""
    evaluation.evaluate(out, count, stepped=stepped)


def write_card(out: Path, note: str) -> None:
    """Write the exported model's card."""
    card.write_card(out, note)


def quick(out: Path, seed: int) -> None:
    """Every step on a tiny model, in seconds: shows that the chain works, not that the model does."""
    work = out / ".work"
    tokenizer.train(work, seed, QUICK.vocabulary, conversations=400)
    plan = Plan(work, QUICK, Schedule(steps=20, warm_up=5), seed, tokens=1152)
    Trainer(plan).train()
    export.export(work, out)
    evaluation.evaluate(out, count=1, longest=24, stepped=1)
    card.write_card(out)
