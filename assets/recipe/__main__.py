"""The recipe's command line: `python -m assets.recipe STEP`; with `--quick`, every step in one go.

What needs torch and transformers is imported in the steps: loading them takes seconds, and a sample needs neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assets.recipe import corpus, tokenizer
from assets.recipe.conversation import messages

_ASSETS = Path(__file__).resolve().parents[1]
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Seed = Annotated[int, typer.Option(help="Seed of corpus and weights.")]
Work = Annotated[Path, typer.Option(help="Folder for tokenizer, checkpoints and log.")]
Out = Annotated[Path, typer.Option(help="Folder for the finished model.")]
Threads = Annotated[int, typer.Option(help="Torch threads.")]
_WORK, _OUT = _ASSETS / ".work", _ASSETS / "model"


@app.callback(invoke_without_command=True, help=__doc__)
def main(
    context: typer.Context,
    quick: Annotated[bool, typer.Option(help="A tiny model through every step, in seconds.")] = False,
    out: Out = _OUT,
    seed: Seed = 0,
) -> None:
    """Run every step on a tiny model: shows that the chain works, not that the model does."""
    if not quick:
        if context.invoked_subcommand is None:
            print(context.get_help())
        return
    from assets.recipe import evaluation
    from assets.recipe.model import QUICK
    from assets.recipe.training import Plan, Trainer

    work = out / ".work"
    tokenizer.train(work, seed, QUICK.vocabulary, conversations=150)
    Trainer(Plan(work, QUICK, steps=10, warm_up=3, seed=seed, tokens=1152)).train()
    export(work, out)
    evaluation.evaluate(out, count=1, longest=8)
    card(out)


@app.command()
def sample(
    count: int = 10, skill: Annotated[str | None, typer.Option(help="Only this skill's.")] = None, seed: Seed = 0
) -> None:
    """Print composed conversations."""
    for index in range(count):
        draw = corpus.draw_for(seed, index)
        said = messages(corpus.skill_named(skill).compose(draw)) if skill else corpus.conversation(seed, index)
        print(*(f"[{message.role}] {message.content}" for message in said), "-" * 40, sep="\n")


@app.command("tokenizer")
def train_tokenizer(conversations: int = 60_000, work: Work = _WORK, seed: Seed = 0) -> None:
    """Train the tokenizer."""
    tokenizer.train(work, seed, 4096, conversations)


@app.command()
def train(
    minutes: Annotated[float | None, typer.Option(help="Minutes in all, resumed ones included.")] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps in all.")] = None,
    start: Annotated[Path | None, typer.Option(help="A model folder whose weights a new run goes on from.")] = None,
    rate: Annotated[float, typer.Option(help="What the peak learning rates are multiplied by.")] = 1.0,
    decay: Annotated[float, typer.Option(help="The share of the run over which the rates fall.")] = 0.4,
    device: Annotated[str, typer.Option(help="Where the model is trained: cpu, cuda.")] = "cpu",
    tokens: Annotated[int, typer.Option(help="Tokens of a batch.")] = 3072,
    drill: Annotated[float, typer.Option(help="Rows of random pieces to copy, for each conversation.")] = 0.15,
    work: Work = _WORK,
    seed: Seed = 0,
    threads: Threads = 1,
) -> None:
    """Train, or go on training from the last checkpoint."""
    if minutes is None and steps is None:
        raise typer.BadParameter("say how long to train: --minutes or --steps")
    import torch

    from assets.recipe.model import Shape
    from assets.recipe.training import Plan, Trainer

    torch.set_num_threads(threads)
    plan = Plan(
        work, Shape(), minutes, steps, seed, tokens, decay=decay, muon_rate=rate * Plan.muon_rate,
        adam_rate=rate * Plan.adam_rate, start=start, device=device, drill=drill,
    )  # fmt: skip
    Trainer(plan).train()


@app.command()
def export(work: Work = _WORK, out: Out = _OUT) -> None:
    """Write the last checkpoint as a model folder."""
    from assets.recipe import model, training

    model.export(*training.load_trained(work), work, out)


@app.command()
def evaluate(count: int = 40, out: Out = _OUT, threads: Threads = 1) -> None:
    """Examine the exported model: 300 prompts, COUNT conversations a skill."""
    import torch

    from assets.recipe import evaluation

    torch.set_num_threads(threads)
    evaluation.evaluate(out, count)


@app.command()
def card(out: Out = _OUT, note: Annotated[str, typer.Option(help="A remark on how this model was made.")] = "") -> None:
    """Write the model's card from the last evaluation (needs matplotlib)."""
    from assets.recipe.card import write_card

    write_card(out, note)


if __name__ == "__main__":
    app()
