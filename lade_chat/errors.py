"""The errors that people are told about, each in one line: what was wrong, and what to do."""

from __future__ import annotations

OUT_OF_MEMORY = "out of memory: try a shorter conversation, a smaller model, or --dtype bfloat16"


class LadeChatError(Exception):
    """Root of every error that the application raises on purpose; its text is one line to be shown as it is."""

    def __init__(self, message: str) -> None:
        # Much of a message may be quoted from a library, with line breaks: a person gets one line.
        super().__init__(" ".join(message.split()))


class ModelError(LadeChatError):
    """A model cannot be found, downloaded or loaded."""


class DeviceError(ModelError):
    """The device or the number format asked for is not to be had here."""


class OutOfMemoryError(ModelError):
    """The model, or what it has to remember, does not fit into the device's memory."""


class PromptError(LadeChatError):
    """The conversation cannot be answered: nothing was asked, or it is too long for the model."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, the C++ allocator or Python ran out of memory; needs no import of torch."""
    if isinstance(error, (MemoryError, OutOfMemoryError)) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "not enough memory" in text or "can't allocate memory" in text
    )


def beyond_context(window_size: int, ngram_size: int, context_window: int) -> str | None:
    """The line for a lookahead window that reaches further than the model's context, if it does."""
    if window_size + ngram_size <= context_window:
        return None
    return (
        f"The window reaches further than the model's context of {context_window} tokens:"
        f" choose a smaller W or N than {window_size} and {ngram_size}."
    )


def does_not_fit(what: str) -> str:
    """The line for a model that is too big."""
    return f"{what} does not fit into memory: choose a smaller model, --dtype bfloat16, or another --device."


def summary(error: BaseException, limit: int = 240) -> str:
    """The first telling line of a library's error, shortened to ``limit`` characters, or the error's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = lines[0]
    # "Error(s) in …:" announces what the next line says.
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
