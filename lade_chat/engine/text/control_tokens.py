"""Keeps control tokens in messages from acting as such: a user's ``<|im_end|>`` must not end the turn.

A tokenizer turns the name of a control token into that token wherever it stands, so a file or a pipe could end its
message and continue in another role. Names in messages are split by a mark before the chat template is rendered, and
the rendered text is encoded piece by piece between marks; the template's own names stay whole. If no message holds a
name, nothing is marked and the text is encoded as a whole.

(transformers' ``sanitize_control_tokens`` renders in this process, only knows names that the template spells out, and
refuses names that are also pieces of the vocabulary.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from lade_chat.errors import PromptError
from lade_chat.loading.text.tokenization import has_chat_template, rendered
from lade_chat.protocol.values import Message

_MARKS = range(0xF0000, 0xFFFFD)
"""Private-use characters; the first that no message contains is the mark."""
UNREADABLE = "\ufffd"
_PROBES = (("xyzzy1", "xyzzy2", "xyzzy3"), ("xyzzy4", "xyzzy5"))


class _Names:
    """Finds names of tokens in a text."""

    def __init__(self, names: Iterable[str]) -> None:
        # Some tokenizers have thousands of names, too many for one regular expression.
        self._names = {name for name in names if name and not name.isspace()}
        self._lengths = sorted({len(name) for name in self._names})
        first = "".join(sorted(re.escape(character) for character in {name[0] for name in self._names}))
        self._starts = re.compile(f"[{first}]" if first else "(?!)")

    def cuts(self, text: str) -> set[int]:
        """Positions to cut at so that no name stays whole. Names of one character are left to :meth:`without`."""
        cuts = set()
        for start in (match.start() for match in self._starts.finditer(text)):
            for length in self._lengths:
                name = text[start : start + length]
                if len(name) == length > 1 and name in self._names:
                    # Most tokenizers begin a token at the start of a word anyway.
                    word = next((i for i, character in enumerate(name) if i and character.isalnum()), 1)
                    cuts.add(start + word)
        return cuts

    def without(self, text: str) -> str:
        """The text without names of one character."""
        return "".join(UNREADABLE if character in self._names else character for character in text)


class ControlTokens:
    """Control tokens of one tokenizer with one chat template."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = getattr(tokenizer, "added_tokens_decoder", {})
        special = {str(token) for token in added.values() if token.special} | set(
            map(str, getattr(tokenizer, "all_special_tokens", ()))
        )
        template = tokenizer.get_chat_template() if has_chat_template(tokenizer) else ""
        around = _around_turns(tokenizer) if template else ""
        names = [str(token) for token in added.values()]
        turns = special | {name for name in names if name in around}
        # Others, such as <think>, may have been written by the model itself and stay tokens.
        self._assistants = _Names(turns)
        self._others = _Names(turns | {name for name in names if name in template})
        self._normalised = _normalised_ids(tokenizer, special)

    def guard(self, messages: Sequence[Message]) -> tuple[list[Message], str | None]:
        """The messages with a mark in each name of a control token, and the mark; None where there is no name.

        A token of one character, which cannot be cut, reads as U+FFFD. Raises PromptError for text that is no name
        but becomes a control token when the tokenizer normalises it.
        """
        found = []
        for message in messages:
            names = self._assistants if message.role == "assistant" else self._others
            for text in map(names.without, (message.content, message.thought)):
                found.append((text, sorted(names.cuts(text))))
        mark = None
        if any(cuts for _, cuts in found):
            mark = next(sign for sign in map(chr, _MARKS) if all(sign not in text for text, _ in found))
        texts = iter([_cut(text, cuts, mark) for text, cuts in found])
        guarded = [Message(message.role, next(texts), next(texts)) for message in messages]
        for message in guarded if self._normalised else ():
            if self._normalised.intersection(encode(self._tokenizer, message.content + message.thought, mark)):
                raise PromptError("A message holds what this model's tokenizer takes for a control token: reword it.")
        return guarded, mark


def control_tokens(tokenizer: Any) -> ControlTokens:
    """The tokenizer's control tokens, computed once for each chat template."""
    template = tokenizer.chat_template if has_chat_template(tokenizer) else None
    known = _known.get(tokenizer)
    if known is None or known[0] != template:
        known = _known[tokenizer] = (template, ControlTokens(tokenizer))
    return known[1]


def encode(tokenizer: Any, text: str, mark: str | None) -> list[int]:
    """Token ids of a text without special tokens such as BOS, encoded piece by piece between marks."""
    if mark is None:
        return _ids(tokenizer, text)
    first, *others = text.split(mark)
    ids, line_break = _ids(tokenizer, first), _ids(tokenizer, "\n")
    for piece in others:
        # After a line break, since sentencepiece puts a space before the start of a text.
        behind = _ids(tokenizer, f"\n{piece}")
        begins = behind[: len(line_break)] == line_break
        ids += behind[len(line_break) :] if begins else _ids(tokenizer, piece)
    return ids


def _ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False)) if text else []


def _cut(text: str, cuts: Sequence[int], mark: str | None) -> str:
    if mark is None:
        return text
    ends = [*cuts, len(text)]
    return mark.join(text[start:end] for start, end in zip([0, *cuts], ends, strict=True))


def _around_turns(tokenizer: Any) -> str:
    """The template's own text around messages, except for what opens a reply: it may concatenate names."""
    texts = []
    for roles, contents in zip((("user", "assistant", "user"), ("system", "user")), _PROBES, strict=True):
        conversation = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=True)]
        rest = rendered(tokenizer, conversation, generation_prompt=False)
        if rest is None:  # a template may take no system role
            continue
        for role, content in zip(roles, contents, strict=True):
            before, _, rest = rest.partition(content)
            texts += [] if role == "assistant" else [before]
        texts.append(rest)
    return "\0".join(texts)


def _normalised_ids(tokenizer: Any, special: set[str]) -> frozenset[int]:
    """Ids of special tokens that are matched after normalisation, so that other text may turn into them."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.normalizer is None:
        return frozenset()
    found = {id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.normalized and str(token) in special}
    return frozenset(found - {tokenizer.unk_token_id})


def one_bos(ids: list[int], tokenizer: Any) -> list[int]:
    """``ids`` with one leading BOS if the template wrote any or the tokenizer adds one to plain text."""
    bos = tokenizer.bos_token_id
    if bos is None:
        return ids
    start = 0
    while ids[start : start + 1] == [bos]:
        start += 1
    wanted = start > 0 or tokenizer("a")["input_ids"][:1] == [bos]
    return [bos, *ids[start:]] if wanted else ids


_known: WeakKeyDictionary[Any, tuple[Any, ControlTokens]] = WeakKeyDictionary()
