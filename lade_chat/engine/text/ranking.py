"""Ranks the tokens that may follow a text by the model's own probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from decoding import Detokenizer, Session, prefill
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.presentation.thought_splitter import CLOSING
from lade_chat.protocol.inspection import RankedToken

LIKELIEST = 5


def rank_tokens(loaded: LoadedModel, session: Session, ids: Sequence[int], own: int) -> tuple[RankedToken, ...]:
    """Return the likeliest tokens after a text, and the ``own`` one if it is not among them.

    Temperature, top-k and all other settings of sampling are left out of account: these are the model's own logits. The
    session is left at the text, as before a step.
    """
    for _ in prefill(session, ids):
        pass
    return rank_next(loaded, session, own)


def rank_next(loaded: LoadedModel, session: Session, own: int = -1) -> tuple[RankedToken, ...]:
    """Rank the tokens that may follow the session's text, as :func:`rank_tokens` does."""
    ids = session.ids
    with session.held():
        logits = session.read(len(ids) - session.cached).float().clone()  # the next step may write over them
        session.drop_unfinished()
    probabilities = logits.softmax(-1)
    tokens: list[int] = logits.topk(min(LIKELIEST, len(logits))).indices.tolist()
    if 0 <= own < len(logits) and own not in tokens:
        tokens.append(own)
    delimiters = loaded.thinking.shown_tokens(loaded.tokenizer)

    def ranked(token: int) -> RankedToken:
        is_closing = delimiters.get(token) == loaded.thinking.closing
        text = CLOSING if is_closing else Detokenizer(loaded.tokenizer, ids).push(token)
        name = str(loaded.tokenizer.convert_ids_to_tokens(token))
        rank = 1 + int((logits > logits[token]).sum())
        return RankedToken(token, name, text, rank, float(probabilities[token]), token in loaded.eos_token_ids)

    return tuple(map(ranked, tokens))
