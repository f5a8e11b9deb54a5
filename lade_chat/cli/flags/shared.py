"""Flags shared by the chat, ``ask`` and ``compare``, declared once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from lade_chat.cli.flags.arguments import ColoursFlag
from lade_chat.cli.flags.model import ModelFlags
from lade_chat.cli.flags.sampling import SamplingFlags
from lade_chat.cli.flags.settings import settle
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.protocol.values import DecodingOptions, Message, Sizes
from lade_chat.settings.catalogue import SETTINGS

_SAMPLING = (field.name for field in dataclasses.fields(SamplingFlags))
OF_A_REPLY = (*_SAMPLING, "lookahead", "max_new_tokens", "system", "raw", "debug", "colours")
"""Flags of a single reply, which commands without one leave out."""
SIZES = Sizes.__struct_fields__


@dataclass(frozen=True)
class SharedOptions(SamplingFlags, ModelFlags):
    """All shared flags, a field each: the model, lookahead, sampling, and these."""

    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system message; a resumed conversation uses it from there on.")
    ] = None
    raw: Annotated[bool, typer.Option("--raw", help="Continue the bare text, without roles (for base models).")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the speed-up and the details of decoding.")] = False
    colours: ColoursFlag = "verified"

    def decoding(self) -> DecodingOptions:
        """Return the decoding options: of each the flag of its name, but for some."""
        flags = {name: value for name, value in vars(self).items() if name in DecodingOptions.__struct_fields__}
        own = {"sizes": self.sizes(), "sampling": self.sampling_options(), "stop": tuple(self.stop or ())}
        return DecodingOptions(**{**flags, **own})

    def messages(self, prompt: str) -> tuple[Message, ...]:
        """Return a conversation of one question; bare text has no system message."""
        question = Message("user", prompt)
        return (Message("system", self.system), question) if self.system and not self.raw else (question,)


SHARED = tuple(field.name for field in dataclasses.fields(SharedOptions))
"""The names of all shared options."""


def with_shared_options(
    *, without: Collection[str] = (), settings: Collection[str] = SETTINGS, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes ``context`` and ``options: SharedOptions`` a flag for each shared option.

    A flag given before a subcommand applies to it, unless given again behind it. Flags not given take their values
    from the settings, the command's own flags too; ``context.obj`` holds the settings.

    Args:
        without: options that have no flag here.
        settings: the settings that apply.
        defaults: other defaults of some flags.
    """
    without = {*without, "thought_delimiters"}
    fields = [field for field in dataclasses.fields(SharedOptions) if field.name not in without]
    return lambda command: _with_flags(command, fields, settings, defaults)


def _with_flags(
    command: Callable[..., None],
    fields: Sequence[dataclasses.Field[Any]],
    settings: Collection[str],
    defaults: Mapping[str, Any],
) -> Callable[..., None]:
    names = [field.name for field in fields]

    @functools.wraps(command)
    def run(context: typer.Context, **values: Any) -> None:
        shared = {name: values.pop(name) for name in names}
        if context.parent is not None:
            for name in set(SHARED).difference(names):
                if _given(context.parent, name):
                    raise typer.BadParameter("this command has no such flag", param_hint=f"--{name.replace('_', '-')}")
            for name in names:
                if _given(context.parent, name) and not _given(context, name):
                    shared[name] = context.parent.params[name]
            values = _with_values_before(context, values)
        if context.invoked_subcommand is None:
            given = {**shared, **values}
            with_system = given.get("system") is not None
            context.obj = settle(context, given, settings)
            if given.get("raw") and with_system:
                raise usage("--raw and --system exclude one another: a bare text has no roles")
            shared, values = ({name: given[name] for name in group} for group in (shared, values))
            shared["thought_delimiters"] = context.obj.thought_delimiters
        command(context=context, options=SharedOptions(**shared), **values)

    own = inspect.signature(command, eval_str=True).parameters.values()
    hints = get_type_hints(SharedOptions, include_extras=True)
    flags = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, field.default),
            annotation=hints[field.name],
        )
        for field in fields
    ]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(parameter for parameter in own if parameter.name != "options"), *flags]
    )
    return run


def _with_values_before(context: typer.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the parameters given before a command to its own. Raises a usage error for one of the chat alone."""
    assert context.parent is not None
    before: dict[str, Any] = context.parent.params
    flags = {each.name: each.opts[0] for each in context.parent.command.params if each.name not in SHARED}
    given = [name for name in flags if _given(context.parent, name)]
    for name in given:
        if name not in values:
            hint = "; ask --continue continues the latest conversation" if name == "resume" else ""
            raise usage(
                f"{flags[name]} is for the chat itself, without a command: {context.info_name} has no such flag{hint}"
            )
    return {**values, **{name: before[name] for name in given if not _given(context, name)}}


def _given(context: typer.Context | Any, name: str) -> bool:
    """Tell whether a flag is on the command line; defaults and the environment do not count."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
