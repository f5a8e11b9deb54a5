"""AutoregressiveDecoder: plain decoding, one token a forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from decoding.decoder import Decoder
from decoding.plain_step import plain_steps
from decoding.request import Request
from decoding.session import Session
from decoding.step import Step


class AutoregressiveDecoder(Decoder):
    """Plain decoding: what `generate` does, as steps over a session. Serves every causal language model."""

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        return plain_steps(session, request)
