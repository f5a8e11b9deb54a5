"""The model's card: what it is and is not, how it was made, and what the last evaluation measured."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

from transformers import AutoConfig

from assets.recipe.evaluation import COLUMNS, NEW, RESULTS

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

## What it can do

Sums worked in steps, simple word problems, percentages and units; counting, sorting and copying; lists,
tables and JSON; small Python functions; short stories and poems about animals; questions about lade-chat
and lookahead decoding. English only.

## What it is not

It is not a general assistant. It knows next to nothing about the world and is made to say so and to point
to `lade-chat --model_path PATH_OR_HUB_ID`. It makes mistakes within its skills too, as the table shows, and
more of them the further a question is from the phrasings it was trained on. It can also answer with great
confidence something that was not asked. Its text is regular, so speed-ups measured on it say little about
those on a large model.

## How it was made

The recipe in `assets/recipe` composes conversations from templates and grammars, by code and seed alone: no
text was taken from anywhere. The model read $tokens million tokens of them (loss on the $learnt million
tokens of the assistant's turns only) in $minutes minutes on one thread of a CPU, in $steps steps with Muon
on the matrices and AdamW on the rest; the training loss at the end was $loss. `python -m assets.recipe
--help` lists the steps.$note

The weights are stored in bfloat16; the configuration asks for float32, in which so small a model is fastest
on a CPU.

## Evaluation

Greedy decoding. Numbers and lists of words were set aside from training and are asked here, in phrasings known
from training and in phrasings that were set aside too (where a pool is large enough). Single words and names are
not set aside, since a model never writes what it has never once written. Follow-ups are asked after the right
history. A reply counts only if it is checked to be right: the final number of sums, code that passes its task's
cases, exact lists, stories that end, do not repeat themselves and name what was asked for. The $questions general
questions are the file `assets/recipe/general_questions.txt`; right is to decline.

| | known phrasing | new phrasing | follow-up |
| --- | ---: | ---: | ---: |
$rows
""")


def write_card(folder: Path, note: str = "") -> None:
    """Write README.md from the model's own files and a note on its making; the evaluation has to have been run."""
    results = folder / RESULTS
    if not results.exists():
        raise FileNotFoundError(f"{results} is missing: run the evaluate step first")
    scores = json.loads(results.read_text(encoding="utf-8"))
    trained = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    config = AutoConfig.from_pretrained(folder)
    weights = (folder / "model.safetensors").stat().st_size
    rows = [
        f"| {row} | " + " | ".join(_cell(columns[name]) for name in COLUMNS) + " |" for row, columns in scores.items()
    ]
    card = _CARD.substitute(
        parameters=f"{weights / 2e6:.1f}", layers=config.num_hidden_layers, hidden=config.hidden_size,
        vocabulary=config.vocab_size,
        size=f"{weights / 1e6:.1f}", tokens=f"{trained['tokens'] / 1e6:.1f}",
        learnt=f"{trained['learnt'] / 1e6:.1f}",
        note=f"\n\n{note}" if note else "",
        minutes=f"{trained['seconds'] / 60:.0f}", steps=trained["step"], loss=f"{trained['loss']:.3f}",
        rows="\n".join(rows),
        questions=scores["general questions (declined)"][NEW]["asked"],
    )  # fmt: skip
    (folder / "README.md").write_text(card, encoding="utf-8")


def _cell(score: dict[str, int]) -> str:
    right, asked = score["right"], score["asked"]
    return f"{100 * right / asked:.0f}% of {asked}" if asked else ""
