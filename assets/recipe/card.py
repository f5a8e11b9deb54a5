"""The model's card: what it is and is not, how it was made, and what the last evaluation measured, against its aims."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from transformers import AutoConfig

from assets.recipe import corpus, evaluation, loss, speed
from assets.recipe.evaluation import Score, Scores, read_scores
from assets.recipe.loss import Point
from assets.recipe.model import TRAINING
from assets.recipe.words import TEXTS

PICTURE = "training.svg"
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Talk", ("greetings", "application")),
    ("Arithmetic", ("sums", "word problems", "two-step problems", "measures")),
    ("Python", ("Python", evaluation.PARSES)),
    ("Lists and text", ("counting", "word lists", "echo", "copying", "letters and case", "formats", "examples")),
    ("Stories and poems", ("stories", "poems")),
    ("What it cannot do, and what it can", ("declining", evaluation.GENERAL, evaluation.ANSWERS)),
    ("Any skill", (evaluation.LONG, evaluation.COPIES, evaluation.ENDS)),
)
"""The rows of the evaluation in the order in which they are shown."""

_SKILLS = tuple(skill.name for skill in corpus.SKILLS)


@dataclass(frozen=True)
class Target:
    """The percentage of replies to the unseen prompts that is to be right in some rows, counted together."""

    name: str
    percent: float
    rows: tuple[str, ...]

    def reached(self, scores: Scores) -> tuple[int, int]:
        """Say how many replies were right, and how many were asked for."""
        found = [scores[row][evaluation.UNSEEN] for row in self.rows if row in scores]
        return sum(score.right for score in found), sum(score.asked for score in found)


def met(target: Target, right: int, asked: int) -> bool:
    """Return True if so many right replies are enough; nothing asked is nothing met."""
    return asked > 0 and 100 * right >= target.percent * asked


TARGETS = (
    Target("all skills together", 92, _SKILLS),
    Target("copies the user's own words exactly", 95, (evaluation.COPIES,)),
    Target("declines what it cannot do", 95, ("declining",)),
    Target("does not decline what it can do", 98, (evaluation.ANSWERS,)),
    Target("ends by itself within 300 tokens", 99.5, (evaluation.ENDS,)),
)


def write_card(folder: Path, note: str = "") -> None:
    """Write README.md and its picture from the model's own files and a note on its making.

    Raises:
        FileNotFoundError: the evaluation has not been run.
        ValueError: it was run on another checkpoint than the folder's.
    """
    results_file = folder / evaluation.RESULTS
    if not results_file.exists():
        raise FileNotFoundError(f"{results_file} is missing: run the evaluate step first")
    results, trained = _json(results_file), _json(folder / TRAINING)
    if results.get("step") != trained["step"]:
        raise ValueError(f"{results_file} is of another checkpoint: run the evaluate step again")
    curve = [Point(*point) for point in trained["curve"]]
    scores, paces = read_scores(results), results["speed"]
    fields = _model_fields(folder) | _training_fields(trained, curve, note) | _speed_fields(paces)
    fields |= {
        "targets": "\n".join(_target_lines(scores)), "questions": scores[evaluation.GENERAL][evaluation.NEW].asked,
        "unseen": "\n".join(f"| {name} | {_cell(scores[name][evaluation.UNSEEN])} |" for name in _SKILLS),
        "rows": "\n".join(_rows(lambda row: " | ".join(_cell(scores[row][name]) for name in evaluation.COLUMNS[1:]))),
    }  # fmt: skip
    (folder / PICTURE).write_text(loss.draw(curve), encoding="utf-8")
    card = Template((TEXTS / "card.md").read_text(encoding="utf-8"))
    (folder / "README.md").write_text(card.substitute(fields), encoding="utf-8")


def _json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _model_fields(folder: Path) -> dict[str, object]:
    config, weights = AutoConfig.from_pretrained(folder), (folder / "model.safetensors").stat().st_size
    return {
        "parameters": f"{weights / 2e6:.1f}", "size": f"{weights / 1e6:.1f}", "layers": config.num_hidden_layers,
        "hidden": config.hidden_size, "vocabulary": config.vocab_size,
    }  # fmt: skip


def _training_fields(trained: Mapping[str, Any], curve: list[Point], note: str) -> dict[str, object]:
    return {
        "tokens": f"{trained['tokens'] / 1e6:.1f}", "learnt": f"{trained['learnt'] / 1e6:.1f}",
        "minutes": f"{trained['seconds'] / 60:.0f}", "steps": trained["step"], "loss": f"{trained['loss']:.3f}",
        "first": f"{curve[0].loss:.2f}", "first_tokens": f"{curve[0].tokens / 1e6:.2f}",
        "note": f"\n\n{note}" if note else "",
    }  # fmt: skip


def _target_lines(scores: Scores) -> Iterator[str]:
    for target in TARGETS:
        right, asked = target.reached(scores)
        verdict = "met" if met(target, right, asked) else "**missed**"
        # Rounded down, so that what is missed never looks met.
        reached = f"{1000 * right // asked / 10:.1f}% of {asked}" if asked else "not asked"
        yield f"| {target.name} | {target.percent:g}% | {reached} | {verdict} |"


def _rows(cells: Callable[[str], str]) -> Iterator[str]:
    for heading, rows in GROUPS:
        yield f"| **{heading}** | | | |"
        yield from (f"| {row} | {cells(row)} |" for row in rows)


def _cell(score: Score) -> str:
    return f"{100 * score.right // score.asked}% of {score.asked}" if score.asked else ""


def _speed_fields(paces: Mapping[str, Any]) -> dict[str, object]:
    def told(costs: Mapping[int, float]) -> str:
        return ", ".join(f"{size}: {cost:g}" for size, cost in costs.items())

    def line(row: str) -> str:
        cells = ["" if rate is None else f"{rate:.2f}" for rate in paces[row]["tokens per step"].values()]
        return f"| {row} | {paces[row]['nats per token']:.3f} | " + " | ".join(cells) + " |"

    return {
        "ways": " | ".join(speed.WAYS), "rules": " | ".join("---:" for _ in speed.WAYS),
        "paces": "\n".join(line(row) for _, rows in GROUPS for row in rows if row in paces),
        "stepped": max(pace["replies"] for pace in paces.values()),
        "cpu": told(speed.CPU), "gpu": told(speed.GPU), "window": speed.SIZES.window_size,
        "ngram": speed.SIZES.ngram_size, "guesses": speed.SIZES.guess_set_size,
    }  # fmt: skip
