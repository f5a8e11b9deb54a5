"""Training: Muon (torch 2.9 or newer) on the matrices, AdamW on the rest, loss on the assistant's tokens only."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import torch
from rich.progress import Progress
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaForCausalLM

from assets.recipe import corpus
from assets.recipe.drills import Drills
from assets.recipe.model import LOG, TRAINING, Shape, State, build
from assets.recipe.tokenizer import EOS_ID, ChatTokenizer

_CHECKPOINT = "checkpoint.pt"
_POOL, _NOT_LEARNT = 256, -100
# Without such instructions bfloat16 takes many times as long as float32.
_FAST_BFLOAT16 = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


@dataclass(frozen=True)
class Plan:
    """A run's settings: where, what, how long and how fast; `start` is a model folder whose weights it goes on from.

    It ends by `minutes` or `steps`, whichever bound comes first; the learning rate warms up over so many steps, stays,
    and falls in a line over the last part of the run, `decay`. `drill` is how many rows of pieces at random, to be
    copied, come with each conversation.
    """

    work: Path
    shape: Shape
    minutes: float | None = None
    steps: int | None = None
    seed: int = 0
    tokens: int = 3072
    longest: int = 1024
    warm_up: int = 60
    decay: float = 0.4
    muon_rate: float = 0.004
    adam_rate: float = 1.3e-3
    start: Path | None = None
    device: str = "cpu"
    drill: float = 0.15
    save_every_seconds: float = 150.0

    def progress(self, step: int, seconds: float) -> float:
        """Return the share of the run that is done, from 0 to 1 and beyond."""
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        return max(by_time, step / self.steps if self.steps else 0.0)

    def factor(self, step: int, seconds: float) -> float:
        """Return the factor of the peak learning rates."""
        left = max(0.0, 1.0 - self.progress(step, seconds))
        return min(1.0, (step + 1) / self.warm_up) * max(0.01, min(1.0, left / self.decay))


class Trainer:
    """One model with its optimisers and its place in the corpus."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tokenizer = ChatTokenizer(plan.work)
        self.model = build(plan.shape, len(self.tokenizer), self.tokenizer.end_id, plan.seed)
        nn.Module.to(self.model, plan.device)
        self.state, self.begun = State(), State()
        matrices = [p for p in self.model.model.layers.parameters() if p.ndim == 2]
        rest = [p for p in self.model.parameters() if all(p is not matrix for matrix in matrices)]
        self._peaks = (plan.muon_rate, plan.adam_rate)
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=plan.muon_rate, weight_decay=0.1),
            torch.optim.AdamW(rest, lr=plan.adam_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]
        # On a CPU torch's fused attention takes twice as long as the plain one, backwards, over rows this short.
        if plan.device == "cpu":
            self.model.set_attn_implementation("eager")
        if (plan.work / _CHECKPOINT).exists():
            self._resume()
        else:
            # A log left by an earlier run is not this run's.
            (plan.work / LOG).unlink(missing_ok=True)
            if plan.start:
                self._go_on_from(plan.start)

    def train(self) -> State:
        """Train until the plan is through; saves on the way and at the end."""
        plan, state = self.plan, self.state
        before, saved = time.monotonic() - state.seconds, time.monotonic()
        with Progress() as display:
            task = display.add_task("training", total=1.0)
            for ids, labels, next_index in batches(self.tokenizer, plan, state.next_index):
                self._learn(ids, labels)
                state.next_index = next_index
                now = time.monotonic()
                state.seconds = now - before
                progress = plan.progress(*self._done())
                told = f"step {state.step}, loss {state.loss:.3f}, {state.tokens / 1e6:.2f} M tokens"
                display.update(task, completed=progress, description=told)
                if now - saved > plan.save_every_seconds or progress >= 1:
                    self.save()
                    saved = now
                if progress >= 1:
                    return state
        raise AssertionError("the corpus never ends")

    def _learn(self, ids: Tensor, labels: Tensor) -> None:
        """One optimiser step; the loss kept is a running mean over about the last fifty."""
        factor = self.plan.factor(*self._done())
        for optimiser, peak in zip(self.optimisers, self._peaks, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = peak * factor
        loss = self._loss(ids.to(self.plan.device), labels.to(self.plan.device))
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        state, value = self.state, float(loss.detach())
        state.loss = value if state.step == 0 else state.loss + (value - state.loss) / min(50, state.step + 1)
        state.step += 1
        state.tokens += ids.numel()
        state.learnt += int((labels >= 0).sum())

    def _loss(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy over the learnt ids; the head runs on the positions before them only."""
        with torch.autocast(
            self.plan.device, dtype=torch.bfloat16, enabled=_FAST_BFLOAT16 or self.plan.device != "cpu"
        ):
            hidden = self.model.model(input_ids=ids, use_cache=False).last_hidden_state
            learnt = labels[:, 1:] >= 0
            logits = self.model.lm_head(hidden[:, :-1][learnt])
        return nn.functional.cross_entropy(logits.float(), labels[:, 1:][learnt])

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
        saved = torch.load(self.plan.work / _CHECKPOINT, weights_only=True, map_location=self.plan.device)
        self.model.load_state_dict(saved["model"])
        for optimiser, state in zip(self.optimisers, saved["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        self.state, self.begun = State(**saved["state"]), State(**saved["begun"])

    def _go_on_from(self, folder: Path) -> None:
        """Take the weights and the count of an exported model, and its loss curve; the plan begins anew."""
        self.model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        told = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
        points = [{"step": step, "tokens": tokens, "loss": loss} for step, tokens, loss in told.pop("curve")]
        self.state, self.begun = State(**told), State(**told)
        (self.plan.work / LOG).write_text("".join(json.dumps(point) + "\n" for point in points), encoding="utf-8")

    def _done(self) -> tuple[int, float]:
        """Steps and seconds since this run began."""
        return self.state.step - self.begun.step, self.state.seconds - self.begun.seconds


def batches(tokenizer: ChatTokenizer, plan: Plan, start: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Conversations from number `start` on, those of about one length side by side, padded at the end, in any order.

    A row is one conversation or a drill, so attention needs no mask beyond the causal one: what is padded comes last.

    Yields:
        ids and labels (-100: not learnt), both (rows, length) of about `plan.tokens` in all; and the number of the
        conversation after the pool that the batch is of.
    """
    drills = Drills(tokenizer)
    while True:
        pool = [tokenizer.chat(corpus.conversation(plan.seed, index)) for index in range(start, start + _POOL)]
        pool += [drills.row(Random(f"{plan.seed}/{start}/{at}")) for at in range(int(_POOL * plan.drill))]
        rows = sorted(((ids[: plan.longest], learnt) for ids, learnt in pool), key=lambda row: len(row[0]))
        groups: list[list[tuple[Tensor, Tensor]]] = [[]]
        for ids, learnt in rows:
            if groups[-1] and (len(groups[-1]) + 1) * len(ids) > plan.tokens:
                groups.append([])
            row = torch.tensor(ids)
            groups[-1].append((row, row.masked_fill(~torch.tensor(learnt[: plan.longest]), _NOT_LEARNT)))
        Random(start).shuffle(groups)
        start += _POOL
        for group in groups:
            some, labels = zip(*group, strict=True)
            yield pad_sequence(list(some), True, EOS_ID), pad_sequence(list(labels), True, _NOT_LEARNT), start


def load_trained(work: Path) -> tuple[LlamaForCausalLM, State]:
    """The model of the last checkpoint, and how far it had come."""
    saved = torch.load(work / _CHECKPOINT, weights_only=True, map_location="cpu")
    tokenizer = ChatTokenizer(work)
    model = build(Shape(**saved["shape"]), len(tokenizer), tokenizer.end_id, saved["seed"])
    model.load_state_dict(saved["model"])
    return model, State(**saved["state"])
