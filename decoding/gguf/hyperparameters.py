"""The numbers in a GGUF file's metadata that describe its model."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError, Metadata, quoted


class Hyperparameters:
    """Numbers of the metadata that describe the model; llama.cpp calls them hparams."""

    def __init__(self, file: GgufFile, *, vary: bool = False, missing: Mapping[str, int] = {}) -> None:
        """With ``vary`` the layers may differ in their counts; ``missing`` are the counts that a file may lack."""
        self._vary = vary
        self._prefix, self._tensors = file.architecture, file.tensors
        self._metadata = Metadata({f"{self._prefix}.{key}": count for key, count in missing.items()} | file.metadata)

    def has_tensor(self, name: str) -> bool:
        """Return whether the file has a tensor of this name."""
        return name in self._tensors

    def of_layers(self, name: str, layers: int) -> list[int]:
        """Return a count of each layer, which the file has as one for all or for each."""
        found = self._metadata.get(f"{self._prefix}.{name}")
        if isinstance(found, np.ndarray) and found.shape == (layers,) and found.dtype.kind in "iu":
            return [int(each) for each in found]
        return [self.count(name)] * layers

    def optional(self, name: str) -> int:
        """Return a count, 0 if it is missing. Counts by layer have to be equal, but for zeros."""
        key = f"{self._prefix}.{name}"
        found = self._metadata.get(key)
        if isinstance(found, np.ndarray) and found.size and found.dtype.kind in "iu":
            if not self._vary and ((found != found.max()) & (found != 0)).any():
                raise GgufError(f"its layers differ in their {quoted(key)}, which is not supported")
            return int(found.max())
        return self._metadata.integer(key, 0)

    def count(self, *names: str) -> int:
        """Return the first count that is there."""
        found = next(filter(None, map(self.optional, names)), 0)
        if not 0 < found < 2**31:
            key = f"{self._prefix}.{names[0]}"
            said = f"a {quoted(key)} of {found}" if key in self._metadata else f"no {quoted(key)}"
            raise GgufError(f"its metadata has {said}")
        return found

    def positive(self, name: str, *default: float) -> float:
        """Return a finite number above zero."""
        return self.number(name, *default, above=0.0)

    def number(self, name: str, *default: float, above: float = -inf) -> float:
        """Return a finite number, which may be 0 or less unless ``above`` says otherwise."""
        found = self._metadata.number(f"{self._prefix}.{name}", *default)
        if not above < found < inf:
            raise GgufError(f"its metadata has a {quoted(f'{self._prefix}.{name}')} of {found}")
        return found

    def has_each(self, name: str, layers: int) -> list[bool]:
        """Return for each layer whether its count is above 0."""
        found = self._metadata.get(f"{self._prefix}.{name}")
        if not isinstance(found, np.ndarray) or found.shape != (layers,):
            raise GgufError(f"its metadata has no {quoted(f'{self._prefix}.{name}')} for each of its layers")
        return [bool(each) for each in found]

    def layer_types(self, layers: int, period: int) -> list[str]:
        """Return each layer's type: a sliding window but in the last of ``period``, unless the file says otherwise."""
        found = self._metadata.get(f"{self._prefix}.attention.sliding_window_pattern")
        if isinstance(found, np.ndarray | list) and len(found) == layers:
            slides = [bool(each) for each in found]
        else:
            period = self.optional("attention.sliding_window_pattern") or period
            slides = [(layer + 1) % period != 0 for layer in range(layers)]
        if not self.optional("attention.sliding_window"):
            slides = [False] * layers
        return ["sliding_attention" if each else "full_attention" for each in slides]

    def experts(self, gating: int = 1) -> dict[str, Any]:
        """Return the settings of experts; scores are made by a softmax (1, in llama.cpp's numbers) or sigmoids (2)."""
        count, used = self.count("expert_count"), self.count("expert_used_count")
        if used > count:
            raise GgufError(f"its metadata has {used} experts for a token, of {count}")
        if (self.optional("expert_gating_func") or gating) != gating:
            raise GgufError("the scores of its experts are made in a way that is not supported")
        inner = self.count("expert_feed_forward_length", "feed_forward_length")
        return {"num_experts": count, "num_experts_per_tok": used, "moe_intermediate_size": inner}
