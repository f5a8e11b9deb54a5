"""Delimiters of a model's thoughts and its switch for them, found in its chat template and among its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lade_chat.loading.text.tokenization import has_chat_template, rendered

_QUESTION, _THOUGHT, _ANSWER = "xyzzy1", "xyzzy2", "xyzzy3"
NAME = re.compile(r"[<\[◁]\|?[\w:]+\|?[>\]▷]")
"""A token's name, as far as delimiters of thoughts have one."""
_THINKING_WORD = re.compile(r"think|thought|reason", re.IGNORECASE)
_CHANNEL = re.compile(r"(<\|(\w+)>)(?:thought|think|analysis)\b")


class Thinking(NamedTuple):
    """The texts around thoughts as the model writes them, special tokens by their names.

    ``again`` stands between two thoughts, ``answer`` before an answer without a thought; most families have neither.
    """

    opening: str = "<think>"
    closing: str = "</think>"
    again: str = ""
    answer: str = ""

    def is_opened_by(self, prompt: str) -> bool:
        """Return True if a prompt's text ends inside a thought that it has opened."""
        return prompt.rstrip().endswith(self.opening)

    def closing_ids(self, tokenizer: Any) -> tuple[int, ...]:
        """Return the tokens of the delimiter that ends a thought."""
        return tuple(tokenizer.encode(self.closing, add_special_tokens=False))

    def shown_tokens(self, tokenizer: Any) -> dict[int, str]:
        """The special tokens among the delimiters, by id."""
        text = "".join(self)
        special = ((id_, str(token)) for id_, token in tokenizer.added_tokens_decoder.items() if token.special)
        return {id_: name for id_, name in special if name in text}


DEFAULT = Thinking()


class ThinkingSwitch(NamedTuple):
    """The variable by which a chat template is told to have the model think or not, and its value for either."""

    variable: str = ""
    on: bool | str = True
    off: bool | str = False

    def given(self, think: bool | None) -> dict[str, bool | str]:
        """Return the variable for the template; empty if it has no switch, or the choice is left to it."""
        if think is None or not self.variable:
            return {}
        return {self.variable: self.on if think else self.off}


NO_SWITCH = ThinkingSwitch()
_SWITCHES = (
    *(ThinkingSwitch(name) for name in ("enable_thinking", "thinking", "reasoning")),
    *(ThinkingSwitch("reasoning_effort", "high", off) for off in ("none", "low")),
)
"""The last two need a template that names ``none``: others write any word into the prompt."""


def find_switch(tokenizer: Any) -> ThinkingSwitch:
    """Return the first switch that the template names and that changes the prompt."""
    template = str(tokenizer.get_chat_template()) if has_chat_template(tokenizer) else ""
    asked = [{"role": "user", "content": _QUESTION}]
    for switch in _SWITCHES:
        is_named = switch.variable in template and (switch.off != "none" or re.search(r"[\"']none[\"']", template))
        if is_named:
            on, off = (
                rendered(tokenizer, asked, generation_prompt=True, **switch.given(each)) for each in (True, False)
            )
            if on is not None and off is not None and on != off:
                return switch
    return NO_SWITCH


def find_thinking(tokenizer: Any) -> Thinking:
    """Return the model's delimiters: as its template writes a thought, else by their names, else ``<think>``."""
    return _rendered(tokenizer) or _named(tokenizer) or DEFAULT


def _rendered(tokenizer: Any) -> Thinking | None:
    """The text that the template writes around a thought; None if it writes none, or opens it in the prompt."""
    asked = [{"role": "user", "content": _QUESTION}]
    thoughts = dict.fromkeys(("reasoning_content", "thinking", "reasoning"), _THOUGHT)
    prompt = rendered(tokenizer, asked, generation_prompt=True)
    replied = [*asked, {"role": "assistant", "content": _ANSWER, **thoughts}]
    text = rendered(tokenizer, replied, generation_prompt=False)
    if prompt is None or text is None:
        return None
    begun, _, rest = text.partition(_THOUGHT)
    closing, found, _ = rest.partition(_ANSWER)
    opening = begun.removeprefix(prompt).strip() if begun.startswith(prompt) else ""
    closing = closing.strip()
    if not found or not opening or not closing:
        return None
    # A model of channels opens its answer as it opens a thought: both begin with the same token.
    first = NAME.match(opening)
    place = closing.find(first[0]) if first is not None else -1
    if place <= 0:
        return Thinking(opening, closing)
    return Thinking(opening, closing, closing[:place] + opening, closing[place:])


def _named(tokenizer: Any) -> Thinking | None:
    """A pair of names that speak of thinking, among the tokens or in the template."""
    template = str(tokenizer.get_chat_template()) if has_chat_template(tokenizer) else ""
    names = [*map(str, tokenizer.get_added_vocab()), *NAME.findall(template)]
    if (channel := _CHANNEL.search(template)) is not None and f"<{channel[2]}|>" in names:
        return Thinking(channel[0], f"<{channel[2]}|>")
    for name in names:
        if _THINKING_WORD.search(name):
            for closing in _closings(name):
                if closing in names or closing in template:
                    return Thinking(name, closing)
    return None


def _closings(opening: str) -> Iterator[str]:
    """Names that may close what this one opens."""
    yield f"{opening[0]}/{opening[1:]}"
    for begin, end in (("START", "END"), ("start", "end"), ("BEGIN", "END"), ("begin", "end")):
        if begin in opening:
            yield opening.replace(begin, end)
