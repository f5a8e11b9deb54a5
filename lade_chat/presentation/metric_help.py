"""Help texts of the metrics: the definition of each, for tooltips and the manual."""

from __future__ import annotations

from collections.abc import Iterable

from lade_chat.presentation.sources import SOURCES

METRIC_HELP: dict[str, str] = {
    # Of a reply.
    "tok/s": "the reply's tokens by the seconds of its steps, reading the prompt included. The clock runs only during"
    " steps: it stands while a reply is paused, and drawing the screen is not timed.",
    "now": "tok/s over the last second of steps.",
    "tokens/step": "the reply's tokens by the times the model was run; plain decoding has 1. The paper calls it step"
    " compression, S.",
    "verified": "the share of the reply's tokens that were guessed before the step that settled them, and were what"
    " the model chose in it.",
    "guesses save nothing": "at most one step in five verified anything, and tokens/step stayed below 1.1. Lookahead"
    " guesses only where that is expected to save time on this machine: nothing was likely enough in this text, as"
    " often in a first reply, or a step over several tokens is slow here just now. It tries again as the reply goes"
    " on.",
    "first token": "seconds to the first token: what reading the prompt takes.",
    "tokens in seconds": "the reply's length, and the seconds of its steps, reading the prompt included.",
    "context": "tokens of the prompt and the reply, out of the most that the model can hold.",
    "summary": "input: tokens of the prompt. Throughput: generated tokens by time. Compression ratio: generated"
    " tokens by steps. Time as for tok/s.",
    # Of the debug panel.
    "speed-up over plain": "how much longer plain decoding would have taken: a plain step's time for each token after"
    " the first, over the seconds since the first. It is the next metric, times a plain step's time, by a step's.",
    "tokens/later step": "tokens per step without the first step, which reads the prompt and yields one token.",
    "a step takes": "the mean of the reply's steps, but for the first, which reads the prompt.",
    "a plain step takes": "the mean of the reply's own plain steps, if there are eight; else of plain steps"
    " measured beside it, after the first token and at the end.",
    "steps that guessed": "the reply's steps that verified something, of those with lookahead on.",
    "tokens per forward": "what the model read in the step shown: the last token, the window, the candidates.",
    "candidates": "guesses that the step shown verified.",
    "window (W × N)": "the window of the step shown: its columns, and the length of the n-grams that it yields. None"
    " where it has not paid of late: then guesses come from context and successor alone.",
    "n-grams in the pool": "what the window's iterations have left so far; those not used for longest go first.",
    "verified from": "how many of the reply's verified tokens each source had guessed: "
    + "; ".join(f"{name} is {source.place}" for name, source in SOURCES.items())
    + ".",
    "guesses kept · steps": "how many of the reply's steps accepted 0, 1, 2 … guesses.",
    "sparklines": "tok/s now and tokens per step, a column for each time the engine told of the reply, up to 20 times"
    " a second; the number is the latest.",
    # Of the inspector's views of one step.
    "window": "the tokens of the step's window as they went into it; “new” is what the model chose behind each column.",
    "candidate tree": "each guess with its source, and how likely the budget took the whole path to it to be accepted,"
    " from how often that source was right before.",
    "sources": "of the guesses behind nothing but accepted ones, how many were accepted since the reply"
    " began; and what the tables hold now.",
    "budget": "the curve: what a step over so many candidates takes, in plain steps, measured on this machine. It took"
    " the number with the most expected tokens for the time.",
    # Of a race.
    "race clock": "each side's clock runs only during its own steps, and each reads the prompt itself. tok/s and"
    " tokens are its own, as in a reply; a step is one run of the model. Both start from what earlier replies have"
    " taught, none of them an answer to this question; over a suite, with nothing learnt.",
    "race track": "tokens so far, towards the end of the side that has finished, else towards the one ahead. The"
    " little columns are its tok/s, on one scale for both sides.",
    "race result": "one side's seconds over the other's. Within 2% they are called even: clocks are no better."
    " Sides that took as many steps, the slower one without a guess, did the same work: neither wins. The texts are"
    " compared token by token.",
    "race score": "races won by either side; tokens for time over all races so far; how many pairs of texts are"
    " identical.",
}


def metric_definitions(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """Return each metric with its definition. Raises KeyError for a metric without one."""
    return [(metric, METRIC_HELP[metric]) for metric in dict.fromkeys(metrics)]
