"""Compiles a loaded model's steps where the model supports it."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from lade_chat.loading.model import LoadedModel


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
        info = msgspec.structs.replace(info, compiled=True)
    else:
        notice = f"Steps are not compiled: {(support.reason or 'not supported').rstrip('.')}."
        info = msgspec.structs.replace(info, notices=(*info.notices, notice))
    return replace(loaded, info=info)
