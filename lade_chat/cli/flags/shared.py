"""Flags shared by the chat, ``ask`` and ``compare``, declared once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from lade_chat.cli.flags.arguments import CHAT_FLAGS, ColourChoice, Colours, setting, whole
from lade_chat.cli.flags.sampling import (
    Base,
    MinP,
    RepetitionPenalty,
    SamplingBase,
    Seed,
    Stops,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    sampling_of,
)
from lade_chat.cli.flags.settings import settle
from lade_chat.cli.flags.usage import usage
from lade_chat.engine.ranks import torchrun
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Sampling, Sizes
from lade_chat.settings.catalogue import MODEL_SETTINGS, SETTINGS


@dataclass(frozen=True)
class SharedOptions:
    """The flags of the model, the decoding and the colours, a field each."""

    model_path: Annotated[
        str | None,
        typer.Option(
            "--model-path",
            metavar="PATH_OR_HUB_ID",
            help="A model's folder or its Hugging Face id; by default, the small bundled model.",
        ),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="cpu, cuda, cuda:1, mps …; by default, the best."),
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(metavar="DTYPE", help="float32, bfloat16 …; by default, whichever suits the device."),
    ] = None
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that ships with a model."),
    ] = False
    allow_pickle: Annotated[
        bool,
        typer.Option("--allow-pickle", help="Load pickled weights, which can run any code."),
    ] = False
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile/--no-compile",
            help="Compile the model's steps with torch.compile, which takes a minute or more at first."
            " On CUDA they run as CUDA graphs (experimental).",
        ),
    ] = False
    lookahead_workers: Annotated[
        int | None,
        typer.Option(
            "--lookahead-workers",
            metavar="INT",
            parser=whole(1),
            help="Processes that share each lookahead step, each with the whole model: one per GPU.",
        ),
    ] = None
    tensor_parallel: Annotated[
        int | None,
        typer.Option(
            "--tensor-parallel",
            "--tp",
            metavar="INT",
            parser=whole(1),
            help="Processes to split the model over (tensor parallelism).",
        ),
    ] = None
    device_map: Annotated[
        str | None,
        typer.Option(
            "--device-map",
            metavar="MAP",
            help="Spread the model's layers over all devices: auto, balanced … (needs lade-chat[devices]).",
        ),
    ] = None
    lookahead: Annotated[
        bool,
        typer.Option(
            "--lookahead/--no-lookahead",
            envvar="USE_LADE",
            show_envvar=True,
            help="Decode by lookahead, or plainly: the text is the same.",
        ),
    ] = True
    window_size: Annotated[
        int | None,
        typer.Option(
            "--window-size",
            "-W",
            metavar="INT",
            parser=setting("window_size"),
            help="Columns of the lookahead window (W)."
            " Without -W, -N, -G the sizes follow from the measured cost of a step; with one, the others are 7, 5, 7.",
        ),
    ] = None
    ngram_size: Annotated[
        int | None,
        typer.Option(
            "--ngram-size", "-N", metavar="INT", parser=setting("ngram_size"), help="Length of the n-grams (N)."
        ),
    ] = None
    guess_set_size: Annotated[
        int | None,
        typer.Option(
            "--guess-set-size",
            "-G",
            metavar="INT",
            parser=setting("guess_set_size"),
            help="Most n-grams that a step verifies (G).",
        ),
    ] = None
    max_new_tokens: Annotated[
        int,
        typer.Option(
            "--max-new-tokens",
            metavar="INT",
            parser=setting("max_new_tokens"),
            help="Most tokens of a reply.",
        ),
    ] = 1024
    sampling: SamplingBase = Base.GREEDY
    temperature: Temperature = None
    top_p: TopP = None
    top_k: TopK = None
    min_p: MinP = None
    typical_p: TypicalP = None
    repetition_penalty: RepetitionPenalty = None
    seed: Seed = None
    stop: Stops = None
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system message; a resumed conversation uses it from there on.")
    ] = None
    raw: Annotated[bool, typer.Option("--raw", help="Continue the bare text, without roles (for base models).")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the speed-up and the details of decoding.")] = False
    colours: Colours = ColourChoice.VERIFIED

    def model(self) -> ModelOptions:
        return ModelOptions(
            path=self.model_path,
            device=self.device,
            dtype=self.dtype,
            trust_remote_code=self.trust_remote_code,
            allow_pickle=self.allow_pickle,
            step_cost=self.sizes() is None,
            compiled=self.compiled,
            lookahead_workers=1 if self.tensor_parallel else self.processes(),
            tensor_parallel=self.processes() if self.tensor_parallel else 1,
            device_map=self.device_map,
        )

    def processes(self) -> int:
        """Return the number of processes; under torchrun, as many as it has started."""
        if self.tensor_parallel and (self.lookahead_workers or 1) > 1:
            raise typer.BadParameter("it does not go with --lookahead-workers", param_hint="--tensor-parallel")
        asked = self.tensor_parallel or self.lookahead_workers
        started = torchrun.world_size() if torchrun.under_torchrun() else None
        if started is not None and asked not in (None, started):
            flag = "--tensor-parallel" if self.tensor_parallel else "--lookahead-workers"
            raise typer.BadParameter(f"torchrun has started {started} processes, not {asked}", param_hint=flag)
        return started or asked or 1

    def decoding(self) -> DecodingOptions:
        return DecodingOptions(
            lookahead=self.lookahead,
            sizes=self.sizes(),
            max_new_tokens=self.max_new_tokens,
            raw=self.raw,
            debug=self.debug,
            sampling=self.sampling_options(),
            stop=tuple(self.stop or ()),
        )

    def sampling_options(self) -> Sampling | None:
        """Return the sampling; None for greedy decoding."""
        names = (name for name in Sampling.__struct_fields__ if name != "from_model")
        return sampling_of(self.sampling, Sampling(**{name: getattr(self, name) for name in names}))

    def sizes(self) -> Sizes | None:
        """Return the sizes given, completed by the paper's; None if none was given."""
        values = {name: getattr(self, name) for name in Sizes.__struct_fields__}
        given = {name: value for name, value in values.items() if value is not None}
        return Sizes(**given) if given else None

    def messages(self, prompt: str) -> tuple[Message, ...]:
        """Return a conversation of one question; bare text has no system message."""
        question = Message("user", prompt)
        return (Message("system", self.system), question) if self.system and not self.raw else (question,)


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes ``context`` and ``options: SharedOptions`` a flag for each shared option.

    A flag given before a subcommand applies to it, unless given again behind it. Flags not given take their values
    from the settings, the command's own flags too; ``context.obj`` holds the settings.
    """
    return with_some_options(settings=SETTINGS)(command)


def with_some_options(
    *, without: Collection[str] = (), settings: Collection[str] = MODEL_SETTINGS, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like :func:`with_shared_options`, without some of the flags and settings, and with other defaults for some."""
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
            for name in {field.name for field in dataclasses.fields(SharedOptions)}.difference(names):
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
    given = [name for name in CHAT_FLAGS if _given(context.parent, name)]
    for name in given:
        if name not in values:
            hint = "; ask --continue continues the latest conversation" if name == "resume" else ""
            flag = CHAT_FLAGS[name]
            raise usage(f"{flag} is for the chat itself, without a command: {context.info_name} has no such flag{hint}")
    return {**values, **{name: before[name] for name in given if not _given(context, name)}}


def _given(context: typer.Context | Any, name: str) -> bool:
    """Tell whether a flag is on the command line; defaults and the environment do not count."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
