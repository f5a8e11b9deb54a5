"""Builds the prompt's token ids from a conversation, within the model's context window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.model.capabilities import vocabulary_size
from lade_chat.engine.text.control_tokens import control_tokens, encode, one_bos
from lade_chat.engine.text.thought_normalizer import Begin, BegunReply, begin_after, in_template, split_begun
from lade_chat.errors import PromptError, summary
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.text.template_renderer import TemplateLimitError, TemplateRefusedError
from lade_chat.loading.text.template_renderer import render as render_template
from lade_chat.loading.text.tokenization import has_chat_template
from lade_chat.paths import SURROGATES
from lade_chat.protocol.values import Message

_ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}
_ROLE_STOPS = ("\nUser:", "\nAssistant:", "\nSystem:")
MANY_CHARACTERS = 8
"""Hardly any text has more characters per token."""
BLOCKS = 4
"""A full context drops turns worth this fraction of the window at once: one of four parts."""
TURN_OVERHEAD_TOKENS = 6
"""Tokens that a template writes around a message, roughly."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token ids for the model, and the room left for a reply."""

    ids: tuple[int, ...]
    dropped_messages: int
    """Number of oldest messages that did not fit; the system prompt always stays."""
    max_new_tokens: int
    """The limit requested, reduced to the room left in the context window."""
    stop_strings: tuple[str, ...] = ()
    """The reply ends before the first of these; without a chat template a model writes the next turn too."""
    begin: Begin = "reply"
    """Where the reply begins, as far as thoughts go; a bare text has none."""


def prompt_for(
    loaded: LoadedModel,
    messages: Sequence[Message],
    max_new_tokens: int,
    *,
    raw: bool = False,
    think: bool | None = None,
) -> Prompt:
    """Build the prompt for an answer to the last message, or for its continuation if it is the assistant's.

    ``raw`` joins the contents into a plain text to be continued, in which names of control tokens are tokens. Otherwise
    the chat template is used, or a plain role format if there is none, and such names are text; the thoughts of
    earlier replies are left to the template. The oldest turns are dropped in blocks until a reply fits (a quarter of
    the window, or ``max_new_tokens`` if that is less), so that the prompt's beginning, which the KV cache holds, stays
    the same for many turns. ``think`` is for the template's switch; a reply that has begun goes on as it did. Raises
    PromptError if there is nothing to answer, if the last message alone is longer than the window, or for a token that
    the model has no embedding for.
    """
    tokenizer, window = loaded.tokenizer, loaded.info.context_window
    _check(messages, raw=raw)
    begun = None
    if not raw:
        messages, begun = split_begun(messages, loaded.thinking)
    if begun is not None and think is not None:
        think = begun.has_thought
    system, turns = _split(messages)
    with_roles = not raw and not has_chat_template(tokenizer)

    def render(conversation: list[dict[str, str]]) -> str:
        return render_template(tokenizer, conversation, generation_prompt=True, **loaded.thinking_switch.given(think))

    def encoded(first_turn: int) -> list[int]:
        kept = _merged([*system, *(message for turn in turns[first_turn:] for message in turn)])
        if raw:
            return _encode_raw(kept, tokenizer)
        return _encode_roles(kept, tokenizer, begun) if with_roles else _encode_template(kept, tokenizer, begun, render)

    room = window - min(max_new_tokens, max(1, window // 4))
    first, ids = _first_that_fits(encoded, room, turns, lambda: _cuts(system, turns, tokenizer, window))
    if len(ids) >= window:
        raise PromptError(
            f"The prompt is too long: {len(ids)} tokens, and the model's context window holds {window},"
            f" the reply included. Shorten the last message{' or the system prompt' if system else ''}."
        )
    rows, last = vocabulary_size(loaded.model), max(ids)
    if last >= rows:
        raise PromptError(
            f"The prompt has the token {tokenizer.convert_ids_to_tokens(last)!r}, number {last} of the tokenizer, but"
            f" the model knows only {rows} tokens: leave it out, or get the tokenizer that belongs to the model."
        )
    return Prompt(
        ids=tuple(ids),
        dropped_messages=sum(len(turn) for turn in turns[:first]),
        max_new_tokens=min(max_new_tokens, window - len(ids)),
        stop_strings=_ROLE_STOPS if with_roles else (),
        begin="answer" if raw else begin_after(ids, tokenizer, loaded.thinking) if begun is None else begun.begin,
    )


def _check(messages: Sequence[Message], *, raw: bool) -> None:
    """Raise PromptError if there is nothing to answer."""
    if not messages or not messages[-1].content.strip():
        raise PromptError("The prompt is empty: type something to send.")
    if not raw and all(message.role != "user" for message in messages):
        raise PromptError("There is nothing to answer: the user has said nothing yet.")


def _split(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """The system prompt, and the turns: each a user message with what follows it. Empty messages are dropped."""
    # Tokenizers refuse lone surrogates, which stand for invalid UTF-8 in an argument.
    clean = [
        Message(m.role, *(SURROGATES.sub("\ufffd", text) for text in (m.content, m.thought)))
        for m in messages
        if m.content.strip()
    ]
    leading = next(index for index, m in enumerate([*clean, None]) if m is None or m.role != "system")
    turns: list[list[Message]] = []
    for message in clean[leading:]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return clean[:leading], turns


def _first_that_fits(
    encoded: Callable[[int], list[int]], room: int, turns: Sequence[Sequence[Message]], cuts: Callable[[], list[int]]
) -> tuple[int, list[int]]:
    """The first cut behind which the turns fit, by bisection, and their ids; the last turn always stays.

    Thousands of turns take seconds to encode. So the search begins with the last two, four, eight … blocks, and all of
    them are tried first only where they may fit.
    """
    characters = sum(len(message.content) for turn in turns for message in turn)
    if len(turns) < 2 or characters <= MANY_CHARACTERS * room:
        ids = encoded(0)
        if len(turns) < 2 or len(ids) <= room:
            return 0, ids
    firsts = cuts()
    low, high, kept = -1, len(firsts) - 1, 2
    fitting: list[int] | None = None
    while high - low > 1:
        middle = max(len(firsts) - kept, (low + high) // 2)
        ids = encoded(firsts[middle])
        if len(ids) <= room:
            high, fitting, kept = middle, ids, 2 * kept
        else:
            low = middle
    return firsts[high], encoded(firsts[high]) if fitting is None else fitting


def _cuts(
    system: Sequence[Message], turns: Sequence[Sequence[Message]], tokenizer: Any, context_window: int
) -> list[int]:
    """The turns that a prompt may begin with once not all of them fit: the first behind each block, and the last.

    A block's size in tokens is estimated from the text alone, and a cut depends on nothing behind it. So a further
    turn, an edit or a restart finds the earlier cuts where they were.
    """
    contents = "\n".join(message.content for turn in turns for message in turn)
    sample = contents[: max(1, context_window // BLOCKS)]
    bytes_per_token = len(sample.encode()) / max(1, len(_encode_plain(sample, tokenizer)))

    def size(messages: Sequence[Message]) -> float:
        return sum(len(message.content.encode()) / bytes_per_token + TURN_OVERHEAD_TOKENS for message in messages)

    block = max(1.0, min(context_window / BLOCKS, (context_window - size(system)) / 2))
    cuts, end = [], block
    total = 0.0
    for index, turn in enumerate(turns[:-1], start=1):
        total += size(turn)
        if total >= end:
            cuts.append(index)
            end = total + block
    return cuts if cuts and cuts[-1] == len(turns) - 1 else [*cuts, len(turns) - 1]


def _merged(messages: list[Message]) -> list[Message]:
    """Merge consecutive messages of one role: a stopped reply leaves two user messages in a row."""
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            before = merged.pop()
            message = Message(message.role, f"{before.content}\n\n{message.content}", before.thought)
        merged.append(message)
    return merged


def _encode_raw(messages: list[Message], tokenizer: Any) -> list[int]:
    """Encode a text to be completed; each further user message starts on its own line."""
    text = ""
    for message in messages:
        if message.role == "user" and text and not text[-1].isspace():
            text += "\n"
        text += message.content
    return _encode_plain(text, tokenizer)


def _encode_roles(messages: list[Message], tokenizer: Any, begun: BegunReply | None) -> list[int]:
    """Encode the plain role format. No space after the last colon: it belongs to the reply's first token."""
    messages, reply, mark = _guarded(messages, tokenizer, begun)
    lines = [f"{_ROLES[message.role]}: {message.content.strip()}\n" for message in messages]
    text = "".join(lines) + f"{_ROLES['assistant']}:"
    if begun is not None and reply is not None:
        text = begun.after(text, reply)
    return _encode_plain(text, tokenizer) if mark is None else one_bos(encode(tokenizer, text, mark), tokenizer)


def _encode_plain(text: str, tokenizer: Any) -> list[int]:
    ids = list(tokenizer(text, return_attention_mask=False)["input_ids"])
    if len(ids) > 1 and ids[-1] == tokenizer.eos_token_id:
        ids.pop()  # some tokenizers append an EOS to every text
    return one_bos(ids, tokenizer)


def _guarded(
    messages: list[Message], tokenizer: Any, begun: BegunReply | None
) -> tuple[list[Message], Message | None, str | None]:
    """The messages and the begun reply with the names of control tokens cut by a mark, and the mark."""
    guarded, mark = control_tokens(tokenizer).guard(messages if begun is None else [*messages, begun.message])
    return (guarded, None, mark) if begun is None else (guarded[:-1], guarded[-1], mark)


def _encode_template(
    messages: list[Message], tokenizer: Any, begun: BegunReply | None, render: Callable[[list[dict[str, str]]], str]
) -> list[int]:
    """Encode with the chat template, and with exactly one BOS if the tokenizer or the template adds one."""
    error: PromptError | None = None
    messages, reply, mark = _guarded(messages, tokenizer, begun)
    for variant in _variants(messages):
        try:
            text = render([in_template(message) for message in variant])
        except TemplateRefusedError as refused:
            error = error or refused
            continue
        except TemplateLimitError as limit:
            raise PromptError(f"The model's chat template is not used, since {limit}: try --raw.") from None
        # A template may refuse a system prompt by silently leaving it out.
        if variant[0].role == "system" and variant[0].content.strip() not in text:
            continue
        if begun is not None and reply is not None:
            text = begun.after(text, reply)
        return one_bos(encode(tokenizer, text, mark), tokenizer)
    raise PromptError(
        f"The model's chat template refuses this conversation ({summary(error) if error else 'no reason given'}):"
        " start a new one, or use --raw."
    )


def _variants(messages: list[Message]) -> list[list[Message]]:
    """The conversation, then variants for stricter templates: no system role, a user message first."""
    variants = [messages]
    rest = messages[1:] if messages[0].role == "system" else messages
    if rest is not messages and rest[0].role == "user":
        variants.append([Message("user", f"{messages[0].content}\n\n{rest[0].content}"), *rest[1:]])
    if rest[0].role == "assistant":
        variants += _variants([*messages[: len(messages) - len(rest)], *rest[1:]])
    return variants
