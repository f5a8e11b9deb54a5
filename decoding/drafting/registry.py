"""The registered sources of candidates, and the origins and evidence classes that follow from them.

A further source is a module with a :class:`~decoding.drafting.source.Source`, and a line in each of the two lists here;
for the chat, another in `lade_chat/protocol/inspection.py` and its looks in `lade_chat/presentation/sources.py`.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import accumulate

from decoding.drafting import context, successors, trajectory
from decoding.drafting.source import EvidenceClass


class Origin(StrEnum):
    """The source that proposed an emitted token.

    PLAIN tokens were chosen by the model behind the accepted run (one a step); the others were proposed by a
    source, and accepted: the model chose that very token itself. Values are the names of the sources.
    """

    PLAIN = "plain"
    TRAJECTORY = "trajectory"
    """An n-gram of the Jacobi trajectory, collected by the lookahead branch."""
    CONTEXT = "context"
    """An n-gram of the prompt, the reply or an earlier turn."""
    SUCCESSOR = "successor"
    """A likely next token recycled from logits already computed (budgeted decoding only)."""

    # An enumeration's own hash is a Python function, and steps look origins up.
    __hash__ = str.__hash__


SOURCES = (context.SOURCE, trajectory.SOURCE, successors.SOURCE)
"""In the order in which they are asked: what several propose is the first one's."""

ORIGINS = tuple(Origin(source.name) for source in SOURCES)
ROW_WIDTH = max(source.row_width for source in SOURCES)
"""The number of each row's likeliest next tokens that are learnt from."""

# Evidence classes of all sources in one numbering, since a step looks up many.
OFFSETS = tuple(accumulate((len(source.weights) for source in SOURCES[:-1]), initial=0))
WEIGHTS = tuple(weight for source in SOURCES for weight in source.weights)
_ORIGIN_OF = tuple(origin for origin, source in zip(ORIGINS, SOURCES, strict=True) for _ in source.weights)


def origin_of(evidence: EvidenceClass) -> Origin:
    """Return the source that an evidence class belongs to."""
    return _ORIGIN_OF[evidence]
