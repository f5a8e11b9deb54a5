"""Errors shown to the user, each in one line: what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

HOW_TO_TRUST = "pass --trust-remote-code, or in the chat tick Python code (Ctrl+O)"
HOW_TO_UNPICKLE = "pass --allow-pickle, or in the chat tick pickle files (Ctrl+O)"
"""The ways to open a model that may run code as it is loaded."""
TRACEBACK = "LADE_CHAT_TRACEBACK"
"""The variable with which an unexpected error shows where it arose."""
OUT_OF_MEMORY = "out of memory: try a shorter conversation, a smaller model, or --dtype bfloat16"


class LadeChatError(Exception):
    """Root of the application's errors; its text is one line to be shown as it is."""

    def __init__(self, message: str) -> None:
        # Messages quoted from a library may have line breaks.
        super().__init__(" ".join(message.split()))


class UsageError(LadeChatError):
    """A request that no model can fulfil: something of an unknown name, say; on the command line, wrong usage."""


class ModelError(LadeChatError):
    """A model cannot be found, downloaded or loaded."""


class DeviceError(ModelError):
    """The requested device or dtype is not available."""


class OutOfMemoryError(ModelError):
    """The model or its KV cache does not fit into the device's memory."""


class PromptError(LadeChatError):
    """The conversation cannot be answered: it is empty, or too long for the model."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if a device, the C++ allocator or Python ran out of memory; does not import torch."""
    if isinstance(error, (MemoryError, OutOfMemoryError)) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "not enough memory" in text or "can't allocate memory" in text
    )


def is_connection_problem(error: BaseException) -> bool:
    """Return True if the Hugging Face Hub could not be reached, rather than refused something."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if isinstance(error, HfHubHTTPError):
        return False  # the Hub did answer
    library = type(error).__module__.partition(".")[0]
    return library in ("httpx", "httpx2") or isinstance(error, (ConnectionError, TimeoutError, LocalEntryNotFoundError))


def check_window(window_size: int, ngram_size: int, context_window: int) -> None:
    """Raise PromptError if a lookahead window reaches beyond the model's context."""
    if window_size + ngram_size > context_window:
        raise PromptError(
            f"The window reaches further than the model's context of {context_window} tokens:"
            f" choose a smaller W or N than {window_size} and {ngram_size}."
        )


def not_installed_message(what: str, *packages: str) -> str:
    """The error line for something that needs packages which are not there, wherever lade-chat itself came from."""
    missing = "a package that is" if len(packages) == 1 else "packages that are"
    return f"{what} needs {missing} not installed. To install: pip install {' '.join(packages)}"


def does_not_fit_message(what: str) -> str:
    """The error line for a model that is too big."""
    return f"{what} does not fit into memory: choose a smaller model, --dtype bfloat16, or another --device."


@contextmanager
def fitting(what: str) -> Iterator[None]:
    """Raise OutOfMemoryError where the memory runs out within: ``what`` does not fit."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(does_not_fit_message(what)) from error


def summary(error: BaseException, limit: int = 240) -> str:
    """The first informative line of a library's error, in at most ``limit`` characters, or the error's type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = f"{lines[0]} is not known" if isinstance(error, KeyError) else lines[0]
    # "Error(s) in …:" introduces the next line.
    if text.endswith(":") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(error: BaseException) -> str:
    """An error as one line: in its own words if it is one of ours, else with its type in front."""
    if isinstance(error, LadeChatError):
        return str(error)
    if is_out_of_memory(error):
        return OUT_OF_MEMORY
    name, text = type(error).__name__, summary(error)
    return text if text == name else f"{name}: {text}"


def unexpected(error: BaseException) -> str:
    """The line for an unexpected error, and how to see where it arose."""
    return f"{one_line(error)} ({TRACEBACK}=1 shows where)"
