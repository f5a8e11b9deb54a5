"""AutoregressiveDecoder: plain decoding, one token a forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from decoding.decoder import Decoder, plain_step
from decoding.request import Request
from decoding.session import Session
from decoding.step import Step


class AutoregressiveDecoder(Decoder):
    """Plain decoding: what `generate` does, as steps over a session. Serves every causal language model."""

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        while True:
            step = plain_step(session, request)
            yield step
            if step.finish_reason is not None:
                return
