"""Loads a model and its tokenizer from a folder, the Hub or this package, with progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec

from lade_chat.errors import LadeChatError, ModelError, fitting, is_out_of_memory, summary
from lade_chat.loading.checkpoint import Weights, check_tokenizer, check_weights, local_model, read_config
from lade_chat.loading.text.template_renderer import prepare
from lade_chat.loading.text.thinking import DEFAULT, NO_SWITCH, Thinking, ThinkingSwitch, find_switch, find_thinking
from lade_chat.paths import bundled_model_path, expanded, place
from lade_chat.protocol.values import ModelInfo, ModelOptions, Stage

if TYPE_CHECKING:
    import torch

    from decoding.native.skeleton import Skeleton
    from decoding.parallel import PeerRanks

Report = Callable[[Stage, int, int], None]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to generate, with its tokenizer."""

    model: Any
    """A transformers causal LM in eval mode, on its device."""
    tokenizer: Any
    info: ModelInfo
    eos_token_ids: tuple[int, ...]
    """Tokens that end a reply: from the generation config, the tokenizer, and the chat template's end of turn."""
    thinking: Thinking = DEFAULT
    """The delimiters of its thoughts."""
    thinking_switch: ThinkingSwitch = NO_SWITCH
    workers: PeerRanks | None = None
    """The other ranks that share each lookahead step."""


LOOK_UP_SECONDS = 1.0
"""Time to find kernels that were compiled earlier."""
_compiling = Thread()
"""Compiles the C kernels, once that has begun."""


def compile_ahead() -> None:
    """Compile the C kernels on a thread while the libraries are imported: that alone takes about as long."""
    global _compiling
    spec = find_spec("decoding")
    if spec is not None and spec.origin is not None:
        # By its path: importing it would import the libraries first.
        build = run_path(str(Path(spec.origin).parent / "native" / "build.py"))
        _compiling = Thread(target=build["compiled_library"], name="compiling", daemon=True)
        _compiling.start()


def load(options: ModelOptions, report: Report) -> LoadedModel:
    """Load the model, calling ``report(stage, done, total)`` on the way, with total 0 if unknown.

    Prints nothing. Raises ModelError (such as DeviceError, OutOfMemoryError) with a text of one line.
    """
    report("configuration", 0, 1)
    prepare(options.path)
    # This import takes seconds, so the first report comes before it.
    from lade_chat.loading.quiet import quiet

    with quiet(on_weights=partial(report, "weights")), fitting(_what(options)):
        try:
            return _load(options, report)
        except LadeChatError:
            raise
        except Exception as error:  # transformers passes on whatever foreign files make its parts raise
            if is_out_of_memory(error):
                raise
            raise ModelError(f"{_what(options)} cannot be loaded: {summary(error)}") from error


def with_compiled_steps(loaded: LoadedModel) -> LoadedModel:
    """Compile the model's steps, or add a notice with the reason if that is not supported.

    This takes seconds to minutes. The model must not be changed afterwards.
    """
    from decoding import compile_support
    from lade_chat.loading.quiet import quiet

    with quiet():
        support = compile_support(loaded.model)
    info = loaded.info
    if support.supported:
        info = msgspec.structs.replace(info, compiled=True, bit_exact=False)
    else:
        notice = f"Steps are not compiled: {(support.reason or 'not supported').rstrip('.')}."
        info = msgspec.structs.replace(info, notices=(*info.notices, notice))
    return replace(loaded, info=info)


def _load(options: ModelOptions, report: Report) -> LoadedModel:
    from lade_chat.loading.findings_cache import fingerprint
    from lade_chat.loading.gguf_model import read_gguf
    from lade_chat.loading.precision import check_gguf_options, check_options, choose_device
    from lade_chat.loading.text.tokenization import eos_token_ids, template_notice, vocabulary_notice

    check_options(options)
    device = choose_device(options.device)  # one that is not there is refused before a download
    place, what = find_model(options, report), _what(options)
    if place.is_file():
        check_gguf_options(options, what)
        report("configuration", 1, 1)
        _await_kernels(report)
        model, tokenizer, info = read_gguf(options, place, report)
    else:
        model, tokenizer, info = _read_checkpoint(options, place, device, report)
    mark = info.fingerprint or fingerprint(model, tokenizer)
    notices = [*info.notices, template_notice(tokenizer), vocabulary_notice(tokenizer, model)]

    report("probe", 0, 1)
    in_c, supported, found = _probe(model, tokenizer, mark, what=what)
    report("probe", 1, 1)
    thinking, switch = _given_thinking(options) or find_thinking(tokenizer), find_switch(tokenizer)
    info = msgspec.structs.replace(
        info,
        device=_devices(model),
        lookahead_supported=supported,
        bit_exact=in_c,
        fingerprint=mark,
        notices=tuple(notice for notice in (*notices, *found) if notice),
        has_thinking_switch=switch != NO_SWITCH,
    )
    return LoadedModel(model, tokenizer, info, eos_token_ids(model, tokenizer), thinking, switch)


def _given_thinking(options: ModelOptions) -> Thinking | None:
    """Return the delimiters that the user has given for this model."""
    given = {place(path): Thinking(*pair) for path, *pair in options.thought_delimiters}
    return given.get(place(options.path)) if options.path is not None else None


def _read_checkpoint(
    options: ModelOptions, folder: Path, device: torch.device, report: Report
) -> tuple[Any, Any, ModelInfo]:
    """Read a checkpoint's model and tokenizer; returns them with what is known of the model so far."""
    from lade_chat.loading.checkpoint_config import context_window, import_model_types, load_config, plain_attention
    from lade_chat.loading.config_entries import check_against_weights
    from lade_chat.loading.plain_llama import open_plain_llama
    from lade_chat.loading.text.tokenization import load_tokenizer

    import_model_types()
    plain = open_plain_llama(options, folder) if device.type == "cpu" else None
    name = options.path or ""
    config = plain.config if plain else load_config(folder, name=name, trust_remote_code=options.trust_remote_code)
    attention = plain_attention(config)
    check_tokenizer(folder)
    weights = check_weights(folder, allow_pickle=options.allow_pickle)
    if not weights.pickled:  # of a pickle the number is a guess
        check_against_weights(_what(options), config.get_text_config(decoder=True), weights.parameters)
    report("configuration", 1, 1)

    report("tokenizer", 0, 1)
    tokenizer = load_tokenizer(folder, config, trust_remote_code=options.trust_remote_code)
    report("tokenizer", 1, 1)

    _await_kernels(report)
    model, dtype, parameters, unused = _model(options, folder, config, plain, weights, device, report)
    info = ModelInfo(
        name=_name(options.path, parameters),
        device=device.type,
        dtype=options.quantize or dtype,
        parameters=parameters,
        context_window=context_window(config),
        lookahead_supported=False,
        notices=tuple(notice for notice in (attention, unused) if notice),
    )
    return model, tokenizer, info


def _model(
    options: ModelOptions,
    folder: Path,
    config: Any,
    plain: Skeleton | None,
    weights: Weights,
    device: torch.device,
    report: Report,
) -> tuple[Any, str, int, str | None]:
    """Read the model and put it in its place, quantised if asked for.

    Returns it with the name of its dtype, the number of its parameters and a notice about unused tensors.
    """
    from lade_chat.loading.plain_llama import read_plain_llama
    from lade_chat.loading.precision import parse_dtype
    from lade_chat.loading.weights import check_quantize, dtype_for, placement, quantize, read_weights, stored_dtype

    requested = parse_dtype(options.dtype)
    if options.quantize:
        check_quantize(options.quantize, config, device)
    asked = requested or (stored_dtype(weights, config) if options.quantize else None)
    dtype = dtype_for(weights, config, asked, device, what=_what(options))
    if plain is not None:
        read_plain_llama(plain, folder, weights, dtype, partial(report, "weights"))
        return plain, str(dtype).removeprefix("torch."), plain.num_parameters(), None
    placed = placement(options, config)
    model, unused = read_weights(
        folder, config, weights, dtype, trust_remote_code=options.trust_remote_code, placement=placed
    )
    parameters = model.num_parameters()  # quantising changes the count
    if options.quantize:
        quantize(model, options.quantize, requested, partial(report, "weights"))
    elif not placed:
        model.to(device)
    return model, str(dtype).removeprefix("torch."), parameters, unused


def _probe(model: Any, tokenizer: Any, weights: str, *, what: str) -> tuple[bool, bool, list[str | None]]:
    """Tell if steps run in C, and if lookahead is supported, with notices. Raises ModelError if nothing decodes."""
    from decoding import trust_weights
    from lade_chat.loading.checkpoint_config import check_forward, no_kernels_notice
    from lade_chat.loading.findings_cache import lookahead_support, native_support

    trust_weights(model)
    try:
        in_c = native_support(model, weights)
    except Exception:  # of transformers' forward pass, which steps in C are compared with
        check_forward(model, tokenizer, what=what)  # says what fails
        raise
    if not in_c:  # whose check compares logits, so that NaN would have shown
        check_forward(model, tokenizer, what=what)
    supported, reason = lookahead_support(model)
    off = f"Lookahead is off: {(reason or 'not supported').rstrip('.')}. Decoding plainly."
    return in_c, supported, [None if in_c else no_kernels_notice(model), None if supported else off]


def _await_kernels(report: Report) -> None:
    """Wait for the C kernels, and report it if they are being compiled, not just looked up."""
    if _compiling.is_alive():
        _compiling.join(LOOK_UP_SECONDS)
    if _compiling.is_alive():
        report("kernels", 0, 1)
        _compiling.join()


def find_model(options: ModelOptions, report: Report) -> Path:
    """Return the checkpoint's folder or the GGUF file, downloaded if necessary. Raises ModelError if there is none."""
    if options.path is None:
        return bundled_model_path()
    place = local_model(options.path)
    if place is not None:
        if place.is_dir():
            read_config(place)
        return place
    from lade_chat.loading.hub import fetch, fetch_file

    on_download = partial(report, "download")
    repo_id, colon, wanted = options.path.partition(":")
    if colon:
        return fetch_file(repo_id, wanted, on_download)
    return fetch(repo_id, on_download, trust_remote_code=options.trust_remote_code, allow_pickle=options.allow_pickle)


def _devices(model: Any) -> str:
    """The model's device, or several in the order of its layers."""
    spread = getattr(model, "hf_device_map", None) or {"": model.device}
    names = (f"cuda:{place}" if isinstance(place, int) else str(place) for place in spread.values())
    return ", ".join(dict.fromkeys(names))


def _name(path: str | None, parameters: int) -> str:
    """Display name: the Hub id, or the folder's name."""
    if path is None:
        return f"bundled-{parameters / 1e6:.0f}M"
    return expanded(path).resolve().name if local_model(path) else path


def _what(options: ModelOptions) -> str:
    """The model's name in errors."""
    return options.path or "The bundled model"
