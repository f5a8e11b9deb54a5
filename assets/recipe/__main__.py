"""The recipe's command line: `python -m assets.recipe STEP`; with `--quick`, every step in one go."""

from __future__ import annotations

import argparse
from pathlib import Path

from assets.recipe import corpus, tokenizer

_ASSETS = Path(__file__).resolve().parents[1]


_COMMON: dict[str, tuple[type, object, str]] = {
    "--seed": (int, 0, "seed of corpus and weights"),
    "--work": (Path, _ASSETS / ".work", "folder for tokenizer, checkpoints and log"),
    "--out": (Path, _ASSETS / "model", "folder for the finished model"),
    "--threads": (int, 1, "torch threads"),
}


def _common(with_defaults: bool) -> argparse.ArgumentParser:
    """The options of every step, before or after its name; a default set twice would undo the first."""
    common = argparse.ArgumentParser(add_help=False)
    for flag, (kind, default, text) in _COMMON.items():
        common.add_argument(flag, type=kind, default=default if with_defaults else argparse.SUPPRESS, help=text)
    return common


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m assets.recipe", description=__doc__, parents=[_common(True)])
    parser.add_argument("--quick", action="store_true", help="a tiny model through every step, in seconds")
    steps = parser.add_subparsers(dest="step")

    def step(name: str, text: str) -> argparse.ArgumentParser:
        return steps.add_parser(name, help=text, parents=[_common(False)])

    sample = step("sample", "print composed conversations")
    sample.add_argument("--count", type=int, default=10)
    sample.add_argument("--skill", help="only this skill's")
    tokens = step("tokenizer", "train the tokenizer")
    tokens.add_argument("--conversations", type=int, default=60_000)
    train = step("train", "train, or go on training from the last checkpoint")
    train.add_argument("--minutes", type=float, help="minutes of training in all, resumed ones included")
    train.add_argument("--steps", type=int, help="optimiser steps in all")
    train.add_argument("--start", type=Path, help="a model folder whose weights a new run goes on from")
    train.add_argument("--rate", type=float, default=1.0, help="what the peak learning rates are multiplied by")
    train.add_argument("--decay", type=float, default=0.4, help="the share of the run over which the rates fall")
    train.add_argument("--compile", action="store_true", help="compile the model (needs a C++ compiler)")
    step("export", "write the last checkpoint as a model folder")
    evaluate = step("evaluate", "examine the exported model on what was held out of training")
    evaluate.add_argument("--count", type=int, default=40, help="conversations a skill")
    evaluate.add_argument("--stepped", type=int, default=12, help="replies a skill for the tokens per step")
    card = step("card", "write the model's card from the last evaluation")
    card.add_argument("--note", default="", help="a remark on how this model was made, under its loss curve")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run one step, or all of them quickly."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.step == "sample":
        _print_sample(options.seed, options.count, options.skill)
    elif options.step == "tokenizer":
        tokenizer.train(options.work, options.seed, 4096, options.conversations)
    elif options.step == "train" and options.minutes is None and options.steps is None:
        parser.error("say how long to train: --minutes or --steps")
    elif options.step or options.quick:
        _run(options)
    else:
        parser.print_help()


def _print_sample(seed: int, count: int, skill: str | None) -> None:
    for index in range(count):
        if skill:
            for exchange in corpus.skill_named(skill).compose(corpus.draw_for(seed, index)):
                print(f"[user] {exchange.ask}\n[assistant] {exchange.reply}")
        else:
            for message in corpus.conversation(seed, index):
                print(f"[{message.role}] {message.content}")
        print("-" * 40)


def _run(options: argparse.Namespace) -> None:
    # Imported here because torch and transformers take seconds to load, and printing a sample needs neither.
    import torch

    from assets.recipe import card, evaluation, export
    from assets.recipe.model import QUICK, Shape
    from assets.recipe.training import Plan, Schedule, Trainer

    torch.set_num_threads(options.threads)
    work, out, seed = options.work, options.out, options.seed
    if options.step == "train":
        schedule = Schedule(options.minutes, options.steps, decay=options.decay)
        rates = {"muon_rate": options.rate * Plan.muon_rate, "adam_rate": options.rate * Plan.adam_rate}
        plan = Plan(work, Shape(), schedule, seed, compiled=options.compile, start=options.start, **rates)
        Trainer(plan).train()
    elif options.step == "export":
        export.export(work, out)
    elif options.step == "evaluate":
        evaluation.evaluate(out, options.count, stepped=options.stepped)
    elif options.step == "card":
        card.write_card(out, options.note)
    else:
        # Every step on a tiny model, in seconds: shows that the chain works, not that the model does.
        work = out / ".work"
        tokenizer.train(work, seed, QUICK.vocabulary, conversations=400)
        Trainer(Plan(work, QUICK, Schedule(steps=20, warm_up=5), seed, tokens=1152)).train()
        export.export(work, out)
        evaluation.evaluate(out, count=1, longest=24, stepped=1)
        card.write_card(out)


if __name__ == "__main__":
    main()
