"""The flags that say how tokens are drawn and where a reply stops, checked before a model is loaded."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from lade_chat.cli.flags.numbers import setting
from lade_chat.protocol.values import Sampling


class Base(StrEnum):
    """What the other flags go over."""

    GREEDY = "greedy"
    MODEL = "model"


def _check_stops(stops: list[str] | None) -> list[str] | None:
    for stop in stops or ():
        if not stop:
            raise typer.BadParameter("an empty text would stop everything.")
        if any("\ud800" <= character <= "\udfff" for character in stop):
            raise typer.BadParameter("this is no text: its bytes are not UTF-8.")
    return stops


SamplingBase = Annotated[
    Base,
    typer.Option(
        "--sampling",
        help="What the flags from here to --seed go over: greedy (always the likeliest token), or model (the model's"
        " own generation config). Each of them but --repetition-penalty switches sampling on.",
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        parser=setting("temperature"),
        help="What the logits are divided by: more is more varied, 0 is greedy. 1 if only other flags are given.",
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        parser=setting("top_p"),
        help="Only the likeliest tokens that make up this much probability.",
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(metavar="INT", parser=setting("top_k"), help="Only so many of the likeliest tokens; 0 for all."),
]
MinP = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        parser=setting("min_p"),
        help="Only tokens with this share of the likeliest one's probability.",
    ),
]
TypicalP = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        parser=setting("typical_p"),
        help="Only the most typical tokens that make up this much probability.",
    ),
]
RepetitionPenalty = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        parser=setting("repetition_penalty"),
        help="Above 1, tokens already in the text become less likely, in greedy decoding too.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="INT",
        parser=setting("seed"),
        help="With one seed the text is the same each time, lookahead or not; without it, one is drawn and shown.",
    ),
]
Stops = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="TEXT",
        callback=_check_stops,
        help="End the reply before this text; may be given again. A line break is $'\\n' in most shells.",
    ),
]


def sampling_of(base: Base, asked: Sampling) -> Sampling | None:
    """What the engine is asked for: ``asked`` over ``base``; None for greedy decoding and nothing else.

    Over a model's own settings a seed is only the seed; it does not make a greedy model draw.
    """
    return msgspec.structs.replace(asked, from_model=base is Base.MODEL).normalized()
