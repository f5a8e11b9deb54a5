"""Training: Muon on the matrices, AdamW on the rest, loss on the assistant's tokens only, checkpoints."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from assets.recipe.model import Shape, build
from assets.recipe.packing import Batch, Packer
from assets.recipe.tokenizer import ChatTokenizer

LOG = "log.jsonl"
TRAINING = "training.json"
_CHECKPOINT = "checkpoint.pt"
_COLUMNS = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn())


@dataclass(frozen=True)
class Schedule:
    """How long to train (the bound that comes first), and the learning rate: warm-up, stable, linear decay.

    The warm-up is in steps, the decay a share of the run.
    """

    minutes: float | None = None
    steps: int | None = None
    warm_up: int = 60
    decay: float = 0.4

    def progress(self, step: int, seconds: float) -> float:
        """How much of the run is done, from 0 to 1 and beyond."""
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_time, by_steps)

    def factor(self, step: int, seconds: float) -> float:
        """What the peak learning rates are multiplied by."""
        left = max(0.0, 1.0 - self.progress(step, seconds))
        return min(1.0, (step + 1) / self.warm_up) * max(0.01, min(1.0, left / self.decay))


@dataclass(frozen=True)
class Plan:
    """A run's settings: where, what and how fast; `start` is a model folder whose weights a new run goes on from."""

    work: Path
    shape: Shape
    schedule: Schedule
    seed: int = 0
    tokens: int = 3072
    longest: int = 2048
    muon_rate: float = 0.004
    adam_rate: float = 1.3e-3
    compiled: bool = False
    start: Path | None = None
    save_every_seconds: float = 150.0


@dataclass
class State:
    """How far a run has come: steps, seconds, tokens read and learnt from, next conversation, loss."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    learnt: int = 0
    next_index: int = 0
    loss: float = float("nan")


class Trainer:
    """One model with its optimisers and its place in the corpus."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tokenizer = ChatTokenizer(plan.work)
        self.model = build(plan.shape, len(self.tokenizer), self.tokenizer.end_id, plan.seed)
        self.state, self.begun = State(), State()
        matrices = [p for p in self.model.model.layers.parameters() if p.ndim == 2]
        rest = [p for p in self.model.parameters() if all(p is not matrix for matrix in matrices)]
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=plan.muon_rate),
            torch.optim.AdamW(rest, lr=plan.adam_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]
        self._peaks = (plan.muon_rate, plan.adam_rate)
        backbone: Any = self.model.model
        self._backbone: Callable[..., Any] = torch.compile(backbone, dynamic=False) if plan.compiled else backbone
        if (plan.work / _CHECKPOINT).exists():
            self._resume()
        else:
            # A log left by an earlier run is not this run's.
            (plan.work / LOG).unlink(missing_ok=True)
            if plan.start:
                self._go_on_from(plan.start)

    def train(self) -> State:
        """Train until the schedule is through; saves on the way and at the end."""
        plan, state = self.plan, self.state
        packer = Packer(self.tokenizer, plan.seed, state.next_index, plan.tokens, plan.longest)
        begun, before = time.monotonic(), state.seconds
        saved = begun
        with Progress(*_COLUMNS) as display:
            task = display.add_task("training", total=1.0)
            for batch in packer:
                self._learn(batch, packer.next_index)
                now = time.monotonic()
                state.seconds = before + now - begun
                progress = plan.schedule.progress(*self._done())
                _show(display, task, state, progress)
                if now - saved > plan.save_every_seconds or progress >= 1:
                    self.save()
                    saved = now
                if progress >= 1:
                    return state
        raise AssertionError("the corpus never ends")

    def _learn(self, batch: Batch, next_index: int) -> None:
        """One optimiser step; the loss kept is a running mean over about the last fifty."""
        factor = self.plan.schedule.factor(*self._done())
        for optimiser, peak in zip(self.optimisers, self._peaks, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = peak * factor
        loss = self._loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        state, value = self.state, float(loss.detach())
        state.loss = value if state.step == 0 else state.loss + (value - state.loss) / min(50, state.step + 1)
        state.step += 1
        state.tokens += batch.ids.numel()
        state.learnt += int((batch.labels >= 0).sum())
        state.next_index = next_index

    def _loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy over the learnt ids; the head runs on the positions before them only."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self._backbone(input_ids=batch.ids, use_cache=False).last_hidden_state
            labels = batch.labels[:, 1:]
            learnt = labels >= 0
            logits = self.model.lm_head(hidden[:, :-1][learnt])
        return nn.functional.cross_entropy(logits.float(), labels[learnt])

    def save(self) -> None:
        """Write the checkpoint in one move, and a line in the log."""
        work = self.plan.work
        saved = {"model": self.model.state_dict(), "optimisers": [o.state_dict() for o in self.optimisers],
                 "state": asdict(self.state), "begun": asdict(self.begun), "shape": asdict(self.plan.shape),
                 "seed": self.plan.seed}  # fmt: skip
        torch.save(saved, work / f"{_CHECKPOINT}.new")
        os.replace(work / f"{_CHECKPOINT}.new", work / _CHECKPOINT)
        with (work / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(asdict(self.state)) + "\n")

    def _resume(self) -> None:
        saved = torch.load(self.plan.work / _CHECKPOINT, weights_only=True)
        self.model.load_state_dict(saved["model"])
        for optimiser, state in zip(self.optimisers, saved["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        self.state, self.begun = State(**saved["state"]), State(**saved["begun"])

    def _go_on_from(self, folder: Path) -> None:
        """Take the weights and the count of an exported model, and its loss curve; the schedule begins anew."""
        self.model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        told = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
        points = [{"step": step, "tokens": tokens, "loss": loss} for step, tokens, loss in told.pop("curve")]
        self.state, self.begun = State(**told), State(**told)
        (self.plan.work / LOG).write_text("".join(json.dumps(point) + "\n" for point in points), encoding="utf-8")

    def _done(self) -> tuple[int, float]:
        """Steps and seconds since this run began."""
        return self.state.step - self.begun.step, self.state.seconds - self.begun.seconds


def _show(display: Progress, task: TaskID, state: State, progress: float) -> None:
    told = f"step {state.step}, loss {state.loss:.3f}, {state.tokens / 1e6:.2f} M tokens"
    display.update(task, completed=progress, description=told)


def load_trained(work: Path) -> tuple[LlamaForCausalLM, State]:
    """The model of the last checkpoint, and how far it had come."""
    saved = torch.load(work / _CHECKPOINT, weights_only=True)
    tokenizer = ChatTokenizer(work)
    model = build(Shape(**saved["shape"]), len(tokenizer), tokenizer.end_id, saved["seed"])
    model.load_state_dict(saved["model"])
    return model, State(**saved["state"])
