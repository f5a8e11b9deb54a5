"""Prepares the prompts of each suite with their reference replies, runs all methods on every prompt, and compares."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any

import msgspec
import torch

from lade_chat.bench.methods.all_methods import Method, Replier
from lade_chat.bench.plan import Plan
from lade_chat.bench.results.measurements import MethodRun, ReplyDifference, SuiteTasks, Task, seed_of_draws
from lade_chat.engine.comparison.ties import TieOf, first_difference, logits_after
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.errors import LadeChatError, PromptError, fitting, is_out_of_memory, summary
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.values import Message
from lade_chat.suites.prompts import Question, Suite


def with_random_weights(loaded: LoadedModel, seed: int) -> LoadedModel:
    """Return a model of the same size, device and dtype with random weights, renamed.

    Such a model's text is nearly unpredictable when sampled, and soon repeats itself when greedy. Raises
    OutOfMemoryError if two models do not fit.
    """
    model = loaded.model
    with fitting("A second model with random weights"), torch.random.fork_rng():
        torch.manual_seed(seed)
        drawn = type(model)(copy.deepcopy(model.config))
        drawn = drawn.to(device=model.device, dtype=model.dtype).eval()
    drawn.generation_config = model.generation_config
    info = msgspec.structs.replace(loaded.info, name=f"{loaded.info.name} with random weights")
    return replace(loaded, model=drawn, info=info)


def prepare(
    suite: Suite,
    loaded: LoadedModel,
    plan: Plan,
    plain: Callable[[int | None], Replier],
    seeds: Sequence[int | None],
    answered: Callable[[str], None],
) -> SuiteTasks:
    """Return a suite's tasks, each answered once by plain decoding; its answers are the history of later turns.

    All questions are asked with each seed; ``answered`` is called with the suite's name after every task. Raises
    PromptError, with the suite's name, if a prompt does not fit the model's context.
    """
    options = plan.options

    def ask(question: Question, seed: int | None) -> Iterator[Task]:
        messages = [Message("system", plan.system)] if plan.system else []
        for turn in question.turns:
            messages.append(Message("user", turn))
            prompt = prompt_for(loaded, messages, options.max_new_tokens, raw=options.raw)
            reply = plain(seed)(prompt.ids, prompt.max_new_tokens)
            yield Task(prompt.ids, prompt.max_new_tokens, reply.ids, seed)
            said = reply.ids[:-1] if reply.ids[-1:] and reply.ids[-1] in loaded.eos_token_ids else reply.ids
            messages.append(Message("assistant", loaded.tokenizer.decode(said, skip_special_tokens=True)))
            answered(suite.name)

    try:
        tasks = [task for seed, question in product(seeds, suite.questions) for task in ask(question, seed)]
    except PromptError as error:
        raise PromptError(f"Suite {suite.name}: {error}") from None
    nats = 0.0
    for task in tasks:
        rows = logits_after(loaded.model, [*task.ids, *task.reference[:-1]], len(task.reference))
        reply = torch.tensor(task.reference, device=loaded.model.device)
        nats -= float(torch.log_softmax(rows.float(), dim=-1).gather(-1, reply[:, None]).sum())
    tokens = sum(len(task.reference) for task in tasks)
    return SuiteTasks(suite.name, tuple(tasks), nats / tokens, suite.benchmark)


def measure(
    suites: Sequence[SuiteTasks],
    methods: Sequence[Method],
    repeats: int,
    left_out: dict[str, str],
    *,
    decoding_only: bool = False,
) -> Iterator[MethodRun]:
    """Run every task by every method, ``repeats`` times; a method that learns runs warm and cold.

    Warm tables have seen the suite's earlier prompts in this repeat; cold ones are fresh for every prompt. Every
    repeat and every seed starts from fresh tables, so no tables see a prompt twice. The order of the methods rotates
    from prompt to prompt and from repeat to repeat. A method that refuses a prompt is added to ``left_out`` with the
    reason, and runs no more. With ``decoding_only`` tasks whose reply ends with its first token are passed over.
    """
    entries = [(method, tables) for method in methods for tables in method.entries]
    for repeat in range(repeats):
        for suite in suites:
            for seed, tasks in groupby(enumerate(suite.tasks), key=lambda task: task[1].seed):
                kept: dict[str, Replier] = {method.name: method.open(seed) for method in methods if method.learns}
                for prompt, task in tasks:
                    if decoding_only and len(task.reference) < 2:
                        continue
                    first = (prompt + repeat) % len(entries)
                    for method, tables in [*entries[first:], *entries[:first]]:
                        if method.name in left_out:
                            continue
                        try:
                            reply = kept[method.name] if tables == "warm" else method.open(seed)
                            answer = reply(task.ids, task.max_new_tokens)
                            if decoding_only and not answer.decoding_tokens:
                                raise LadeChatError("no token after its reply's first was timed")
                        except Exception as error:
                            if not is_refusal(method, error):
                                raise
                            where = f"{suite.name} {prompt % suite.prompts + 1}"
                            left_out[method.name] = f"{where}: {summary(error)}"
                            continue
                        yield MethodRun(method.name, tables, suite.name, prompt, repeat, answer, decoding_only)


def is_refusal(method: Method, error: Exception) -> bool:
    """Return True if an error leaves out the method: any model may be given, and generate fails in many ways."""
    return method.may_refuse and not is_out_of_memory(error)


def count(suites: Sequence[SuiteTasks], methods: Sequence[Method], repeats: int) -> int:
    """Count the runs that :func:`measure` yields."""
    return repeats * sum(len(suite.tasks) for suite in suites) * sum(len(method.entries) for method in methods)


def differences(runs: Iterable[MethodRun], suites: Sequence[SuiteTasks], tie: TieOf) -> list[ReplyDifference]:
    """Return the distinct replies that differ from the reference; ``tie`` comes from :func:`tie_of`."""
    tasks: Mapping[str, Sequence[Task]] = {suite.name: suite.tasks for suite in suites}
    counted: Counter[tuple[Any, ...]] = Counter()
    for run in runs:
        reference, reply = tasks[run.suite][run.prompt].reference, run.reply.ids
        position = first_difference(reference, reply)
        if position is not None:
            expected, other = (next(iter(side[position : position + 1]), None) for side in (reference, reply))
            counted[run.method, run.tables, run.suite, run.prompt, position, expected, other] += 1
    found_differences = []
    for (method, tables, suite, prompt, position, expected, other), times in counted.items():
        gap = ulps = None
        if expected is not None and other is not None:
            task = tasks[suite][prompt]
            text = [*task.ids, *task.reference[:position]]
            gap, ulps = tie(text, seed_of_draws(task.seed, task.ids), expected, other) or (None, None)
        found_differences.append(
            ReplyDifference(method, tables, suite, prompt, position, expected, other, gap, ulps, times)
        )
    return found_differences
