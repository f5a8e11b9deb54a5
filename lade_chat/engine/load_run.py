"""Loads a model on a thread, reporting progress; a download can be cancelled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator
from dataclasses import replace
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import msgspec
import torch

from lade_chat.engine.job import Job
from lade_chat.engine.ranks.group import RankGroup
from lade_chat.errors import ModelError
from lade_chat.loading.findings_cache import keep_step_cost
from lade_chat.loading.model_loader import LoadedModel, Report, load, with_compiled_steps
from lade_chat.protocol.events import Loading
from lade_chat.protocol.values import ModelOptions, Stage

CANCELLED = "The download was cancelled; what has arrived is kept, and loading the model again goes on from there."
SAMPLES = 16
"""Values of each weight that are looked at."""
VOCABULARY_STRIDE = 16


def load_in_thread(
    job: Job, load: Callable[[Report], LoadedModel], before_weights: Callable[[], None]
) -> Generator[Loading, None, LoadedModel | BaseException]:
    """Load, and yield the progress; returns the model or the exception.

    A cancelled download is not waited for: its thread ends when the next bytes arrive. ``before_weights`` is called, in
    the thread that loads, before the weights are read.
    """
    events: SimpleQueue[Loading | LoadedModel | BaseException] = SimpleQueue()
    downloading = cancelled = False
    lock = Lock()

    def report(stage: Stage, done: int, total: int) -> None:
        nonlocal downloading, cancelled
        with lock:
            downloading = stage == "download"
            cancelled |= downloading and job.download_stopped
            if cancelled:
                raise ModelError(CANCELLED)
        if stage in ("unpacking", "weights"):
            before_weights()
        events.put(Loading(stage, done, total))

    def cancel() -> None:
        nonlocal cancelled
        with lock:
            if downloading and not cancelled:
                cancelled = True
                events.put(ModelError(CANCELLED))

    def work() -> None:
        try:
            events.put(load(report))
        except BaseException as error:  # raised or reported where the result is read
            events.put(error)

    job.on_download_stop = cancel
    Thread(target=work, name="loading", daemon=True).start()
    while isinstance(event := events.get(), Loading):
        yield event
    return event


def load_on_all(options: ModelOptions, report: Report, ranks: RankGroup) -> LoadedModel:
    """Load the model on all ranks, compile its steps if asked to, and look up their cost if lookahead needs it."""
    ranks.assign(options)
    loaded = load(options, report)
    mark = loaded.info.fingerprint or fingerprint(loaded.model, loaded.tokenizer)
    loaded = replace(loaded, info=msgspec.structs.replace(loaded.info, fingerprint=mark))
    if options.compiled:
        report("compile", 0, 1)
        loaded = with_compiled_steps(loaded)
        report("compile", 1, 1)
    loaded = ranks.attach(loaded)
    if options.step_cost and loaded.info.lookahead_supported:
        # Elsewhere it can wait until the first token was shown.
        measured = options.compiled or options.processes > 1
        report("cost", 0, 1)
        keep_step_cost(loaded, measured=measured)
        report("cost", 1, 1)
    return loaded


def fingerprint(model: Any, tokenizer: Any) -> str:
    """Return 32 hexadecimal digits that are the same wherever and in whichever dtype the model was loaded.

    A few values of every weight stand for all, since training changes all, and some tokens for the vocabulary. Values
    are rounded to bfloat16, the coarsest of the usual dtypes. Split or packed weights count by name and shape.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(model.named_parameters()):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        digest.update(_sample(weight))
    vocabulary = len(tokenizer)
    some = tokenizer.convert_ids_to_tokens(list(range(0, vocabulary, VOCABULARY_STRIDE)))
    digest.update(json.dumps([vocabulary, some]).encode())
    return digest.hexdigest()[:32]


@torch.inference_mode()
def _sample(weight: torch.Tensor) -> bytes:
    if hasattr(weight, "to_local"):
        return b""  # indexing a split weight would wait for the other ranks
    try:
        flat = weight.detach().reshape(-1)
        places = torch.linspace(0, max(flat.numel() - 1, 0), SAMPLES, dtype=torch.float64).long()
        return bytes(flat[places.to(flat.device)].to("cpu", torch.bfloat16).view(torch.uint8).numpy())
    except (NotImplementedError, RuntimeError, TypeError):
        return b""
