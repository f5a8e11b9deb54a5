"""Loads a checkpoint's tokenizer with the ids that its model was trained on, and finds its end-of-turn token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lade_chat.errors import ModelError, PromptError, summary
from lade_chat.loading.checkpoint import read_json, remedy
from lade_chat.loading.text.template_renderer import render

_SAMPLES = ("The quick brown fox, 3 times.", "def f(x):\n    return [x]", "déjà vu – 你好 🙂")
_SPACED = (" one space", "  two\n\tand a tab", "x  y ")
_MARK = "xyzzy"
_IN_PARTS = (
    "{%- set parts = namespace(all=[]) %}{%- for m in messages %}"
    "{%- set parts.all = parts.all + [dict(m, content=[{'type': 'text', 'text': m.content}])] %}"
    "{%- endfor %}{%- set messages = parts.all %}"
)
"""Begins a template whose messages have contents in parts."""
_PLAIN_ROLES = "the roles are written as plain text (User:, Assistant:)."

Encode = Callable[[str], list[int]]


def load_tokenizer(folder: Path, config: Any, *, trust_remote_code: bool) -> Any:
    """The folder's tokenizer. Raises ModelError if it cannot be loaded or would give other ids than trained on.

    transformers chooses a class by names in the configuration, and some classes silently rebuild the tokenizer
    differently. So its choice is compared with the file itself on a few samples.
    """
    from transformers import PreTrainedTokenizerFast

    from decoding.native.skeleton import PlainConfig

    def chosen() -> Any:
        if isinstance(config, PlainConfig):  # whose tokenizer is known; the others' choice takes longer than torch
            from transformers import LlamaTokenizer

            return LlamaTokenizer.from_pretrained(folder, local_files_only=True)
        from transformers import AutoTokenizer

        keywords = {"config": config, "trust_remote_code": trust_remote_code}
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, **keywords)

    def plain() -> Any:
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)

    if (folder / "tokenizer.json").is_file():
        tokenizer = _first_that_agrees([chosen, plain], _tokenizers_encode(folder), _SAMPLES, folder)
    elif (folder / "tokenizer.model").is_file():
        lone = not (folder / "tokenizer_config.json").is_file() and config.model_type not in _own_classes()
        ways = [lambda: _llama(folder)] if lone else [lambda: _with_bos(chosen(), folder), lambda: _llama(folder)]
        samples = _SAMPLES + _SPACED if lone else _SAMPLES
        tokenizer = _first_that_agrees(ways, _sentencepiece(folder).encode, samples, folder)
    else:
        tokenizer = _first_that_agrees([chosen], None, (), folder)
    if not tokenizer.encode("a b", add_special_tokens=False):
        raise ModelError(f"The tokenizer in {folder} knows no tokens: tokenizer.json or tokenizer.model is missing.")
    return tokenizer


def has_chat_template(tokenizer: Any) -> bool:
    """Return True if the tokenizer has a chat template; otherwise roles are written as plain text."""
    template = getattr(tokenizer, "chat_template", None)
    return "default" in template if isinstance(template, dict) else bool(template)


def rendered(
    tokenizer: Any, conversation: list[dict[str, str]], *, generation_prompt: bool, **variables: bool | str
) -> str | None:
    """Render a conversation as ``render`` does; None if there is no chat template, or if it cannot do it."""
    if not has_chat_template(tokenizer):
        return None
    try:
        return render(tokenizer, conversation, generation_prompt=generation_prompt, **variables)
    except PromptError:
        return None


def _first_that_agrees(
    ways: Sequence[Callable[[], Any]], truth: Encode | None, samples: Sequence[str], folder: Path
) -> Any:
    """The first tokenizer whose ids match the file's own, or else the first that loads."""
    loaded: list[Any] = []
    problem = ""
    for way in ways:
        try:
            tokenizer = way()
            # We check the context window; transformers would print a warning, or fail where it is no number.
            tokenizer.model_max_length = 10**30
        except Exception as error:  # transformers passes on the errors of several parsers
            problem = problem or summary(error)
            continue
        if truth is None or all(tokenizer.encode(each, add_special_tokens=False) == truth(each) for each in samples):
            return tokenizer
        loaded.append(tokenizer)
    if not loaded:
        raise ModelError(f"The tokenizer in {folder} cannot be loaded ({problem.rstrip('.')}): download it again.")
    return loaded[0]


def _tokenizers_encode(folder: Path) -> Encode:
    """The encoding of ``tokenizer.json`` itself."""
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the Rust library raises a bare Exception
        is_newer = "did not match any variant" in str(error)
        what = "upgrade tokenizers, or download it again" if is_newer else remedy(file)
        raise ModelError(f"{file} cannot be read ({summary(error)}): {what}.") from error
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def _sentencepiece(folder: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    file = folder / "tokenizer.model"
    try:
        return SentencePieceProcessor(model_file=str(file))
    except (OSError, RuntimeError) as error:
        raise ModelError(f"{file} is no sentencepiece model ({summary(error)}): {remedy(file)}.") from error


def _llama(folder: Path) -> Any:
    """A lone ``tokenizer.model`` as Llama's own code reads it: sentencepiece's ids behind a BOS.

    For such a folder AutoTokenizer gives a generic tokenizer with other ids, and LlamaTokenizer one that adds no BOS
    and swallows a space before the first word.
    """
    from tokenizers import normalizers
    from transformers import LlamaTokenizer

    pieces = _sentencepiece(folder)
    prefix = pieces.encode("a", out_type=str)[0].startswith("▁")
    tokenizer = LlamaTokenizer.from_pretrained(
        folder, local_files_only=True, add_bos_token=pieces.bos_id() >= 0, add_prefix_space=prefix
    )
    spaces = normalizers.Replace(" ", "▁")
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = None
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces]) if prefix else spaces
    return tokenizer


def _with_bos(tokenizer: Any, folder: Path) -> Any:
    """Llama's tokenizer adds a BOS unless its configuration says otherwise; transformers 5 forgot the default."""
    from transformers import LlamaTokenizer

    settings = folder / "tokenizer_config.json"
    silent = not settings.is_file() or "add_bos_token" not in read_json(settings)
    llama = isinstance(tokenizer, LlamaTokenizer)
    if llama and silent:
        tokenizer.add_bos_token = tokenizer.bos_token_id is not None
    return tokenizer


def _own_classes() -> set[str]:
    """Model types whose own tokenizer class reads a file better than Llama's."""
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    shared = (None, "TokenizersBackend", "LlamaTokenizer", "LlamaTokenizerFast")
    return {kind for kind, name in TOKENIZER_MAPPING_NAMES.items() if name not in shared}


def template_problem(tokenizer: Any) -> str | None:
    """The reason why the chat template cannot render a single question; None if it can, or there is no template."""
    if not has_chat_template(tokenizer):
        return None
    try:
        text = render(tokenizer, [{"role": "user", "content": _MARK}], generation_prompt=True)
    except PromptError as error:
        return summary(error, limit=100)
    return None if _MARK in text else "it leaves the question out"


def end_of_turn_id(tokenizer: Any) -> int | None:
    """The special token with which the chat template closes the assistant's turn; None if it has none.

    Found by rendering a small conversation: many checkpoints close a turn with a token (<|im_end|>, <|eot_id|>,
    <end_of_turn>) that neither their tokenizer nor their generation config calls an EOS.
    """
    conversation = [{"role": "user", "content": "a"}, {"role": "assistant", "content": _MARK}]
    text = rendered(tokenizer, conversation, generation_prompt=False)  # some templates accept no reply at the end
    if text is None or _MARK not in text:
        return None
    tail = text.rpartition(_MARK)[2].lstrip()
    tokens = tokenizer.get_added_vocab()
    closing = max((token for token in tokens if token and tail.startswith(token)), key=len, default=None)
    return None if closing is None else int(tokens[closing])


def eos_token_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """The tokens that end a reply: declared by the model, the tokenizer and the chat template."""
    declared = getattr(model.generation_config, "eos_token_id", None)
    ids = declared if isinstance(declared, (list, tuple)) else [declared]
    ids = [*ids, tokenizer.eos_token_id, end_of_turn_id(tokenizer)]
    return tuple(dict.fromkeys(int(id_) for id_ in ids if id_ is not None))


def template_notice(tokenizer: Any) -> str | None:
    """Remove a chat template that cannot be rendered; returns a notice if roles are written as plain text.

    One that reads contents in parts, as those of models that also see pictures may, gets them so.
    """
    problem = template_problem(tokenizer)
    if problem is not None and "type" in (template := str(tokenizer.get_chat_template())):
        tokenizer.chat_template = _IN_PARTS + template
        problem = problem if template_problem(tokenizer) else None
    if problem is not None:
        tokenizer.chat_template = None
        return f"The model's chat template is broken ({problem}): {_PLAIN_ROLES}"
    return None if has_chat_template(tokenizer) else f"The model has no chat template: {_PLAIN_ROLES}"


def vocabulary_notice(tokenizer: Any, model: Any) -> str | None:
    """A notice if the tokenizer knows more tokens than the model."""
    from decoding.model.capabilities import vocabulary_size

    rows = vocabulary_size(model)
    if len(tokenizer) <= rows:
        return None
    return f"The tokenizer knows {len(tokenizer)} tokens and the model only {rows}: they may not belong together."
