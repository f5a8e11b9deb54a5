"""The working folder, which may have been deleted under the shell."""

from __future__ import annotations

import os

from lade_chat.errors import LadeChatError


def require_working_folder() -> None:
    """Raise LadeChatError if the working folder is gone: libraries of torch abort the process there."""
    try:
        os.getcwd()
    except OSError as error:
        raise LadeChatError(f"The working folder cannot be used ({error.strerror}): cd to another.") from None
