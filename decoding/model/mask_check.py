"""The probe: one real step over several branches, held against the same texts read plainly.

The capabilities cannot see what a model does inside (position biases, local windows by index); this can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import torch
from transformers import PreTrainedModel

from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.model.capabilities import ModelCapabilities
from decoding.model.inputs import StepInputs
from decoding.model.linear_kernels import LinearKernels
from decoding.model.prefix import KVPrefix, input_device
from decoding.model.rotary import RotaryState
from decoding.step import Origin

PREFIX_TOKENS = 12
PADDING_TOKENS, PADDED_TOKENS = 3, 24
MAX_CHECKED_WINDOW = 512
"""Local windows up to this length are probed past their end; longer ones would cost seconds on a large model."""
NOISE_FACTOR = 8.0
"""A right step differs from plain reading by rounding alone: by no more than this many times the rounding seen."""
MIN_TOLERANCE = 1e-4
ROUNDINGS = 12
"""Units in the last place that a right step may be off, in half precision: there the rounding seen may be nil by luck.
Tried in bfloat16: right steps are off by 0.5 to 2.5 of them, a wrong mask by 18 to 58."""


def why_branches_fail(
    model: PreTrainedModel, capabilities: ModelCapabilities, kernels: Callable[[], LinearKernels]
) -> str | None:
    """None if a step over several branches gives what plain reading gives, else the reason it does not."""
    try:
        if _sees_ahead(model, capabilities):
            return "it reads a text in both directions"
        alike = _branches_read_as_plain(model, capabilities, lambda: KVPrefix(model, capabilities, kernels))
    except Exception as error:  # a model's own code: anything may come of a mask that it does not know
        return f"its forward fails on a mask over several branches ({type(error).__name__})"
    return None if alike else "a step over several branches gives it other logits than plain reading"


@torch.inference_mode()
def padding_counts(
    model: PreTrainedModel, capabilities: ModelCapabilities, padding: Sequence[int], *, with_positions: bool
) -> bool:
    """Return whether `generate` has the model say something else after a text with masked padding on its left.

    So do recurrent models that take padding for text, and models that count their positions from the padding on.

    Args:
        padding: the tokens before a text, a few of which are tried.
        with_positions: whether `generate` gives this model positions.
    """
    draw, rotary, padding = Random(2), RotaryState(model), padding[:PADDING_TOKENS]
    length = min(_prefix_length(model, capabilities), PADDED_TOKENS)
    # Tokens of no meaning of their own, as far as that is known; 0 may be the padding's.
    text = [draw.randrange(1, _vocabulary(model)) for _ in range(length)]
    after = []
    for before in ([], padding):
        ids = torch.tensor([[*before, *text]], device=input_device(model))
        mask = torch.tensor([[0] * len(before) + [1] * len(text)], device=ids.device)
        positions = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)} if with_positions else {}
        caller: Any = model
        inputs = caller.prepare_inputs_for_generation(
            ids, is_first_iteration=True, attention_mask=mask, use_cache=False, **positions
        )
        with rotary.original():
            after.append(model(**inputs, return_dict=True).logits[0, -1])
    # Padding may also give no numbers at all.
    return not _distance(*after) <= _min_tolerance(model)


@torch.inference_mode()
def _sees_ahead(model: PreTrainedModel, capabilities: ModelCapabilities) -> bool:
    """Whether a token changes what the model says before it, as in a BERT that is not told to be a decoder.

    Held against one another are two forward passes of one shape, which round alike.
    """
    draw = Random(1)
    text = [draw.randrange(_vocabulary(model)) for _ in range(min(PREFIX_TOKENS, _prefix_length(model, capabilities)))]
    before, rotary = [], RotaryState(model)
    for last in (text[-1], (text[-1] + 1) % _vocabulary(model)):
        ids = torch.tensor([[*text[:-1], last]], device=input_device(model))
        with rotary.original():
            before.append(model(input_ids=ids, return_dict=True).logits[0, -2])
    return _distance(*before) > _min_tolerance(model)


def _branches_read_as_plain(
    model: PreTrainedModel, capabilities: ModelCapabilities, new_prefix: Callable[[], KVPrefix]
) -> bool:
    draw = Random(0)
    vocabulary = _vocabulary(model)
    prefix = [draw.randrange(vocabulary) for _ in range(_prefix_length(model, capabilities))]
    branches = [[draw.randrange(vocabulary) for _ in range(2)] for _ in range(2)]
    guesses = [[draw.randrange(vocabulary) for _ in range(2)] for _ in range(2)]
    tree = CandidateTree()
    for branch in branches:
        tree.add(branch, Origin.CONTEXT)
    window = JacobiWindow(2, 3, guesses[0])
    window.advance(guesses[1])
    inputs = StepInputs.lay_out(prefix[-1], tree, window)

    plain = new_prefix()
    plain.read_logits(prefix[:-1])
    several = plain.branch_logits(inputs)
    # The last of each branch, and the window's last row: column 1 sees row 0 up to itself, then its own column.
    texts: list[list[int]] = [
        [],
        *branches,
        [guesses[0][0], guesses[1][0]],
        [guesses[0][0], guesses[0][1], guesses[1][1]],
    ]
    rows = [0, 2, 4, len(inputs.read) - 2, len(inputs.read) - 1]
    difference = noise = 0.0
    for text, row in zip(texts, rows, strict=True):
        at_once, one_by_one = _plain_logits(new_prefix, [*prefix, *text])
        difference = max(difference, _distance(several[row], at_once))
        noise = max(noise, _distance(at_once, one_by_one))
    return difference <= max(NOISE_FACTOR * noise, _min_tolerance(model))


def _vocabulary(model: PreTrainedModel) -> int:
    size: int = model.config.get_text_config(decoder=True).vocab_size
    return size


def _min_tolerance(model: PreTrainedModel) -> float:
    return max(MIN_TOLERANCE, ROUNDINGS * torch.finfo(model.dtype).eps)


def _prefix_length(model: PreTrainedModel, capabilities: ModelCapabilities) -> int:
    config = model.config.get_text_config(decoder=True)
    names = ("sliding_window", "attention_chunk_size", "window_size", "attention_window", "local_window_size")
    windows = [getattr(config, name, None) for name in names]
    window = max((w for w in windows if isinstance(w, int) and 0 < w <= MAX_CHECKED_WINDOW), default=0)
    room = (capabilities.position_limit or window + PREFIX_TOKENS) - 8
    return max(2, min(window + PREFIX_TOKENS, room))


def _plain_logits(new_prefix: Callable[[], KVPrefix], text: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits after a text, read at once and with its last tokens read singly; they differ by rounding."""
    at_once = new_prefix().read_logits(text)
    prefix = new_prefix()
    split = max(1, len(text) - 4)
    one_by_one = prefix.read_logits(text[:split])
    for token in text[split:]:
        one_by_one = prefix.read_logits([token])
    return at_once, one_by_one


def _distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """How far apart two rows of logits are, in units of their spread."""
    left, right = left.double(), right.double()
    return float((left - right).square().mean().sqrt() / right.std())
