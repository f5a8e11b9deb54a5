"""The examiner: asks the exported model what was held out of training, counts the replies that check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

import rich
from rich.progress import track
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer

from assets.recipe import corpus
from assets.recipe.conversation import Exchange, Message, messages, thinned
from assets.recipe.model import TRAINING
from assets.recipe.skills.writing.talk import declines
from assets.recipe.unseen import unseen
from assets.recipe.words import TEXTS
from decoding import AutoregressiveDecoder

QUESTIONS = TEXTS / "general_questions.txt"
RESULTS = "evaluation.json"
COLUMNS = UNSEEN, KNOWN, NEW, FOLLOW_UP = ("unseen prompts", "known phrasing", "new phrasing", "follow-up")
GENERAL, LONG = "general questions (declined)", "any skill, after more than 1,000 tokens"
COPIES = "copies the user's own words"
ENDS, ANSWERS = "ends by itself within 300 tokens", "does not decline what it can do"
_ENDS_WITHIN = 300
_REFERS = "--model"
_LONG_CHARACTERS = 3600
_SHOWN = 40


@dataclass(frozen=True)
class Trial:
    """A prompt, the exchange that it ends with, and where in the table its reply counts."""

    row: str
    column: str
    prompt: list[Message]
    exchange: Exchange


@dataclass(frozen=True)
class Answer:
    """A reply of the model, and the fact of its ending by itself, soon enough."""

    text: str
    ended: bool


class Score(TypedDict):
    """The number of right replies among those asked for."""

    right: int
    asked: int


Scores = dict[str, dict[str, Score]]


class Responder:
    """The exported model, answering prompts greedily by plain decoding."""

    def __init__(self, folder: Path, longest: int = 320) -> None:
        # Loaded as users load it: what is examined is the folder that ships.
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        model: Any = AutoModelForCausalLM.from_pretrained(folder)
        self._ends: list[int] = model.generation_config.eos_token_id
        self._decoder, self._longest = AutoregressiveDecoder(model), longest

    def __call__(self, prompt: list[Message]) -> Answer:
        """A reply to the prompt."""
        ids = self._tokenizer.apply_chat_template(
            [asdict(message) for message in prompt], add_generation_prompt=True, return_dict=False
        )
        steps = self._decoder.generate(ids, max_new_tokens=self._longest)
        reply = [token for step in steps for token in step.tokens]
        ended = not set(reply[:_ENDS_WITHIN]).isdisjoint(self._ends)
        return Answer(str(self._tokenizer.decode(reply, skip_special_tokens=True)), ended)


def trials(count: int) -> list[Trial]:
    """The second generator's prompts; what was held out, in phrasings known from training and new; general questions.

    Args:
        count: how many conversations of each skill; at most ten general questions for each, and thirteen prompts.
    """
    found = [_last(skill, UNSEEN, [exchange]) for skill, exchange in thinned(unseen(), 13 * count)]
    for skill in corpus.SKILLS:
        for index in range(count):
            known, new = (corpus.draw_for(f"evaluation/{skill.name}", index, True, known) for known in (True, False))
            found += _turns(skill.name, skill.compose(known))
            found += _turns(skill.name, skill.compose(new)[:1], NEW)
    # The last question of a conversation of more than a thousand pieces.
    draws = (corpus.draw_for("evaluation/long", index, True, True) for index in range(count))
    found += [_last(LONG, KNOWN, corpus.long_run(draw, _LONG_CHARACTERS)) for draw in draws]
    for question in QUESTIONS.read_text(encoding="utf-8").splitlines()[: 10 * count]:
        found.append(_last(GENERAL, NEW, [Exchange(question, f"A larger model can: {_REFERS}", declines())]))
    return [trial for trial in found if trial.exchange.check is not None]


def _last(row: str, column: str, exchanges: list[Exchange]) -> Trial:
    """The last of the exchanges, asked after the right history."""
    return Trial(row, column, messages(exchanges)[:-1], exchanges[-1])


def _turns(row: str, exchanges: list[Exchange], column: str = KNOWN) -> list[Trial]:
    so_far = (exchanges[: at + 1] for at in range(len(exchanges)))
    return [_last(row, FOLLOW_UP if some[-1].follow_up else column, some) for some in so_far]


def judge(trial: Trial, answer: Answer) -> dict[str, bool]:
    """Judge the answer, by each row of the table in which it counts, its own first."""
    exchange = trial.exchange
    verdicts = {trial.row: exchange.check is not None and exchange.check(answer.text)}
    if exchange.copied:
        verdicts[COPIES] = all(word in answer.text for word in exchange.copied)
    verdicts[ENDS] = answer.ended
    if _REFERS not in exchange.reply:
        verdicts[ANSWERS] = _REFERS not in answer.text
    return verdicts


def examine(asked: Sequence[Trial], reply: Callable[[list[Message]], Answer]) -> tuple[Scores, list[str]]:
    """The scores by row and column, and a line about each reply that was wrong."""
    right, counted = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    wrong: list[str] = []
    rows = dict.fromkeys(trial.row for trial in asked)
    for trial in track(asked, "asking"):
        answer = reply(trial.prompt)
        verdicts = judge(trial, answer)
        rows |= dict.fromkeys(verdicts)
        counted.update((row, trial.column) for row in verdicts)
        right.update((row, trial.column) for row, verdict in verdicts.items() if verdict)
        if not verdicts[trial.row]:
            wrong.append(f"wrong ({trial.row}): {trial.prompt[-1].content!r} -> {answer.text!r}")
    return {
        row: {column: Score(right=right[row, column], asked=counted[row, column]) for column in COLUMNS} for row in rows
    }, wrong


def evaluate(folder: Path, count: int, longest: int = 320) -> None:
    """Examine the model in the folder, print the figures, and leave them beside it.

    Args:
        folder: an exported model.
        count: how many conversations of each skill are asked.
        longest: the most tokens of a reply.
    """
    scores, wrong = examine(trials(count), Responder(folder, longest))
    print(*thinned(wrong, _SHOWN), sep="\n")
    table = Table("", *COLUMNS)
    for row, found in scores.items():
        table.add_row(row, *(f"{score['right']}/{score['asked']}" for score in found.values()))
    rich.print(table)
    # Which checkpoint the figures are of.
    step = json.loads((folder / TRAINING).read_text(encoding="utf-8"))["step"]
    (folder / RESULTS).write_text(json.dumps({"step": step, "scores": scores}, indent=2) + "\n", encoding="utf-8")
