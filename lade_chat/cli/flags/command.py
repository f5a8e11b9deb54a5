"""The class of every command: its help names an argument by its metavar alone, without Python's name of a type."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from lade_chat.cli.flags.usage import USAGE_ERROR


class Command(TyperCommand):
    """Flags are written as the parser has them: their metavars stand beside their names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise usage errors that know which command they are of: the parser's of a missing value does not."""
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            error.ctx = getattr(error, "ctx", None) or ctx  # type: ignore[attr-defined]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the flags, each with its help."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                rows["Arguments"].append((parameter.metavar or record[0], record[1]))
            elif record is not None:
                rows["Options"].append(record)
        for title, written in rows.items():
            if written:
                with formatter.section(title):
                    formatter.write_dl(written)
