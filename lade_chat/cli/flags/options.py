"""The flags of the model, lookahead, sampling and thoughts that commands share, a field each, declared once."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Literal

import typer

from lade_chat.cli.flags.arguments import device, dtype, flag, number, quantisation, whole
from lade_chat.engine.ranks import torchrun
from lade_chat.paths import SURROGATES
from lade_chat.precision_names import LISTED_PRECISIONS
from lade_chat.presentation.token_looks import ColourView
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

    model_path: str | None = flag(
        "A model's folder or GGUF file, its Hugging Face id (ID:Q4_K_M for one of its GGUF files),"
        " ollama:NAME, or a short name (lade-chat models); by default bundled, the small model that is installed.",
        *("--model-path", "-m"),
        metavar="PATH_OR_HUB_ID",
    )
    device: str | None = flag("cpu, cuda, cuda:1, mps …; by default, the best.", metavar="DEVICE", parser=device)
    dtype: str | None = flag(
        "auto (default): a GPU uses the checkpoint's; a CPU the faster of float32 and bfloat16."
        f" Or {LISTED_PRECISIONS}, which is --quantize int8.",
        metavar="DTYPE",
        parser=dtype,
    )
    trust_remote_code: bool = flag("Run Python code that ships with a model.", "--trust-remote-code", default=False)
    allow_pickle: bool = flag("Load pickled weights, which can run any code.", "--allow-pickle", default=False)
    compiled: bool = flag(
        "Compile the model's steps with torch.compile, which takes a minute or more at first."
        " On CUDA they run as CUDA graphs (experimental).",
        "--compile/--no-compile",
        default=False,
    )
    lookahead_workers: int | None = flag(
        "Processes that share each lookahead step, each with the whole model: one per GPU.",
        metavar="INT",
        parser=whole(1, MAX_PROCESSES),
    )
    tensor_parallel: int | None = flag(
        "Processes to split the model over (tensor parallelism).",
        *("--tensor-parallel", "--tp"),
        metavar="INT",
        parser=whole(1, MAX_PROCESSES),
    )
    device_map: str | None = flag(
        "Spread the model's layers over all devices: auto, balanced … (needs accelerate).", metavar="MAP"
    )
    quantize: str | None = flag("int8: linear layers in 8 bits, on a CPU.", metavar="METHOD", parser=quantisation)
    lookahead: bool = flag(
        "Decode by lookahead, or plainly: the text is the same.",
        "--lookahead/--no-lookahead",
        default=True,
        envvar="USE_LADE",
        show_envvar=True,
    )
    window_size: int | None = number(
        "window_size",
        "Columns of the lookahead window (W); 0: none, guesses come from the text and earlier steps alone."
        " Without -W, -N, -G the sizes follow from the measured cost of a step; with one, the others are 7, 5, 7.",
        *("--window-size", "-W"),
    )
    ngram_size: int | None = number("ngram_size", "Length of the n-grams (N).", "--ngram-size", "-N")
    guess_set_size: int | None = number(
        "guess_set_size", "Most n-grams that a step verifies (G); 0: none.", "--guess-set-size", "-G"
    )
    max_new_tokens: int = number("max_new_tokens", "Most tokens of a reply.", default=1024)
    sampling: Literal["greedy", "model"] = flag(
        "greedy: the likeliest token; model: the checkpoint's own settings. --temperature, --top-p, --top-k,"
        " --min-p and --typical-p override it and switch sampling on.",
        default="greedy",
    )
    temperature: float | None = number(
        "temperature", "Divide the logits: higher is more varied, 0 is greedy. 1 if only other flags are given."
    )
    top_p: float | None = number("top_p", "Sample from the likeliest tokens with this total probability.")
    top_k: int | None = number("top_k", "Sample from this many likeliest tokens; 0 for all.")
    min_p: float | None = number(
        "min_p", "Sample from tokens with at least this share of the likeliest one's probability."
    )
    typical_p: float | None = number("typical_p", "Sample from the most typical tokens with this total probability.")
    repetition_penalty: float | None = number(
        "repetition_penalty", "Above 1, tokens already in the text become less likely, in greedy decoding too."
    )
    seed: int | None = number(
        "seed",
        "The same seed gives the same text, with lookahead or without; by default one is drawn and shown."
        " It switches sampling on where that is greedy.",
    )
    stop: list[str] | None = flag(
        "End the reply before this text; repeatable. A line break is $'\\n' in most shells.",
        metavar="TEXT",
        callback=_check_stops,
    )
    think: bool | None = flag(
        "Have the model think before it answers, or not, where its chat template can.", "--think/--no-think"
    )
    max_thought_tokens: int | None = number(
        "max_thought_tokens", "Most tokens of a thought; then it is closed, and the answer follows."
    )
    system: str | None = flag("A system message; a resumed conversation uses it from there on.", metavar="TEXT")
    raw: bool = flag("Continue the bare text, without roles (for base models).", "--raw", default=False)
    debug: bool = flag("Show the speed-up and the details of decoding.", "--debug", default=False)
    colours: ColourView = flag(
        "Colour verified tokens alike, or each by its source.", "--colours", "--colors", default="verified"
    )
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
