"""Prepares a benchmark: random weights, where wanted, and the prompts of each suite with their reference replies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import torch

from lade_chat.bench.methods.method import Replier
from lade_chat.bench.results.values import SuiteTasks, Task
from lade_chat.engine.comparison.ties import logits_after
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.errors import OutOfMemoryError, PromptError, does_not_fit_message, is_out_of_memory
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol.values import DecodingOptions, Message
from lade_chat.suites.prompts import Question, Suite


def with_random_weights(loaded: LoadedModel, seed: int) -> LoadedModel:
    """Return a model of the same size, device and dtype with random weights, renamed.

    Such a model's text is nearly unpredictable when sampled, and soon repeats itself when greedy. Raises
    OutOfMemoryError if two models do not fit.
    """
    import torch

    model = loaded.model
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            drawn = type(model)(copy.deepcopy(model.config))
        drawn = drawn.to(device=model.device, dtype=model.dtype).eval()
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(does_not_fit_message("A second model with random weights")) from error
    drawn.generation_config = model.generation_config
    info = msgspec.structs.replace(loaded.info, name=f"{loaded.info.name} with random weights")
    return replace(loaded, model=drawn, info=info)


def prepare(
    suite: Suite,
    loaded: LoadedModel,
    options: DecodingOptions,
    system: str | None,
    plain: Callable[[int | None], Replier],
    answered: Callable[[], None],
    seeds: Sequence[int | None] = (None,),
) -> SuiteTasks:
    """Return a suite's tasks, each answered once by plain decoding; its answers are the history of later turns.

    All questions are asked with each seed; ``answered`` is called after every task. Raises PromptError, with the
    suite's name, if a prompt does not fit the model's context.
    """

    def ask(question: Question, seed: int | None) -> Iterator[Task]:
        messages = [Message("system", system)] if system else []
        for turn in question.turns:
            messages.append(Message("user", turn))
            prompt = prompt_for(loaded, messages, options.max_new_tokens, raw=options.raw)
            reply = plain(seed)(prompt.ids, prompt.max_new_tokens)
            yield Task(prompt.ids, prompt.max_new_tokens, reply.ids, seed)
            said = reply.ids[:-1] if reply.ids[-1:] and reply.ids[-1] in loaded.eos_token_ids else reply.ids
            messages.append(Message("assistant", loaded.tokenizer.decode(said, skip_special_tokens=True)))
            answered()

    try:
        tasks = [task for seed, question in product(seeds, suite.questions) for task in ask(question, seed)]
    except PromptError as error:
        raise PromptError(f"Suite {suite.name}: {error}") from None
    scored = [negative_log_likelihood(loaded.model, task) for task in tasks]
    nats, tokens = (sum(values) for values in zip(*scored, strict=True))
    return SuiteTasks(suite.name, tuple(tasks), nats / tokens, suite.benchmark)


def negative_log_likelihood(model: Any, task: Task) -> tuple[float, int]:
    """Return the reference reply's negative log-likelihood in nats, from one forward pass, and its number of tokens."""
    reply = torch.tensor(task.reference, device=model.device)
    rows = logits_after(model, [*task.ids, *task.reference[:-1]], len(task.reference))
    chosen = torch.log_softmax(rows.float(), dim=-1).gather(-1, reply[:, None])
    return -float(chosen.sum()), len(task.reference)
