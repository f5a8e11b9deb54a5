"""Loads a model and its tokenizer from a folder, the Hub or this package, with progress, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.errors import LadeChatError, ModelError, OutOfMemoryError, does_not_fit, is_out_of_memory, summary
from lade_chat.loading.checkpoint import bundled_model_path, check_tokenizer, check_weights, local_folder, read_config
from lade_chat.loading.templates import prepare
from lade_chat.loading.tokenization import has_chat_template
from lade_chat.protocol.values import ModelInfo, ModelOptions, Stage

if TYPE_CHECKING:
    from decoding import StepCost
    from decoding.parallel import Workers

__all__ = ["LoadedModel", "bundled_model_path", "load"]

_PLAIN_ROLES = "the roles are written as plain text (User:, Assistant:)."

Report = Callable[[Stage, int, int], None]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to generate, and what goes with it."""

    model: Any
    """A transformers causal LM in eval mode, on its device."""
    tokenizer: Any
    info: ModelInfo
    eos_token_ids: tuple[int, ...]
    """Every token that ends a reply: the generation config's, the tokenizer's, the chat template's end of turn."""
    step_cost: StepCost | None = None
    """What a step costs here, where that has been measured (see ``step_costs``)."""
    workers: Workers | None = None
    """The other processes that share each step of lookahead."""
    shared_cost: StepCost | None = None
    """What a step costs that is shared with them, where that has been measured."""


def load(options: ModelOptions, report: Report) -> LoadedModel:
    """Loads what ``options`` ask for; ``report(stage, done, total)`` is called as it goes, total 0 if not known.

    Nothing is printed. Raises ModelError (DeviceError, OutOfMemoryError among them), whose text is one line.
    """
    report("configuration", 0, 1)
    prepare(options.path)
    # Seconds of imports stand behind this one, so the first report comes before it.
    from lade_chat.loading.quiet import quiet

    with quiet(on_weights=lambda done, total: report("weights", done, total)):
        try:
            return _load(options, report)
        except LadeChatError:
            raise
        except Exception as error:  # a stranger's files: transformers lets through whatever its parts raise
            if is_out_of_memory(error):
                raise OutOfMemoryError(does_not_fit(_what(options))) from error
            raise ModelError(f"{_what(options)} cannot be loaded: {summary(error)}") from error


def _load(options: ModelOptions, report: Report) -> LoadedModel:
    from lade_chat.loading.architecture import context_window, load_config, plain_attention
    from lade_chat.loading.placement import placement
    from lade_chat.loading.precision import choose_device, parse_dtype
    from lade_chat.loading.tokenization import load_tokenizer
    from lade_chat.loading.weights import dtype_for, read_weights

    device, requested = choose_device(options.device), parse_dtype(options.dtype)
    folder = _folder(options, report)
    config = load_config(folder, name=options.path or "", trust_remote_code=options.trust_remote_code)
    notices = [plain_attention(config)]
    check_tokenizer(folder)
    weights = check_weights(folder, allow_pickle=options.allow_pickle)
    report("configuration", 1, 1)

    report("tokenizer", 0, 1)
    tokenizer = load_tokenizer(folder, config, trust_remote_code=options.trust_remote_code)
    report("tokenizer", 1, 1)

    dtype = dtype_for(weights, config, requested, device, what=_what(options))
    placed = placement(options, config)
    model, unused = read_weights(
        folder, config, weights, dtype, trust_remote_code=options.trust_remote_code, placement=placed
    )
    if not placed:
        model.to(device)
    notices += [unused, _template_notice(tokenizer), _vocabulary_notice(tokenizer, model)]

    report("probe", 0, 1)
    _check_numbers(model, tokenizer, what=_what(options))
    supported, reason = _lookahead(model)
    notices.append(reason)
    report("probe", 1, 1)
    parameters = model.num_parameters()
    info = ModelInfo(
        name=_name(options.path, parameters),
        device=_devices(model),
        dtype=str(dtype).removeprefix("torch."),
        parameters=parameters,
        context_window=context_window(config),
        lookahead_supported=supported,
        notices=tuple(notice for notice in notices if notice),
    )
    return LoadedModel(model, tokenizer, info, _eos_token_ids(model, tokenizer))


def _folder(options: ModelOptions, report: Report) -> Path:
    """Where the checkpoint lies, downloaded if need be."""
    if options.path is None:
        return bundled_model_path()
    folder = local_folder(options.path)
    if folder is not None:
        read_config(folder)
        return folder
    from lade_chat.loading.hub import fetch

    return fetch(
        options.path,
        lambda done, total: report("download", done, total),
        trust_remote_code=options.trust_remote_code,
        allow_pickle=options.allow_pickle,
    )


def _devices(model: Any) -> str:
    """Where the model lies; several devices in the order of its layers."""
    spread = getattr(model, "hf_device_map", None) or {"": model.device}
    names = (f"cuda:{place}" if isinstance(place, int) else str(place) for place in spread.values())
    return ", ".join(dict.fromkeys(names))


def _check_numbers(model: Any, tokenizer: Any, *, what: str) -> None:
    """Raises ModelError if one token is enough for the model to say what is no number."""
    import torch

    first = tokenizer.bos_token_id or 0
    try:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([[first]], device=model.device)).logits
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        return  # a model of an unusual kind, which others look at
    if bool(logits.isnan().any()):
        raise ModelError(
            f"{what} answers with what is no number (NaN): its weights are broken, or too large for {model.dtype}."
            " Download it again, or try --dtype float32."
        )


def _lookahead(model: Any) -> tuple[bool, str | None]:
    """Whether the model can be decoded by lookahead, and if not, a notice why."""
    from decoding import lookahead_support

    support = lookahead_support(model)
    if support.supported:
        return True, None
    return False, f"Lookahead is off: {(support.reason or 'not supported').rstrip('.')}. Decoding plainly."


def _eos_token_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    from lade_chat.loading.tokenization import end_of_turn_id

    declared = getattr(model.generation_config, "eos_token_id", None)
    ids = declared if isinstance(declared, (list, tuple)) else [declared]
    ids = [*ids, tokenizer.eos_token_id, end_of_turn_id(tokenizer)]
    return tuple(dict.fromkeys(int(id_) for id_ in ids if id_ is not None))


def _template_notice(tokenizer: Any) -> str | None:
    """A notice if the roles are written as plain text; a template that cannot be rendered is taken away."""
    from lade_chat.loading.tokenization import template_problem

    problem = template_problem(tokenizer)
    if problem is not None:
        tokenizer.chat_template = None
        return f"The model's chat template is broken ({problem}): {_PLAIN_ROLES}"
    return None if has_chat_template(tokenizer) else f"The model has no chat template: {_PLAIN_ROLES}"


def _vocabulary_notice(tokenizer: Any, model: Any) -> str | None:
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) <= rows:
        return None
    return f"The tokenizer knows {len(tokenizer)} tokens and the model only {rows}: they may not belong together."


def _name(path: str | None, parameters: int) -> str:
    """What people call the model: a Hub id as it is, a folder by its name."""
    if path is None:
        return f"bundled-{parameters / 1e6:.0f}M"
    return Path(path).expanduser().resolve().name if local_folder(path) else path


def _what(options: ModelOptions) -> str:
    """What an error calls the model."""
    return options.path or "The bundled model"
