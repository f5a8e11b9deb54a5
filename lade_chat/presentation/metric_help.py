"""Help texts of the metrics: the definition of each, for tooltips and the manual."""

from __future__ import annotations

from lade_chat.presentation.sources import SOURCES

METRIC_HELP: dict[str, str] = {
    # Of a reply.
    "tok/s": "the reply's tokens divided by the seconds of its steps, reading the prompt included. The clock runs only"
    " during steps: it stops while a reply is paused, and drawing the screen is not timed.",
    "now": "tok/s over the last second of steps.",
    "tokens/step": "the reply's tokens divided by the number of times the model was run; plain decoding has 1. The"
    " paper calls it step compression, S.",
    "verified": "the share of the reply's tokens that were guessed before the step in which the model chose them.",
    "guesses save nothing": "at most one step in five checked a guess, and tokens/step stayed below 1.1. Lookahead"
    " guesses only where it expects to save time on this machine: either nothing in this text was likely enough, as"
    " often in a first reply, or a step over several tokens is slow here just now. It tries again as the reply goes"
    " on.",
    "first token": "seconds to the first token, which is the time to read the prompt.",
    "tokens in seconds": "the reply's length, and the seconds of its steps, reading the prompt included.",
    "thought": "of the reply's tokens, those of the thought before its answer. They count in tok/s like the others.",
    "context": "tokens of the prompt and the reply, out of the most that the model can hold.",
    "summary": "input: tokens of the prompt. Throughput: generated tokens ÷ time. Compression ratio: generated tokens ÷"
    " steps. Time as for tok/s.",
    # Of the debug panel.
    "speed-up over plain": "the time that plain decoding would have taken ÷ the time taken, both from the first token"
    " on: (tokens − 1) × a plain step's time ÷ the seconds since. That equals tokens/later step × a plain step's"
    " time ÷ a step's time. “rough”: it exceeds tokens/later step, so the machine was busy during the plain steps.",
    "tokens/later step": "tokens per step, without the first step, which reads the prompt and yields one token.",
    "a step takes": "the mean time of the reply's steps, without the first, which reads the prompt.",
    "a plain step takes": "the mean time of the reply's own plain steps, if there are at least eight; else of plain"
    " steps measured beside it, after the first token and at the end.",
    "steps that guessed": "the reply's steps that checked a guess, out of those with lookahead on.",
    "tokens per forward": "the tokens that the model read in the step shown: the last token, the window, the"
    " candidates.",
    "candidates": "the guesses that were checked in the step shown.",
    "window (W × N)": "the window of the step shown: its columns, and the length of the n-grams that it yields. “no"
    " window”: W is 0, or it has saved no time lately; guesses then come from context and successor alone.",
    "n-grams in the pool": "the n-grams that the window has left so far; a full pool drops those that were not used for"
    " the longest time.",
    "verified from": "how many of the reply's verified tokens each source had guessed: "
    + "; ".join(f"{name} is {source.place}" for name, source in SOURCES.items())
    + ".",
    "guesses kept · steps": "how many of the reply's steps accepted 0, 1, 2 … guesses.",
    "sparklines": "tok/s now, and tokens per step; the number is the latest. The engine reports up to 20 times a"
    " second, and each report adds a column.",
    # Of the inspector's views of one step.
    "window": "the tokens of the window when the step began; “new” is the token that the model chose behind each"
    " column.",
    "candidate tree": "each guess with its source, and the estimated chance that it and all before it on its path are"
    " accepted, from how often that source was right before.",
    "sources": "of the guesses that stood behind accepted ones only, how many were accepted since the reply began; and"
    " the size of the tables now.",
    "budget": "the curve: the time of a step by its number of candidates, in plain steps, measured on this machine. The"
    " step took the number with the most expected tokens per time.",
    # Of a race.
    "race clock": "each side's clock runs only during its own steps, and each side reads the prompt itself. tok/s and"
    " tokens are the side's own, as in a reply; a step is one run of the model. Both sides start with the guesses"
    " learnt from earlier replies, but none from answers to this question; over a suite, with nothing learnt.",
    "race track": "tokens so far, out of those of the side that has finished, or else of the side ahead. The little"
    " columns are the side's tok/s, on one scale for both sides.",
    "race result": "one side's seconds ÷ the other's. Sides within 2% are even, because clocks are no more exact. They"
    " are even, too, if both took as many steps and the slower one checked no guess: both did the same work. The texts"
    " are compared token by token.",
    "race score": "races won by each side; tokens ÷ time over all races so far; how many pairs of texts are identical.",
}
