"""Where a model's weights go when they lie on more than one device: what transformers is asked for, or why not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from lade_chat.errors import DeviceError, ModelError
from lade_chat.protocol.values import ModelOptions


def placement(options: ModelOptions, config: Any) -> dict[str, Any]:
    """Arguments of ``from_pretrained``; none where the model goes to one device.

    Raises:
        DeviceError: what that needs is not installed, or it goes with nothing else that was asked for.
        ModelError: the model cannot be split over so many.
    """
    if options.tensor_parallel > 1:
        return _tensor_parallel(options, config)
    if options.device_map is None:
        return {}
    if options.device is not None:
        raise DeviceError("--device-map and --device exclude each other: leave one of them away.")
    if options.compiled:
        raise DeviceError("--compile does not go with --device-map.")
    if find_spec("accelerate") is None:
        raise DeviceError("--device-map needs accelerate: pip install 'lade-chat[devices]'.")
    return {"device_map": options.device_map}


def _tensor_parallel(options: ModelOptions, config: Any) -> dict[str, Any]:
    ranks = options.tensor_parallel
    if options.device_map is not None or options.compiled:
        raise DeviceError(f"--tensor-parallel does not go with {'--compile' if options.compiled else '--device-map'}.")
    text = config.get_text_config(decoder=True)
    if not getattr(text, "base_model_tp_plan", None):
        raise ModelError(f"transformers has no plan to split a {config.model_type} model over several processes.")
    for name, what in (("num_attention_heads", "attention heads"), ("num_key_value_heads", "heads of keys and values")):
        heads = getattr(text, name, None)
        if isinstance(heads, int) and heads % ranks:
            raise ModelError(f"--tensor-parallel {ranks} does not divide the model's {heads} {what}.")
    from transformers.distributed.configuration_utils import DistributedConfig

    return {"distributed_config": DistributedConfig(tp_size=ranks, tp_plan="auto")}
