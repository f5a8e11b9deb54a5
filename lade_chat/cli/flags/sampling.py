"""Flags of sampling, stop strings and thoughts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from lade_chat.cli.flags.arguments import valued
from lade_chat.paths import SURROGATES
from lade_chat.protocol.values import Sampling


def _check_stops(stops: list[str] | None) -> list[str] | None:
    for stop in stops or ():
        if not stop:
            raise typer.BadParameter("an empty text would stop every reply.")
        if SURROGATES.search(stop):
            raise typer.BadParameter("its bytes are not UTF-8.")
    return stops


@dataclass(frozen=True)
class SamplingFlags:
    """The flags of sampling, stop strings and thoughts, a field each."""

    sampling: Annotated[
        Literal["greedy", "model"],
        typer.Option(
            "--sampling",
            help="greedy: the likeliest token; model: the checkpoint's own settings. --temperature, --top-p, --top-k,"
            " --min-p and --typical-p override it and switch sampling on.",
        ),
    ] = "greedy"
    temperature: Annotated[
        float | None,
        valued(
            "temperature", "Divide the logits: higher is more varied, 0 is greedy. 1 if only other flags are given."
        ),
    ] = None
    top_p: Annotated[float | None, valued("top_p", "Sample from the likeliest tokens with this total probability.")] = (
        None
    )
    top_k: Annotated[int | None, valued("top_k", "Sample from this many likeliest tokens; 0 for all.")] = None
    min_p: Annotated[
        float | None,
        valued("min_p", "Sample from tokens with at least this share of the likeliest one's probability."),
    ] = None
    typical_p: Annotated[
        float | None, valued("typical_p", "Sample from the most typical tokens with this total probability.")
    ] = None
    repetition_penalty: Annotated[
        float | None,
        valued(
            "repetition_penalty",
            "Above 1, tokens already in the text become less likely, in greedy decoding too.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        valued(
            "seed",
            "The same seed gives the same text, with lookahead or without; by default one is drawn and shown."
            " It switches sampling on where that is greedy.",
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        typer.Option(
            "--stop",
            metavar="TEXT",
            callback=_check_stops,
            help="End the reply before this text; repeatable. A line break is $'\\n' in most shells.",
        ),
    ] = None
    think: Annotated[
        bool | None,
        typer.Option(
            "--think/--no-think", help="Have the model think before it answers, or not, where its chat template can."
        ),
    ] = None
    max_thought_tokens: Annotated[
        int | None, valued("max_thought_tokens", "Most tokens of a thought; then it is closed, and the answer follows.")
    ] = None

    def sampling_options(self) -> Sampling | None:
        """Return the sampling of these flags over the base; None for plain greedy decoding.

        Over a model's own settings a seed is only the seed; it does not make a greedy model sample.
        """
        names = (name for name in Sampling.__struct_fields__ if name != "from_model")
        asked = {name: getattr(self, name) for name in names}
        return Sampling(**asked, from_model=self.sampling == "model").normalized()
