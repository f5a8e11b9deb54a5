"""The model's card: what it is and is not, how it was made, and what the last evaluation measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from transformers import AutoConfig

from assets.recipe import loss, speed
from assets.recipe.evaluation import COLUMNS, GENERAL, NEW, QUESTIONS, RESULTS, Score, Scores, read_scores
from assets.recipe.loss import Point
from assets.recipe.overlap import overlap
from assets.recipe.targets import GROUPS, TARGETS, met
from assets.recipe.training import TRAINING

PICTURE = "training.svg"
_CARD = Template("""\
---
license: apache-2.0
language: en
pipeline_tag: text-generation
library_name: transformers
---

# lade-chat's demonstration model

A very small chat model that ships with lade-chat, so that the program runs at once and shows what lookahead
decoding does. It has $parameters million parameters: a Llama of $layers layers, $hidden wide, with a
vocabulary of $vocabulary pieces. The weights take $size MB.

What it was meant to reach, and what it reached on questions held out of training ([Evaluation](#evaluation)):

| right replies | wanted | reached | |
| --- | ---: | ---: | --- |
$targets

## What it can do

Sums worked in steps, simple word problems, percentages and units; counting, sorting and copying; lists, tables
and JSON; some two hundred small Python functions; short stories and poems about animals; questions about lade-chat
and lookahead decoding. English only.

## What it is not

It is not a general assistant. It knows next to nothing about the world and is made to say so and to point
to `lade-chat --model-path PATH_OR_HUB_ID`. It makes mistakes within its skills too, as the tables show, and
more of them the further a question is from the phrasings it was trained on. It can also answer with great
confidence something that was not asked. Its text is regular, so speed-ups measured on it say little about
those on a large model.

## How it was made

The recipe in `assets/recipe` composes conversations from templates and grammars, by code and seed alone: no
text was taken from anywhere. The model read $tokens million tokens of them (loss on the $learnt million
tokens of the assistant's turns only) in $minutes minutes on a CPU, in $steps steps with Muon on the matrices
and AdamW on the rest. `python -m assets.recipe --help` lists the steps.

![The training loss by tokens read](training.svg)

The training loss in nats per token, a running mean over some fifty steps, on a logarithmic scale: from $first
after the first $first_tokens million tokens to $loss at the end.$note

The weights are stored in bfloat16; the configuration asks for float32, in which so small a model is fastest
on a CPU.

## Evaluation

Greedy decoding. Numbers, lists of words, some names and made-up words were set aside from training and are asked
here, in phrasings known from training and in phrasings that were set aside too (where a pool is large enough),
put in ways that were set aside as well: greetings, wishes and orders of the parts that training never has.
Follow-ups are asked after the right history. A reply counts only if it is checked to be right: the final number of
sums, code that passes its task's cases, exact lists, stories that end, do not repeat themselves and name what was
asked for. The $questions general questions are from the file `assets/recipe/general_questions.txt`; right is to
decline. None of them is in the corpus, but of the $all_questions in the file $sharing share a content word with one
of the $subjects subjects that the corpus itself declines, and $naming name one of them outright.

| | known phrasing | new phrasing | follow-up |
| --- | ---: | ---: | ---: |
$rows

## Tokens per step

So that nobody mistakes an easy text for a fast method: tokens per step of lookahead decoding on held-out
questions, up to $stepped of each kind, each answered from empty tables, beside how sure the model is of its own
reply: at 0 nats per token it is certain of every token. Plain decoding has 1 token per step. The figures are no
speed-ups, since a wider step takes longer.

| | nats per token | $ways |
| --- | ---: | $rules |
$paces

*auto* budgets each step by what it costs. So that the figures are the same on any machine, the costs are given
here, not measured, by the number of tokens in a step, in plain steps:

* *CPU*: $cpu
* *GPU*, where a wider step is nearly free: $gpu

*window alone* is the lookahead branch with fixed sizes, W = $window, N = $ngram, G = $guesses, and no other source
of candidates: neither n-grams of the text nor recycled successors.
""")


def write_card(folder: Path, note: str = "") -> None:
    """Write README.md and its picture from the model's own files and a note on its making.

    Raises:
        FileNotFoundError: the evaluation has not been run.
        ValueError: it was run on another checkpoint than the folder's.
    """
    results_file = folder / RESULTS
    if not results_file.exists():
        raise FileNotFoundError(f"{results_file} is missing: run the evaluate step first")
    results = json.loads(results_file.read_text(encoding="utf-8"))
    trained = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
    if results.get("step") != trained["step"]:
        raise ValueError(f"{results_file} is of another checkpoint: run the evaluate step again")
    curve = [Point(*point) for point in trained["curve"]]
    fields = _model_fields(folder) | _training_fields(trained, curve, note)
    fields |= _score_fields(read_scores(results)) | _speed_fields(results["speed"])
    (folder / PICTURE).write_text(loss.draw(curve), encoding="utf-8")
    (folder / "README.md").write_text(_CARD.substitute(fields), encoding="utf-8")


def _model_fields(folder: Path) -> dict[str, object]:
    config = AutoConfig.from_pretrained(folder)
    weights = (folder / "model.safetensors").stat().st_size
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


def _score_fields(scores: Scores) -> dict[str, object]:
    questions = QUESTIONS.read_text(encoding="utf-8").splitlines()
    near = overlap(questions)
    return {
        "targets": "\n".join(_target_lines(scores)), "rows": "\n".join(_score_lines(scores)),
        "questions": scores[GENERAL][NEW].asked, "all_questions": len(questions),
        "sharing": near.sharing, "naming": near.naming, "subjects": near.subjects,
    }  # fmt: skip


def _target_lines(scores: Scores) -> Iterator[str]:
    for target in TARGETS:
        right, asked = target.reached(scores)
        verdict = "met" if met(target, right, asked) else "**missed**"
        # Rounded down, so that what is missed never looks met.
        reached = f"{1000 * right // asked / 10:.1f}% of {asked}" if asked else "not asked"
        yield f"| {target.name} | {target.percent}% | {reached} | {verdict} |"


def _score_lines(scores: Scores) -> Iterator[str]:
    for heading, rows in GROUPS:
        yield f"| **{heading}** | | | |"
        for row in rows:
            yield f"| {row} | " + " | ".join(_cell(scores[row][name]) for name in COLUMNS) + " |"


def _cell(score: Score) -> str:
    return f"{100 * score.right // score.asked}% of {score.asked}" if score.asked else ""


def _speed_fields(paces: Mapping[str, Any]) -> dict[str, object]:
    return {
        "ways": " | ".join(speed.WAYS), "rules": " | ".join("---:" for _ in speed.WAYS),
        "paces": "\n".join(_pace_lines(paces)), "stepped": max(pace["replies"] for pace in paces.values()),
        "cpu": _told(speed.CPU), "gpu": _told(speed.GPU), "window": speed.SIZES.window_size,
        "ngram": speed.SIZES.ngram_size, "guesses": speed.SIZES.guess_set_size,
    }  # fmt: skip


def _told(costs: Mapping[int, float]) -> str:
    return ", ".join(f"{size}: {cost:g}" for size, cost in costs.items())


def _pace_lines(paces: Mapping[str, Any]) -> Iterator[str]:
    for row in (row for _, rows in GROUPS for row in rows if row in paces):
        cells = ["" if rate is None else f"{rate:.2f}" for rate in paces[row]["tokens per step"].values()]
        yield f"| {row} | {paces[row]['nats per token']:.3f} | " + " | ".join(cells) + " |"
