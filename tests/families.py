"""All families of causal language models in transformers: which of them lookahead serves, recorded and told.

`python -m tests.families` writes the table of assets/docs/models.md from the record; with `--record` it makes the
record anew first. The tests hold every family to the record, and the page to the table.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from decoding import Decoder, LookaheadConfig, LookaheadDecoder, lookahead_support
from tests.costs import NEARLY_FREE, budgeted
from tests.models import hf_greedy, random_prompt, tokens_of
from tests.small_configs import small_config

RECORD = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).resolve().parents[1] / "assets" / "docs" / "models.md"
BEGIN, END = "<!-- families -->", "<!-- /families -->"
MODEL_TYPES = tuple(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
ATTENTIONS = ("sdpa", "eager")
LENGTH = 16
"""Tokens that are read before a text."""
SAID = 8
"""Tokens of a text."""
FEW = 12
"""Likely tokens of a model that is decoded: so few that candidates are there from the first step on, and accepted."""
CHAIN = "one chain"
FLOAT32 = frozenset({"inkling2_text", "xglm", "xlnet"})
"""Families whose own code fails in float64."""
UNBUILT = {
    **dict.fromkeys(
        ("gemma4_assistant", "gemma4_unified_assistant"), "drafts for another model, whose states it wants"
    ),
    "blt": "`generate` itself fails on it",
    "gemma3n": "needs the timm library (its text part alone, `gemma3n_text`, does not)",
    **dict.fromkeys(("musicgen", "musicgen_melody"), "its configuration builds no causal language model"),
}
"""Families of which no model is built here, and why."""

CONDITIONS = (
    "Falcon is served without ALiBi, BERT and its kin where they are decoders, and attention that picks its tokens by",
    "a score (DeepSeek-V3.2 and its kin) for as long as it still sees all of them. Doge is served for texts that stay",
    "within its `keep_window_size`; a longer one is decoded plainly from its prompt on.",
)


@dataclass(frozen=True)
class Outcome:
    """What becomes of a family.

    Attributes:
        attentions: those with which lookahead serves it; empty if it does not.
        reason: why not, as the end of a sentence about the model.
        one_chain: served with one chain of candidates a step, since its state is recurrent.
    """

    attentions: tuple[str, ...] = ()
    reason: str | None = None
    one_chain: bool = False

    @classmethod
    def from_json(cls, known: str | list[str] | dict[str, list[str]]) -> Outcome:
        """The outcome that :meth:`to_json` gave."""
        if isinstance(known, str):
            return cls(reason=known)
        return cls(tuple(known[CHAIN]), one_chain=True) if isinstance(known, dict) else cls(tuple(known))

    def to_json(self) -> object:
        """The outcome as the record has it."""
        return {CHAIN: self.attentions} if self.one_chain else self.attentions or self.reason


def small_model(model_type: str, attention: str | None = None) -> Any:
    """A small model of this family with random weights, large enough that its logits depend on every token seen.

    Raises:
        ValueError: the family has no such attention.
    """
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(small_config(model_type), attn_implementation=attention)
    model = model.eval()
    if model_type not in FLOAT32:
        model = model.double()
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
            if parameter.dim() == 1 or not parameter.any():
                # What starts as zeros or ones would say nothing.
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def prompt(length: int = LENGTH) -> list[int]:
    """Half of it is said twice, so that there is something to look up from the first step on."""
    return [3 + token % (FEW - 3) for token in random_prompt(length // 2)] * 2


def speaking_few(model: Any) -> Any:
    """The model, whose other tokens are unlikely from now on."""
    if (head := model.get_output_embeddings()) is not None:
        with torch.no_grad():
            head.weight[FEW:] = 0
    return model


DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "a budget": lambda model: budgeted(model, NEARLY_FREE),
    "fixed sizes": lambda model: LookaheadDecoder(model, LookaheadConfig(7, 5, 7)),
}


def mistaken(model: Any, names: Sequence[str] = tuple(DECODERS), expected: list[int] | None = None) -> str | None:
    """What these decoders do that `generate` does not, with this model; None if they say the same.

    Args:
        expected: what `generate` is known to say, by the same weights with another attention.
    """
    expected = expected or hf_greedy(model, prompt(), SAID)
    served = lookahead_support(model).supported
    for name in names:
        steps = list(DECODERS[name](model).generate(prompt(), max_new_tokens=SAID))
        # Two attentions may round apart: then this one's own text counts.
        if (said := tokens_of(steps)) != expected and said != hf_greedy(model, prompt(), SAID):
            return f"with {name} it says something else"
        if served != any(step.forward_tokens > 1 for step in steps[1:]):
            return f"with {name} it {'never looks' if served else 'looks'} ahead"
        if not served:
            return None
    return None


def outcome(model_type: str, tried: Sequence[str] = ATTENTIONS, decoders: Sequence[str] = tuple(DECODERS)) -> Outcome:
    """What becomes of a family, found out now: of two attentions each meets one decoder, a single one meets all.

    Args:
        tried: the attentions that it is tried with.
        decoders: the decoders that it meets.

    Raises:
        AssertionError: a decoder says something else than `generate`.
    """
    attentions, names, expected, one_chain = list[str](), [*decoders], list[int](), False
    for attention in tried:
        try:
            model = speaking_few(small_model(model_type, attention))
        except ValueError:  # no such attention
            continue
        expected = expected or hf_greedy(model, prompt(), SAID)
        support = lookahead_support(model)
        mistake, names = mistaken(model, names[:1], expected), names[1:]
        assert mistake is None, f"{model_type}, {attention}: {mistake}"
        if not support.supported:
            return Outcome(reason=support.reason)
        attentions.append(attention)
        one_chain = support.one_chain
    assert attentions, f"{model_type} has none of the attentions {', '.join(tried)}"
    mistake = mistaken(model, names, expected)
    assert mistake is None, f"{model_type}, {attentions[-1]}: {mistake}"
    return Outcome(tuple(attentions), one_chain=one_chain)


def recorded() -> dict[str, Outcome]:
    """The record."""
    known = json.loads(RECORD.read_text(encoding="utf-8"))["families"]
    return {name: Outcome.from_json(of) for name, of in known.items()}


def recorded_version() -> str:
    """The version of transformers that the record was made with."""
    version: str = json.loads(RECORD.read_text(encoding="utf-8"))["transformers"]
    return version


def record() -> None:
    """Make the record anew, of all families that this transformers has."""
    lines = []
    for model_type in sorted(set(MODEL_TYPES) - set(UNBUILT)):
        found = outcome(model_type)
        lines.append(f'  "{model_type}": {json.dumps(found.to_json())}')
        sys.stdout.write(lines[-1] + "\n")
    families = ",\n".join(lines)
    RECORD.write_text(
        f'{{\n "transformers": "{transformers.__version__}",\n "families": {{\n{families}\n }}\n}}\n', encoding="utf-8"
    )


def table() -> str:
    """The page's lines between the markers."""
    families = recorded()
    served = sorted(name for name, of in families.items() if of.attentions)
    chains = [name for name in served if families[name].one_chain]
    eager = [name for name in served if families[name].attentions == ("eager",)]
    reasons: dict[str, list[str]] = {}
    for name, of in sorted(families.items()):
        if of.reason is not None:
            # What stands in brackets is about one model.
            reasons.setdefault(re.sub(r" \(.*?\)", "", of.reason), []).append(name)
    for name, reason in UNBUILT.items():
        reasons.setdefault(f"not tried: {reason}", []).append(name)
    lines = [
        f"<details><summary>All {len(families) + len(UNBUILT)} model types of transformers {recorded_version()}:"
        f" {len(served)} served, {len(families) - len(served)} decoded plainly, {len(UNBUILT)} not tried</summary>",
        "",
        *_wrapped("**Served**", served),
        "",
        *_wrapped("Of these with eager attention alone", eager),
        "",
        *_wrapped("Of these with one chain of candidates a step, since they have a recurrent state", chains),
        "",
        *CONDITIONS,
        "",
        "| not served, because | model types |",
        "|---|---|",
        *(f"| {why} | {', '.join(map(_code, names))} |" for why, names in _by_count(reasons)),
        "",
        "</details>",
    ]
    return "\n".join(lines)


def with_table(page: str) -> str:
    """The page with the table between its markers."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def _by_count(reasons: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    return sorted(reasons.items(), key=lambda item: (item[0].startswith("not tried"), -len(item[1])))


def _code(name: str) -> str:
    return f"`{name}`"


def _wrapped(title: str, names: list[str]) -> Iterator[str]:
    """A list of names in lines of at most 120 characters."""
    line = f"{title}:"
    for index, name in enumerate(names):
        word = _code(name) + ("." if index == len(names) - 1 else ",")
        if len(line) + 1 + len(word) > 120:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
