"""Has a loaded model's steps compiled, where that was asked for and can be done."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from lade_chat.loading.model import LoadedModel


def with_compiled_steps(loaded: LoadedModel) -> LoadedModel:
    """The model, its steps compiled from now on; where they cannot be, a notice says why.

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
