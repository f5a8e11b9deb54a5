"""Exit codes, and the line about them that ends every ``--help``."""

from __future__ import annotations

from textwrap import indent

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""After Ctrl+C."""
TERMINATED = 143
"""After SIGTERM, as from ``timeout``."""
READER_GONE = 141
"""The code that a shell reports for a program ended by SIGPIPE."""

EXIT_CODES = (
    "Exit codes: 0 done · 1 failed · 2 wrong usage · 130 interrupted · 141 the reader of a pipe left · 143 SIGTERM"
)


def epilog(examples: str) -> str:
    """Return the end of a command's help: its examples, a line each, and the exit codes."""
    return f"\b\nExamples:\n{indent(examples.strip(), '  ')}\n\n{EXIT_CODES}"
