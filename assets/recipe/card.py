"""The model's card: what it is and is not, how it was made, and what the last evaluation measured, against its aims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from assets.recipe import corpus, evaluation
from assets.recipe.evaluation import Score, Scores
from assets.recipe.model import TRAINING, Point
from assets.recipe.words import TEXTS

PICTURE = "training.svg"
# In the middle between black and white, so that they can be read on a light page and on a dark one.
_GREY, _BLUE = "#7a7a7a", "#2f81f7"
_COLOURS = ("axes.edgecolor", "axes.labelcolor", "grid.color", "xtick.color", "ytick.color")
_SKILLS = tuple(skill.name for skill in corpus.SKILLS)
TARGETS: dict[str, tuple[float, tuple[str, ...]]] = {
    "all skills together": (92, _SKILLS),
    "copies the user's own words exactly": (95, (evaluation.COPIES,)),
    "declines what it cannot do": (95, ("declining",)),
    "does not decline what it can do": (98, (evaluation.ANSWERS,)),
    "ends by itself within 300 tokens": (99.5, (evaluation.ENDS,)),
}
"""The percentage of replies to the unseen prompts that is to be right in some rows, counted together."""


def write_card(folder: Path, note: str = "") -> None:
    """Write README.md and its picture from the model's own files and a note on its making.

    Raises:
        FileNotFoundError: the evaluation has not been run.
        ValueError: it was run on another checkpoint than the folder's.
    """
    results_file = folder / evaluation.RESULTS
    if not results_file.exists():
        raise FileNotFoundError(f"{results_file} is missing: run the evaluate step first")
    results, trained = (json.loads(file.read_text(encoding="utf-8")) for file in (results_file, folder / TRAINING))
    if results.get("step") != trained["step"]:
        raise ValueError(f"{results_file} is of another checkpoint: run the evaluate step again")
    curve = [Point(*point) for point in trained["curve"]]
    scores, size = results["scores"], (folder / "model.safetensors").stat().st_size
    cells = ((row, (_cell(found[name]) for name in evaluation.COLUMNS[1:])) for row, found in scores.items())
    card = (TEXTS / "card.md").read_text(encoding="utf-8").format(
        config=AutoConfig.from_pretrained(folder), parameters=size / 2e6, size=size / 1e6, steps=trained["step"],
        tokens=trained["tokens"] / 1e6, learnt=trained["learnt"] / 1e6, minutes=trained["seconds"] / 60,
        loss=trained["loss"], first=curve[0].loss, first_tokens=curve[0].tokens / 1e6,
        note=f"\n\n{note}" if note else "",
        targets="\n".join(target_line(name, *aim, scores) for name, aim in TARGETS.items()),
        questions=scores[evaluation.GENERAL][evaluation.NEW]["asked"],
        unseen="\n".join(f"| {name} | {_cell(scores[name][evaluation.UNSEEN])} |" for name in _SKILLS),
        rows="\n".join(f"| {row} | {' | '.join(found)} |" for row, found in cells),
    )  # fmt: skip
    (folder / "README.md").write_text(card, encoding="utf-8")
    draw_curve(curve, folder / PICTURE)


def target_line(name: str, percent: float, rows: Sequence[str], scores: Scores) -> str:
    """The line of a target: what is wanted of the rows together and what they reach; nothing asked is nothing met."""
    found = [scores[row][evaluation.UNSEEN] for row in rows if row in scores]
    right, asked = (sum(score[count] for score in found) for count in ("right", "asked"))
    verdict = "met" if asked and 100 * right >= percent * asked else "**missed**"
    # Rounded down, so that what is missed never looks met.
    reached = f"{1000 * right // asked / 10:.1f}% of {asked}" if asked else "not asked"
    return f"| {name} | {percent:g}% | {reached} | {verdict} |"


def draw_curve(curve: Sequence[Point], file: Path) -> None:
    """Draw the loss on a logarithmic scale by millions of tokens read, as an SVG that is the same on any machine."""
    # A second to import, for this alone.
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = dict.fromkeys(_COLOURS, _GREY) | {"svg.fonttype": "none", "svg.hashsalt": PICTURE}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        axes = figure.subplots()
        axes.semilogy([point.tokens / 1e6 for point in curve], [point.loss for point in curve], color=_BLUE)
        axes.set_xlabel("million tokens read")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(axis="y", alpha=0.35)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(file, transparent=True, metadata={"Date": None})


def _cell(score: Score) -> str:
    return f"{100 * score['right'] // score['asked']}% of {score['asked']}" if score["asked"] else ""
