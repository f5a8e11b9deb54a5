"""The examiner: asks the exported model what was held out of training, counts the replies that check."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from assets.recipe import corpus
from assets.recipe.conversation import Check, Exchange, Message, messages
from assets.recipe.skills.declining import declines

QUESTIONS = Path(__file__).with_name("general_questions.txt")
RESULTS = "evaluation.json"
_BATCH = 16


@dataclass(frozen=True)
class Trial:
    """A prompt, the check that its reply has to pass, and the row of the table it counts for."""

    row: str
    prompt: list[Message]
    check: Check


@dataclass
class Score:
    """How many of a row's replies were right."""

    right: int = 0
    asked: int = 0


Reply = Callable[[list[list[Message]]], list[str]]


class Responder:
    """The exported model, answering prompts greedily in batches."""

    def __init__(self, folder: Path, longest: int = 420) -> None:
        # Loaded as users load it: what is examined is the folder that ships.
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._model: Any = AutoModelForCausalLM.from_pretrained(folder)
        self._longest = longest

    def __call__(self, prompts: list[list[Message]]) -> list[str]:
        """A reply to each prompt."""
        texts = [self._prompt(prompt) for prompt in prompts]
        encoded = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        width = max(map(len, encoded))
        ids = torch.tensor([[0] * (width - len(row)) + row for row in encoded])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in encoded])
        with torch.inference_mode():
            out = self._model.generate(ids, attention_mask=mask, max_new_tokens=self._longest, do_sample=False)
        return [str(self._tokenizer.decode(row[width:], skip_special_tokens=True)) for row in out]

    def _prompt(self, prompt: list[Message]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in prompt]
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))


def trials(count: int) -> list[Trial]:
    """Held-out conversations of every skill, each turn after the right history; then general questions."""
    found: list[Trial] = []
    for skill in corpus.SKILLS:
        for index in range(count):
            exchanges = skill.compose(corpus.draw_for(f"evaluation/{skill.name}", index, held_out=True))
            found += _turns(skill.name, exchanges)
    questions = QUESTIONS.read_text(encoding="utf-8").splitlines()[: 4 * count]
    found += [Trial("general questions (declined)", [Message("user", question)], declines()) for question in questions]
    return found


def _turns(skill: str, exchanges: list[Exchange]) -> list[Trial]:
    turns = []
    for at, exchange in enumerate(exchanges):
        if exchange.check is not None:
            prompt = messages(exchanges[: at + 1])[:-1]
            turns.append(Trial(f"{skill}, follow-up" if exchange.follow_up else skill, prompt, exchange.check))
    return turns


def examine(asked: Sequence[Trial], reply: Reply) -> tuple[dict[str, Score], list[dict[str, str]]]:
    """The scores by row, and the replies that were wrong."""
    scores: dict[str, Score] = {trial.row: Score() for trial in asked}
    wrong: list[dict[str, str]] = []
    by_length = sorted(asked, key=lambda trial: sum(len(message.content) for message in trial.prompt))
    for start in range(0, len(by_length), _BATCH):
        batch = by_length[start : start + _BATCH]
        for trial, answer in zip(batch, reply([trial.prompt for trial in batch]), strict=True):
            scores[trial.row].asked += 1
            if trial.check(answer):
                scores[trial.row].right += 1
            else:
                wrong.append({"row": trial.row, "asked": trial.prompt[-1].content, "reply": answer})
    return scores, wrong


def evaluate(folder: Path, count: int, longest: int = 420) -> dict[str, Score]:
    """Examine the model in the folder, leave the scores beside it, and return them."""
    scores, wrong = examine(trials(count), Responder(folder, longest))
    table = {row: {"right": score.right, "asked": score.asked} for row, score in scores.items()}
    (folder / RESULTS).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    for entry in wrong[:: max(1, len(wrong) // 40)]:
        print(f"wrong ({entry['row']}): {entry['asked']!r} -> {entry['reply']!r}")
    for row, score in scores.items():
        print(f"{row:36} {score.right:4} / {score.asked}")
    return scores
