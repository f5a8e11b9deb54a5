"""Makes suites ready for a model: prompts as ids, plain decoding's answers, and how hard they are to guess."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from lade_chat.bench.methods import Replier
from lade_chat.bench.values import Question, Suite, SuiteTasks, Task
from lade_chat.engine.conversation import build_prompt
from lade_chat.errors import PromptError
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol import DecodingOptions, Message


def prepare(
    suite: Suite,
    loaded: LoadedModel,
    options: DecodingOptions,
    system: str | None,
    plain: Callable[[], Replier],
    answered: Callable[[], None],
) -> SuiteTasks:
    """A suite's tasks, each answered once by plain decoding, whose answers are the history of later turns.

    ``answered`` is called after every task. Raises PromptError, with the suite's name, if a prompt does not fit the
    model's context.
    """
    tasks: list[Task] = []
    for question in suite.questions:
        try:
            tasks += _tasks(question, loaded, options, system, plain, answered)
        except PromptError as error:
            raise PromptError(f"Suite {suite.name}: {error}") from None
    nats = [
        sum(values) for values in zip(*(negative_log_likelihood(loaded.model, task) for task in tasks), strict=True)
    ]
    return SuiteTasks(suite.name, tuple(tasks), nats[0] / nats[1])


def _tasks(
    question: Question,
    loaded: LoadedModel,
    options: DecodingOptions,
    system: str | None,
    plain: Callable[[], Replier],
    answered: Callable[[], None],
) -> list[Task]:
    messages = [Message("system", system)] if system else []
    tasks = []
    for turn in question.turns:
        messages.append(Message("user", turn))
        prompt = build_prompt(
            messages,
            loaded.tokenizer,
            raw=options.raw,
            context_window=loaded.info.context_window,
            max_new_tokens=options.max_new_tokens,
        )
        reply = plain()(prompt.ids, prompt.max_new_tokens)
        tasks.append(Task(prompt.ids, prompt.max_new_tokens, reply.ids))
        messages.append(Message("assistant", loaded.tokenizer.decode(reply.ids, skip_special_tokens=True)))
        answered()
    return tasks


def negative_log_likelihood(model: Any, task: Task) -> tuple[float, int]:
    """Of the reference reply under the model: the sum in nats, from one forward pass, and the number of tokens."""
    reply = torch.tensor(task.reference, device=model.device)
    rows = logits_after(model, [*task.ids, *task.reference[:-1]], len(task.reference))
    chosen = torch.log_softmax(rows.float(), dim=-1).gather(-1, reply[:, None])
    return -float(chosen.sum()), len(task.reference)


@torch.inference_mode()
def logits_after(model: Any, ids: Sequence[int], rows: int = 1) -> torch.Tensor:
    """The logits after each of the last ``rows`` tokens, read in one plain forward pass. Shape (rows, vocabulary)."""
    selects = "logits_to_keep" in inspect.signature(model.forward).parameters
    arguments = {"logits_to_keep": rows} if selects else {}
    input_ids = torch.tensor([list(ids)], device=model.device)
    logits: torch.Tensor = model(input_ids=input_ids, use_cache=False, **arguments).logits[0, -rows:]
    return logits
