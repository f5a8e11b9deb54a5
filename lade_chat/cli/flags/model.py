"""Flags of the model and of lookahead."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

import typer

from lade_chat.cli.flags.arguments import device, dtype, quantisation, valued, whole
from lade_chat.engine.ranks import torchrun
from lade_chat.loading.precision import LISTED_PRECISIONS
from lade_chat.protocol.values import ModelOptions, Sizes, quantisation_named

MAX_PROCESSES = max(8, os.cpu_count() or 1)
"""Most processes that a flag starts: each has a processor or a GPU of its own."""


@dataclass(frozen=True)
class ModelFlags:
    """The flags of the model and of lookahead, a field each."""

    model_path: Annotated[
        str | None,
        typer.Option(
            "--model-path",
            "-m",
            metavar="PATH_OR_HUB_ID",
            help="A model's folder or GGUF file, its Hugging Face id (ID:Q4_K_M for one of its GGUF files),"
            " ollama:NAME, or a short name (lade-chat models); by default bundled, the small model that is installed.",
        ),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", parser=device, help="cpu, cuda, cuda:1, mps …; by default, the best."),
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="DTYPE",
            parser=dtype,
            help="auto (default): a GPU uses the checkpoint's; a CPU the faster of float32 and bfloat16."
            f" Or {LISTED_PRECISIONS}, which is --quantize int8.",
        ),
    ] = None
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code that ships with a model.")
    ] = False
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights, which can run any code.")
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
            metavar="INT",
            parser=whole(1, MAX_PROCESSES),
            help="Processes that share each lookahead step, each with the whole model: one per GPU.",
        ),
    ] = None
    tensor_parallel: Annotated[
        int | None,
        typer.Option(
            "--tensor-parallel",
            "--tp",
            metavar="INT",
            parser=whole(1, MAX_PROCESSES),
            help="Processes to split the model over (tensor parallelism).",
        ),
    ] = None
    device_map: Annotated[
        str | None,
        typer.Option(
            metavar="MAP",
            help="Spread the model's layers over all devices: auto, balanced … (needs accelerate).",
        ),
    ] = None
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            parser=quantisation,
            help="int8: linear layers in 8 bits, on a CPU.",
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
        valued(
            "window_size",
            "Columns of the lookahead window (W); 0: none, guesses come from the text and earlier steps alone."
            " Without -W, -N, -G the sizes follow from the measured cost of a step; with one, the others are 7, 5, 7.",
            *("--window-size", "-W"),
        ),
    ] = None
    ngram_size: Annotated[int | None, valued("ngram_size", "Length of the n-grams (N).", "--ngram-size", "-N")] = None
    guess_set_size: Annotated[
        int | None,
        valued("guess_set_size", "Most n-grams that a step verifies (G); 0: none.", "--guess-set-size", "-G"),
    ] = None
    max_new_tokens: Annotated[int, valued("max_new_tokens", "Most tokens of a reply.")] = 1024
    thought_delimiters: tuple[tuple[str, str, str], ...] = ()
    """Those of the settings; there is no flag for them."""

    def model(self) -> ModelOptions:
        """Return the model options: of each the flag of its name, but for some."""
        named = quantisation_named(self.dtype)
        flags = {name: value for name, value in vars(self).items() if name in ModelOptions.__struct_fields__}
        own = {
            "path": self.model_path,
            "dtype": None if named else self.dtype,
            "step_cost": self.sizes() is None,
            "lookahead_workers": 1 if self.tensor_parallel else self.processes(),
            "tensor_parallel": self.processes() if self.tensor_parallel else 1,
            "quantize": self.quantize or named,
        }
        return ModelOptions(**{**flags, **own})

    def processes(self) -> int:
        """Return the number of processes; under torchrun, as many as it has started."""
        if self.tensor_parallel and (self.lookahead_workers or 1) > 1:
            raise typer.BadParameter("it does not go with --lookahead-workers", param_hint="--tensor-parallel")
        asked = self.tensor_parallel or self.lookahead_workers
        started = torchrun.world_size() if torchrun.is_under_torchrun() else None
        if started is not None and asked not in (None, started):
            flag = "--tensor-parallel" if self.tensor_parallel else "--lookahead-workers"
            raise typer.BadParameter(f"torchrun has started {started} processes, not {asked}", param_hint=flag)
        return started or asked or 1

    def sizes(self) -> Sizes | None:
        """Return the sizes given, completed by the paper's; None if none was given."""
        values = {name: getattr(self, name) for name in Sizes.__struct_fields__}
        given = {name: value for name, value in values.items() if value is not None}
        return Sizes(**given) if given else None
