"""Traces: all of a model that no text may change."""

from __future__ import annotations

from typing import Any

import torch


def traces(model: Any) -> dict[str, object]:
    """All of a model that no text may change: names, functions, hooks, and where its tensors are and what they hold."""
    found: dict[str, object] = {"state_dict": list(model.state_dict())}
    for name, module in model.named_modules():
        own = vars(module)
        found[f"{name}: attributes"] = (type(module), sorted(own), id(own.get("forward")), module.training)
        found[f"{name}: hooks"] = [
            list(hooks) for key, hooks in own.items() if "hooks" in key and isinstance(hooks, dict)
        ]
    for name, tensor in model.state_dict(keep_vars=True).items():
        version = None if tensor.is_inference() else tensor._version
        found[f"{name}: tensor"] = (id(tensor), tensor.data_ptr(), version, tensor.requires_grad, tensor.is_inference())
    for name, module in model.named_modules():
        kind = str(getattr(module, "rope_type", ""))
        if "dynamic" in kind:
            found[f"{name}: frequencies"] = {
                key: value.tolist() if isinstance(value, torch.Tensor) else value
                for key, value in {**dict(module.named_buffers()), **vars(module)}.items()
                if "inv_freq" in key or "max_seq" in key or key == "attention_scaling"
            }
    return found
