"""The registered sources of candidates, and the evidence classes that follow from them.

A further source is a module with a :class:`~decoding.drafting.source.Source`, which `SOURCES` lists, and a member of
:class:`~decoding.step.Origin`; for the chat, a line in `lade_chat/protocol/inspection.py` and its looks in
`lade_chat/presentation/token_looks.py`.
"""

from __future__ import annotations

from itertools import accumulate

from decoding.drafting import context_ngrams, ngram_pool, successors
from decoding.drafting.source import EvidenceClass
from decoding.step import Origin

SOURCES = (context_ngrams.SOURCE, ngram_pool.SOURCE, successors.SOURCE)
"""In the order in which they are asked; a token that several propose counts as the first one's."""

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
