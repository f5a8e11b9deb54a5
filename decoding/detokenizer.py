"""Detokenizer: text from token ids as they arrive, in whole characters, whose pieces join to the exact text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from decoding.arguments import InputIds, as_text, check_tokenizer

_UNFINISHED = "\N{REPLACEMENT CHARACTER}"
_BYTE_TOKEN = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_CONTEXT = 8
"""Tokens before the reply that are decoded with it, since the first token decoded may lose a space."""
_MAX_WINDOW_TOKENS = 24
_MAX_VOCABULARY = 1 << 24
"""More ids than any model has. A model's ids beyond the tokenizer's are padding, and have no text."""


class Detokenizer:
    """The text of one reply, piece by piece.

    >>> text = Detokenizer(tokenizer)
    >>> pieces = [text.push(token) for token in tokenizer("naïve 🙂").input_ids]
    >>> "".join(pieces) + text.finish()
    'naïve 🙂'
    >>> "�" in tokenizer.decode(tokenizer("🙂").input_ids[-1:]), "�" in "".join(pieces)
    (True, False)

    The pieces, ``finish`` included, join to the text that follows the prompt when both are decoded together: special
    tokens skipped, spaces left alone. Ids are decoded in a short window, because a token's text depends on its
    neighbours; the window always starts with text already returned.
    """

    def __init__(self, tokenizer: Any, prompt_ids: InputIds = ()) -> None:
        """
        Args:
            tokenizer: the model's, of transformers.
            prompt_ids: the text before the reply; without it some tokenizers drop the reply's first space.

        Raises:
            TypeError: the tokenizer is not a loaded one of transformers.
            ValueError: the prompt holds something other than token ids.
        """
        check_tokenizer(tokenizer)
        self._decode = _decoder(tokenizer)
        self._tokenizer = tokenizer
        # The Rust tokenizers know which ids they lack; some of the slow ones make up a token.
        self._known_ids = _MAX_VOCABULARY if tokenizer.is_fast else len(tokenizer)
        self._special = {id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.special}
        self._window = self._context(as_text(prompt_ids, "prompt_ids"))
        self._given = len(self._decode(self._window))
        self._unsettled = False

    def push(self, *token_ids: int) -> str:
        """Return the text that these tokens complete; empty if they are special or end inside a character.

        An id beyond the tokenizer's has no text: many models have a few to round their number off. Raises ValueError
        for one that no model can have.
        """
        return "".join(map(self._push, as_text(token_ids, "token_ids")))

    def _push(self, token_id: int) -> str:
        if self._token(token_id) is None:
            return ""
        self._window.append(token_id)
        self._unsettled = True
        # Byte-fallback decoders decode a run of byte tokens as a whole: one wrong byte spoils all of its
        # characters, so the text of a run is final only after the token that ends it.
        if self._is_byte(token_id):
            return ""
        text = self._decode(self._window)
        # Only the last character can still change: an unfinished one decodes to a single U+FFFD.
        settled = len(text) - text.endswith(_UNFINISHED)
        piece = text[self._given : settled]
        self._given = max(self._given, settled)
        self._unsettled = settled < len(text)
        if settled == len(text) and len(self._window) > _MAX_WINDOW_TOKENS:
            self._window = self._context(self._window)
            self._given = len(self._decode(self._window))
        return piece

    @property
    def pending(self) -> str:
        """The text held back, as it would be if no token followed; the next one may change it."""
        return self._decode(self._window)[self._given :] if self._unsettled else ""

    def finish(self) -> str:
        """Return the text held back; an unfinished character becomes U+FFFD, as in ``decode``."""
        text = self._decode(self._window)
        piece = text[self._given :]
        self._given = max(self._given, len(text))
        self._unsettled = False
        return piece

    def _token(self, token_id: int) -> str | None:
        """Return the token's name; None if it has no text: special, or beyond the vocabulary (many are padded)."""
        if token_id in self._special:
            return None
        if not 0 <= token_id < self._known_ids:
            if not 0 <= token_id < _MAX_VOCABULARY:
                raise ValueError(f"{token_id} is not a token id: they go from 0 to the size of the model's vocabulary")
            return None
        try:
            token: str | None = self._tokenizer.convert_ids_to_tokens(token_id)
        except (IndexError, KeyError, ValueError):
            return None
        return token

    def _is_byte(self, token_id: int) -> bool:
        return _BYTE_TOKEN.fullmatch(self._token(token_id) or "") is not None

    def _context(self, ids: Sequence[int]) -> list[int]:
        """Return the shortest useful end of ``ids``: one with text, and without a cut run of bytes."""
        length = _CONTEXT
        while True:
            window = [id_ for id_ in ids[-length:] if self._token(id_) is not None]
            settled = not all(map(self._is_byte, window)) and self._decode(window)
            if settled or length >= len(ids):
                return window
            length *= 2


def _decoder(tokenizer: Any) -> Callable[[list[int]], str]:
    """Return a function that decodes without special tokens and without clean-up of spaces."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        # Several times faster than going through the Python class, and it never cleans up spaces.
        return lambda ids: str(backend.decode(ids, skip_special_tokens=True))

    def decode(ids: list[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    return decode
