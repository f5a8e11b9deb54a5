"""A Python function as a conversation shows it: its code under any names and parameters, with what was added to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.recipe.skills.python.task import Task, fill
from assets.recipe.words import upper_first

_BUILT_IN = ("sum", "max", "min", "len", "sorted", "abs", "set", "reversed", "count", "index", "pow", "round", "any",
             "all")  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A function as a conversation shows it: one way under its names, with its additions ("document", "typed" …).

    A `usual` name tells what the function does; `renamed` are the parameters that the user calls otherwise.
    """

    task: Task
    way: int
    names: dict[str, str]
    does: str
    usual: bool = True
    additions: frozenset[str] = frozenset()
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.names["f"]

    @property
    def why(self) -> str:
        return fill(self.task.ways[self.way].why, self.names)

    @property
    def plain(self) -> str:
        """The function without additions."""
        code, renamed = fill(self.task.ways[self.way].code, self.names), dict(self.renamed)
        return re.sub(r"(?<![.\w\"'\\])[a-z]\w*", lambda found: renamed.get(found.group(), found.group()), code)

    @property
    def parameters(self) -> list[str]:
        head = self.plain.partition("\n")[0]
        return [name for name in head.partition("(")[2].removesuffix("):").split(", ") if name]

    @property
    def manner(self) -> str:
        """A wish for the way it is written: without a built-in function, by recursion, in a loop or line; or none."""
        body, ways = self.plain.partition("\n")[2], "".join(way.code for way in self.task.ways)
        spared = next((one for one in _BUILT_IN if f"{one}(" in ways and f"{one}(" not in body), "")
        looped = "looped" if re.search(r"^ +(for|while) ", body, re.MULTILINE) else ""
        looped = "recursive" if re.search(rf"(?<![.\w]){self.name}\(", body) else looped
        return f"without {spared}" if spared else looped or ("in_line" if "\n" not in body else "")

    @property
    def code(self) -> str:
        """The function with all its additions."""
        head, body = self.plain.split("\n", 1)
        lines = [self._typed_head() if "typed" in self.additions else head]
        if "document" in self.additions:
            lines.append(f'    """{upper_first(self.does)}."""')
        if "comment" in self.additions:
            lines.append(f"    # {self.why}")
        lines.append(body)
        if "example" in self.additions:
            given, expected = (text.replace("'", '"') for text in self.task.cases[0])
            call = f"{self.name}({given})"
            lines += ["", "", call if expected == "None" else f"print({call})  # {expected}"]
        return "\n".join(lines)

    def _typed_head(self) -> str:
        """The line that begins the function with the types of a case's arguments and value."""
        given, expected = self.task.cases[0]
        returned = "None" if expected == "None" else type(eval(expected)).__name__
        types = [type(value).__name__ for value in arguments(given)]
        if returned == "float":
            types = ["float" if kind == "int" else kind for kind in types]
        typed = ", ".join(f"{name}: {kind}" for name, kind in zip(self.parameters, types, strict=True))
        return f"def {self.name}({typed}) -> {returned}:"

    @property
    def has_case(self) -> bool:
        """Return True if a case of the task gives each parameter its value: types and a call follow from it."""
        given, parameters = self.task.cases[0][0] if self.task.cases else '"', self.parameters
        plain = '"' not in given and not re.search("[=*]", "".join(parameters))
        return plain and len(arguments(given)) == len(parameters)

    @property
    def block(self) -> str:
        return f"```python\n{self.code}\n```"


def arguments(given: str) -> tuple[object, ...]:
    """The values of a call's arguments, as they are written between its brackets."""
    return tuple(eval(f"({given},)")) if given else ()
