"""A function as a conversation shows it: one way under its names, with what was added; and its lines explained."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.recipe.skills.python_task import Case, Task, fill

_MEANINGS = (
    (r"def (\w+)\(\).*:", "starts the function `{0}`, which takes no arguments."),
    (r"def (\w+)\((.+)\)(?: -> \w+)?:", "starts the function `{0}`, which takes `{1}`."),
    (r"for _ in (.+):", "repeats what is under it once for each element of `{0}`."),
    (r"for (.+) in (.+):", "goes through `{1}` and calls each element `{0}`."),
    (r"while (.+):", "repeats what is under it as long as `{0}` is true."),
    (r"if (.+):", "runs what is under it only if `{0}` is true."),
    (r"elif (.+):", "comes next: it runs what is under it if `{0}` is true."),
    (r"return (.+)", "ends the function and gives back `{0}`."),
    (r"(\w+)\.append\((.+)\)", "puts `{1}` at the end of `{0}`."),
    (r"(\w+) \+= (.+)", "adds `{1}` to `{0}`."),
    (r"(\w+) \*= (.+)", "multiplies `{0}` by `{1}`."),
    (r"([\w, ]+) = (.+)", "gives `{0}` the value `{1}`."),
)


@dataclass(frozen=True)
class Shown:
    """The task's function, and the additions ("document", "comment", "typed", "example") it has by now."""

    task: Task
    way: int
    names: dict[str, str]
    does: str
    additions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The function's present name."""
        return self.names["f"]

    @property
    def why(self) -> str:
        """Why this way works."""
        return fill(self.task.ways[self.way].why, self.names)

    @property
    def code(self) -> str:
        """The function with all its additions."""
        head, body = fill(self.task.ways[self.way].code, self.names).split("\n", 1)
        lines = [_typed(head, self.task.cases[0]) if "typed" in self.additions else head]
        if "document" in self.additions:
            lines.append(f'    """{self.does[0].upper()}{self.does[1:]}."""')
        if "comment" in self.additions:
            lines.append(f"    # {self.why}")
        lines.append(body)
        if "example" in self.additions:
            lines += ["", "", _called(self.name, self.task.cases[0])]
        return "\n".join(lines)

    @property
    def has_case(self) -> bool:
        """Whether the task has a case that gives each parameter its value, from which types and a call follow."""
        head = self.task.ways[self.way].code.partition("\n")[0]
        count = len([name for name in head.partition("(")[2].removesuffix("):").split(", ") if name])
        given = self.task.cases[0][0] if self.task.cases else None
        return given is not None and '"' not in given and "=" not in head and "*" not in head and _count(given) == count

    @property
    def block(self) -> str:
        """The code, fenced."""
        return f"```python\n{self.code}\n```"


def _count(given: str) -> int:
    return len(eval(f"({given},)")) if given else 0


def _called(name: str, case: Case) -> str:
    """A line that calls the function and says in a comment what it prints."""
    given, expected = (text.replace("'", '"') for text in case)
    return f"{name}({given})" if expected == "None" else f"print({name}({given}))  # {expected}"


def _typed(head: str, case: Case) -> str:
    """The line that begins a function with the types of the case's arguments and value."""
    given, expected = case
    returned = "None" if expected == "None" else type(eval(expected)).__name__
    start, _, rest = head.partition("(")
    parameters = [name for name in rest.removesuffix("):").split(", ") if name]
    types = [type(value).__name__ for value in (eval(f"({given},)") if given else ())]
    if returned == "float":
        types = ["float" if kind == "int" else kind for kind in types]
    typed = ", ".join(f"{name}: {kind}" for name, kind in zip(parameters, types, strict=True))
    return f"{start}({typed}) -> {returned}:"


def meaning(line: str) -> str | None:
    """A sentence about the line, which it quotes; None for lines of other kinds."""
    line = line.strip()
    for pattern, words in _MEANINGS:
        if found := re.fullmatch(pattern, line):
            return f"`{line}` {words.format(*found.groups())}"
    return None
