"""Mask check: compares one step over several branches with plain forward passes over the same texts.

It detects models whose attention ignores masks or positions although their configuration does not say so, such as
position biases and local windows counted by index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.prefix import KVPrefix, input_device
from decoding.model.rotary import RotaryState
from decoding.model.step_inputs import StepInputs
from decoding.step import Origin

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PREFIX_TOKENS = 12
PADDING_TOKENS, PADDED_TOKENS = 3, 24
MAX_CHECKED_WINDOW = 512
"""Local windows up to this length are checked past their end; longer ones would take seconds on a large model."""
NOISE_FACTOR = 8.0
"""Allowed difference between a step and plain decoding, as a multiple of the rounding error measured."""
MIN_TOLERANCE = 1e-4
ROUNDINGS = 12
"""Difference always allowed in half precision, in units of the last place, since the rounding error measured may be 0.
In bfloat16, correct steps were measured to differ by 0.5 to 2.5 units, and wrong masks by 18 to 58."""


def why_branches_fail(model: PreTrainedModel, capabilities: ModelCapabilities) -> str | None:
    """Return the reason why a step over several branches differs from plain decoding; None if it does not.

    Raises as :func:`reason_or_failure`.
    """

    def check() -> str | None:
        if _is_bidirectional(model, capabilities):
            return "it reads a text in both directions"
        if not _branches_match_plain(model, capabilities):
            return "a step over several branches gives it other logits than plain decoding"
        return None

    return reason_or_failure(check, "a mask over several branches")


def reason_or_failure(check: Callable[[], str | None], tried: str) -> str | None:
    """Return the reason that a check gives, or that the model's forward fails on what is tried.

    Raises:
        MemoryError, torch.OutOfMemoryError, RuntimeError: there was not enough memory; the check is inconclusive.
    """
    try:
        return check()
    except Exception as error:  # a model's own code may raise anything on inputs of a kind not known to it
        # On the CPU, PyTorch has no class of its own for an allocation that failed.
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator" in str(error):
            raise
        return f"its forward fails on {tried} ({type(error).__name__})"


@torch.inference_mode()
def is_padding_visible(
    model: PreTrainedModel, capabilities: ModelCapabilities, padding: Sequence[int], *, with_positions: bool
) -> bool:
    """Return True if masked padding on the left changes what the model generates after a text.

    That is so in recurrent models, which read padding as text, and in models whose positions count the padding. To some
    models `generate` passes positions: ``with_positions``.
    """
    draw, rotary, padding = Random(2), RotaryState(model), padding[:PADDING_TOKENS]
    length = min(_prefix_length(model, capabilities), PADDED_TOKENS)
    # 0 may be the padding token.
    text = [draw.randrange(1, vocabulary_size(model)) for _ in range(length)]
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
    # Padding may also give NaN.
    return not distance(*after) <= _min_tolerance(model)


@torch.inference_mode()
def _is_bidirectional(model: PreTrainedModel, capabilities: ModelCapabilities) -> bool:
    """Return True if a token changes earlier tokens' logits, as in a BERT that is not configured as a decoder.

    The two forward passes compared have the same shape, so rounding does not differ.
    """
    draw, vocabulary = Random(1), vocabulary_size(model)
    text = [draw.randrange(vocabulary) for _ in range(min(PREFIX_TOKENS, _prefix_length(model, capabilities)))]
    before, rotary = [], RotaryState(model)
    for last in (text[-1], (text[-1] + 1) % vocabulary):
        ids = torch.tensor([[*text[:-1], last]], device=input_device(model))
        with rotary.original():
            before.append(model(input_ids=ids, return_dict=True).logits[0, -2])
    return distance(*before) > _min_tolerance(model)


def _branches_match_plain(model: PreTrainedModel, capabilities: ModelCapabilities) -> bool:
    draw = Random(0)
    vocabulary = vocabulary_size(model)
    prefix = [draw.randrange(vocabulary) for _ in range(_prefix_length(model, capabilities))]
    branches = [[draw.randrange(vocabulary) for _ in range(2)] for _ in range(2)]
    guesses = [[draw.randrange(vocabulary) for _ in range(2)] for _ in range(2)]
    tree = CandidateTree()
    for branch in branches:
        tree.add(branch, Origin.CONTEXT)
    window = JacobiWindow(2, 3, guesses[0])
    window.advance(guesses[1])
    inputs = StepInputs.from_branches(prefix[-1], tree, window)

    # The prefix is read once for all texts, since every forward pass of a large model takes long.
    plain = KVPrefix(model, capabilities)
    plain.next_logits(prefix[:-1])
    length = plain.length
    several = plain.branch_logits(inputs)
    # The last of each branch, and the window's last row: column 1 sees row 0 up to itself, then its own column.
    columns = [[guesses[0][0], guesses[1][0]], [guesses[0][0], guesses[0][1], guesses[1][1]]]
    texts: list[list[int]] = [[], *branches, *columns]
    rows = [0, 2, 4, len(inputs.logit_rows) - 2, len(inputs.logit_rows) - 1]
    continued = []
    for text in texts:
        plain.rewind(length)
        continued.append(plain.next_logits([prefix[-1], *text]))
    differences = [distance(several[row], logits) for row, logits in zip(rows, continued, strict=True)]
    limit, noises = _min_tolerance(model), list[float]()
    # One by one: no comparison with NaN is true, and `max` may skip it.
    if not all(each <= limit for each in differences):
        # Rounding is measured only where it matters: texts are read whole for it.
        whole = [KVPrefix(model, capabilities).next_logits([*prefix, *texts[at]]) for at in (0, -1)]
        noises = [distance(continued[at], logits) for at, logits in zip((0, -1), whole, strict=True)]
        limit = max(NOISE_FACTOR * max(noises), limit)
    return all(each <= limit for each in [*differences, *noises])


def _min_tolerance(model: PreTrainedModel) -> float:
    return max(MIN_TOLERANCE, ROUNDINGS * torch.finfo(model.dtype).eps)


def _prefix_length(model: PreTrainedModel, capabilities: ModelCapabilities) -> int:
    config = model.config.get_text_config(decoder=True)
    names = ("sliding_window", "attention_chunk_size", "window_size", "attention_window", "local_window_size")
    windows = [getattr(config, name, None) for name in names]
    window = max((w for w in windows if isinstance(w, int) and 0 < w <= MAX_CHECKED_WINDOW), default=0)
    room = (capabilities.position_limit or window + PREFIX_TOKENS) - 8
    return max(2, min(window + PREFIX_TOKENS, room))


def distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Return the distance of two rows of logits, in units of their standard deviation; NaN if one holds NaN.

    Tokens that the model itself rules out, with the lowest possible logit, must be the same in both.
    """
    if torch.equal(left, right):
        return 0.0
    possible = ~(right <= torch.finfo(right.dtype).min)
    if not torch.equal(left[~possible], right[~possible]):
        return nan
    left, right = left[possible].double(), right[possible].double()
    return float((left - right).square().mean().sqrt() / right.std())
