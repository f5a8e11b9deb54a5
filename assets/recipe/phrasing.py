"""Ways of putting any question otherwise, so that hardly two in training are alike.

A question is a template; what stands in its `{fields}` is the user's own and never touched. The grammar's rules are
the lines of texts/wording/constructions.txt: a greeting before, a word of thanks after, "can you" in front of what is
wished for, a list before the task instead of after it, words of the same meaning; then carelessness in typing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from assets.recipe.wording import read_wording

_RULES = read_wording("constructions")
_FIELDS = re.compile(r"(\{[^{}]*\})")
_SAME = {
    words[0]: words[1:]
    for words in (line.split(" / ") for line in _RULES["same"])
}  # fmt: skip
_SAID = re.compile(rf"\b({'|'.join(sorted(map(re.escape, _SAME), key=len, reverse=True))})\b", re.IGNORECASE)
_WISH = re.compile(
    r"(?:Please |please )?(Write|Make|Give me|Show me|Tell me|Sort|Repeat|Say|Copy|Echo|Count|Reverse|Put|Show|Convert|"
    r"Turn|Spell|List|Calculate|Compute|Work out|Find|Create|Arrange|Order|Explain|Describe|Change|Join|Remove|Add|"
    r"Type|Print|Keep|Pick|Replace|Number|Translate|Compose|Invent|Name|Rename|Rewrite|Format|Summarise|Draw)\b"
)
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {row[at]: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYBOARD for at in range(len(row))}


def reworded(rng: Random, template: str) -> str:
    """The question with some of its words replaced by others that mean the same."""

    def other(found: re.Match[str]) -> str:
        said = found.group()
        if rng.random() < 0.6:
            return said
        word = rng.choice(_SAME[said.lower()])
        return word[0].upper() + word[1:] if said[0].isupper() else word

    return _outside_fields(template, lambda text: _SAID.sub(other, text))


def rephrased(rng: Random, template: str, new: bool, expand: Callable[[str], str]) -> str:
    """The question put otherwise; `new` asks for constructions that training never has."""

    def drawn(rule: str) -> str:
        return expand(rng.choice(_RULES[("new " if new else "") + rule]))

    task, colon, rest = template.partition(": ")
    moved = colon and rest == "{x}" and "{" not in task and rng.random() < 0.3
    wished = _WISH.match(template) is not None and rng.random() < 0.25
    if wished:
        said = template[template.lower().startswith("please ") and 7 :]
        if moved:
            said = said.partition(": ")[0]
        said = drawn("wish").replace("{do}", _lower_first(said.rstrip(".?!")))
        template = said if not moved else said.rstrip(".") + ": {x}"
    if moved:
        task = template.removesuffix(": {x}")
        template = drawn("moved").replace("{task}", task if rng.random() < 0.5 else _lower_first(task))
    if rng.random() < 0.15:
        inner = template if rng.random() < 0.5 else _lower_first(template)
        template = drawn("before").replace("{q}", inner)
    if rng.random() < 0.1 and not template.endswith("}"):
        template = drawn("after").replace("{q}", template)
    return template


def roughened(rng: Random, template: str) -> str:
    """The question as carelessly typed as people type: lower case, no full stop, typos; never inside a field."""
    if rng.random() < 0.28:
        template = _outside_fields(template, str.lower)
    if rng.random() < 0.2:
        template = template.rstrip(".?!")
    if rng.random() < 0.05:
        template = _outside_fields(template, lambda text: re.sub("[,.?!:'](?= |$)", "", text))
    while rng.random() < 0.1:
        parts = _FIELDS.split(template)
        at = rng.randrange(0, len(parts), 2)
        parts[at] = _typo(rng, parts[at])
        template = "".join(parts)
    return template


def _outside_fields(template: str, change: Callable[[str], str]) -> str:
    return "".join(part if part.startswith("{") else change(part) for part in _FIELDS.split(template))


def _typo(rng: Random, text: str) -> str:
    """Two neighbouring letters swapped, one left out, one twice, or a key beside the right one."""
    places = [i for i in range(1, len(text) - 2) if text[i : i + 2].isalpha()]
    if not places:
        return text
    at = rng.choice(places)
    one, two = text[at], text[at + 1]
    wrong = rng.choice((two + one, one, one + one + two, rng.choice(_NEIGHBOURS.get(one.lower(), one)) + two))
    return text[:at] + wrong + text[at + 2 :]


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if not text.startswith(("I ", "I'", "JSON", "Python", "Markdown", "{")) else text
