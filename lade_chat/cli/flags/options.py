"""The flags of the model, lookahead, sampling and thoughts that commands share, a field each, declared once."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from lade_chat.cli.flags.arguments import ColoursFlag, device, dtype, quantisation, valued, whole
from lade_chat.engine.ranks import torchrun
from lade_chat.loading.precision import LISTED_PRECISIONS
from lade_chat.paths import SURROGATES
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Sampling, Sizes, quantisation_named

MAX_PROCESSES = max(8, os.cpu_count() or 1)
"""Most processes that a flag starts: each has a processor or a GPU of its own."""


def _check_stops(stops: list[str] | None) -> list[str] | None:
    for stop in stops or ():
        if not stop:
            raise typer.BadParameter("an empty text would stop every reply.")
        if SURROGATES.search(stop):
            raise typer.BadParameter("its bytes are not UTF-8.")
    return stops


@dataclass(frozen=True)
class SharedOptions:
    """All shared flags."""

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
            metavar="MAP", help="Spread the model's layers over all devices: auto, balanced … (needs accelerate)."
        ),
    ] = None
    quantize: Annotated[
        str | None, typer.Option(metavar="METHOD", parser=quantisation, help="int8: linear layers in 8 bits, on a CPU.")
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
    sampling: Annotated[
        Literal["greedy", "model"],
        typer.Option(
            help="greedy: the likeliest token; model: the checkpoint's own settings. --temperature, --top-p, --top-k,"
            " --min-p and --typical-p override it and switch sampling on."
        ),
    ] = "greedy"
    temperature: Annotated[
        float | None,
        valued(
            "temperature", "Divide the logits: higher is more varied, 0 is greedy. 1 if only other flags are given."
        ),
    ] = None
    top_p: Annotated[float | None, valued("top_p", "Sample from the likeliest tokens with this total probability.")] = (
        None
    )
    top_k: Annotated[int | None, valued("top_k", "Sample from this many likeliest tokens; 0 for all.")] = None
    min_p: Annotated[
        float | None, valued("min_p", "Sample from tokens with at least this share of the likeliest one's probability.")
    ] = None
    typical_p: Annotated[
        float | None, valued("typical_p", "Sample from the most typical tokens with this total probability.")
    ] = None
    repetition_penalty: Annotated[
        float | None,
        valued("repetition_penalty", "Above 1, tokens already in the text become less likely, in greedy decoding too."),
    ] = None
    seed: Annotated[
        int | None,
        valued(
            "seed",
            "The same seed gives the same text, with lookahead or without; by default one is drawn and shown."
            " It switches sampling on where that is greedy.",
        ),
    ] = None
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            callback=_check_stops,
            help="End the reply before this text; repeatable. A line break is $'\\n' in most shells.",
        ),
    ] = None
    think: Annotated[
        bool | None,
        typer.Option(
            "--think/--no-think", help="Have the model think before it answers, or not, where its chat template can."
        ),
    ] = None
    max_thought_tokens: Annotated[
        int | None, valued("max_thought_tokens", "Most tokens of a thought; then it is closed, and the answer follows.")
    ] = None
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A system message; a resumed conversation uses it from there on.")
    ] = None
    raw: Annotated[bool, typer.Option("--raw", help="Continue the bare text, without roles (for base models).")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the speed-up and the details of decoding.")] = False
    colours: ColoursFlag = "verified"
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

    def decoding(self) -> DecodingOptions:
        """Return the decoding options: of each the flag of its name, but for some."""
        flags = {name: value for name, value in vars(self).items() if name in DecodingOptions.__struct_fields__}
        asked = {name: getattr(self, name) for name in Sampling.__struct_fields__ if name != "from_model"}
        # Over a model's own settings a seed is only the seed; it does not make a greedy model sample.
        sampling = Sampling(**asked, from_model=self.sampling == "model").normalized()
        own = {"sizes": self.sizes(), "sampling": sampling, "stop": tuple(self.stop or ())}
        return DecodingOptions(**{**flags, **own})

    def messages(self, prompt: str) -> tuple[Message, ...]:
        """Return a conversation of one question; bare text has no system message."""
        question = Message("user", prompt)
        return (Message("system", self.system), question) if self.system and not self.raw else (question,)


SHARED = tuple(field.name for field in dataclasses.fields(SharedOptions))
"""The names of all shared options."""
SIZES = Sizes.__struct_fields__
OF_A_REPLY = (
    *("sampling", "temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty", "seed", "stop", "think"),
    *("max_thought_tokens", "lookahead", "max_new_tokens", "system", "raw", "debug", "colours"),
)
"""Flags of a single reply, which commands without one leave out."""
