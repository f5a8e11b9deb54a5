"""Renders chat templates in a separate process, so that none can hang the chat or exhaust the memory."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from lade_chat.child_processes import Child
from lade_chat.errors import ModelError, PromptError, summary
from lade_chat.loading.text.template_worker import LIMITED, MAX_MEMORY_BYTES, MAX_SECONDS
from lade_chat.paths import SURROGATES, bundled_model_path, expanded

START_SECONDS = 120.0
"""For the process to start on a busy machine."""
WALL_SECONDS = 4.0 * MAX_SECONDS
"""For one rendering: the process limits its CPU time, and may have to wait for a processor."""
_WATCH_SECONDS = 0.05
_ENVIRONMENT = {"TRANSFORMERS_VERBOSITY": "error", "OPENBLAS_NUM_THREADS": "1"}


class TemplateLimitError(PromptError):
    """The template exceeds its limit of time, memory or characters."""


class TemplateRefusedError(PromptError):
    """The template rejects this conversation; it may accept another."""


def render(
    tokenizer: Any, conversation: list[dict[str, str]], *, generation_prompt: bool, **variables: bool | str
) -> str:
    """Render a conversation with the chat template. Raises TemplateRefusedError or TemplateLimitError."""
    from transformers import PreTrainedTokenizerBase

    custom = type(tokenizer).apply_chat_template is not PreTrainedTokenizerBase.apply_chat_template
    if custom or tokenizer.get_chat_template() == _bundled_template():
        return _render_here(tokenizer, conversation, generation_prompt, variables)
    # A token may be an object instead of a string.
    special = {
        name: [str(each) for each in value] if isinstance(value, list | tuple) else str(value)
        for name, value in tokenizer.special_tokens_map.items()
    }
    return _renderer.render(
        {
            "conversation": conversation,
            "template": tokenizer.get_chat_template(),
            "generation_prompt": generation_prompt,
            "variables": {**special, **variables},
        }
    )


def prepare(path: str | None) -> None:
    """Start the process in advance, which takes as long as the weights; the bundled template does not need it."""
    if path is None:
        return
    with suppress(OSError, ValueError):
        if (expanded(path) / "chat_template.jinja").read_text(encoding="utf-8") == _bundled_template():
            return
    _renderer.start()


@lru_cache(maxsize=1)
def _bundled_template() -> str | None:
    """The bundled model's template, which is trusted."""
    try:
        return (bundled_model_path() / "chat_template.jinja").read_text(encoding="utf-8")
    except (ModelError, OSError):
        return None


def _render_here(
    tokenizer: Any, conversation: list[dict[str, str]], generation_prompt: bool, variables: dict[str, bool | str]
) -> str:
    """Render without limits: a trusted template, or a tokenizer's own code, which runs here anyway."""
    try:
        text: str = tokenizer.apply_chat_template(
            conversation, add_generation_prompt=generation_prompt, tokenize=False, **variables
        )
    except Exception as error:  # whatever that code raises
        raise TemplateRefusedError(summary(error)) from error
    return text


class _Renderer:
    """The rendering process: started on demand, and restarted after a template exceeds a limit."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._child: Child | None = None
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._ready = False

    def start(self) -> None:
        with self._lock:
            self._start()

    def render(self, request: dict[str, Any]) -> str:
        with self._lock:
            answer = self._ask(json.dumps(request).encode() + b"\n")
        if "text" in answer:
            text = str(answer["text"])
            if SURROGATES.search(text):  # no tokenizer takes it
                raise TemplateRefusedError("it writes half a character")
            return text
        if answer["kind"] == LIMITED:
            raise TemplateLimitError(answer["error"])
        raise TemplateRefusedError(answer["error"])

    def _start(self) -> Child:
        if self._child is not None and self._child.is_running:
            return self._child
        self._ready = False
        self._answers = SimpleQueue()
        self._child = Child("lade_chat.loading.text.template_worker:main", environment=_ENVIRONMENT, logged=False)
        Thread(target=_read, args=(self._child.stdout, self._answers), daemon=True).start()
        return self._child

    def _ask(self, request: bytes) -> dict[str, Any]:
        child = self._start()
        if not self._ready:
            self._answer(child, START_SECONDS)
            self._ready = True
        child.send(request)
        return self._answer(child, WALL_SECONDS)

    def _answer(self, child: Child, seconds: float) -> dict[str, Any]:
        """Wait for the answer. Raises TemplateLimitError if it takes too long or too much memory."""
        deadline, memory, problem = monotonic() + seconds, _memory(child.pid), ""
        while not problem:
            try:
                if line := self._answers.get(timeout=_WATCH_SECONDS):
                    return dict(json.loads(line))
                problem = f"rendering it takes more than {MAX_SECONDS} seconds, or breaks the renderer"
            except Empty:
                if monotonic() > deadline:
                    problem = f"rendering it takes more than {seconds:.0f} seconds"
                elif memory and _memory(child.pid) > memory + 2 * MAX_MEMORY_BYTES:
                    problem = f"it needs more than {MAX_MEMORY_BYTES >> 20} MiB of memory"
        self.close()
        raise TemplateLimitError(problem)

    def close(self) -> None:
        """End the process, if it runs."""
        if self._child is not None:
            self._child.kill()
            self._child.ended()
            self._child = None


def _read(lines: IO[bytes], answers: SimpleQueue[bytes]) -> None:
    for line in lines:
        answers.put(line)
    answers.put(b"")


def _memory(pid: int) -> int:
    """Resident memory of a process in bytes; 0 if it has ended."""
    import psutil

    try:
        taken: int = psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0
    return taken


_renderer = _Renderer()
