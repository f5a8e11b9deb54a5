"""The process that renders chat templates: a line of JSON in, a line of JSON out, under limits of time and memory.

A template is a program that comes with a checkpoint. One that exceeds a limit ends in an error, or ends this process,
which has no state and is restarted.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec, module_from_spec
from typing import Any, BinaryIO

from lade_chat.child_processes import claim_stdio

MAX_SECONDS = 5
"""CPU time for one rendering; ordinary templates take milliseconds."""
MAX_MEMORY_BYTES = 512 << 20
"""Beyond the memory of the idle process."""
MAX_CHARACTERS = 1_000_000
MAX_GROWTH = 4
"""A rendering may have ``MAX_CHARACTERS`` plus this many times the characters of its conversation."""

LIMITED = "limit"
REFUSED = "refused"
"""Kinds of errors. A template that refused a conversation may accept a variant of it."""


def main() -> None:
    """Render until stdin ends."""
    requests, answers = claim_stdio()
    for name in ("transformers", "transformers.utils"):
        # Their own code reads the 1,600 files of transformers' models and imports the Hub's client, for nothing here.
        package = find_spec(name)
        assert package is not None
        sys.modules[name] = module_from_spec(package)
    from transformers.utils.chat_template_utils import render_jinja_template

    _limit_memory()
    _send(answers, {})
    for line in requests:
        _limit_time()
        try:
            answer = {"text": _rendered(json.loads(line), render_jinja_template)}
        except MemoryError:
            answer = {"error": f"it needs more than {MAX_MEMORY_BYTES >> 20} MiB of memory", "kind": LIMITED}
        except RecursionError:
            answer = {"error": "it calls itself too often, or is nested too deeply", "kind": LIMITED}
        except OverflowError as error:
            answer = {"error": str(error), "kind": LIMITED}
        except Exception as error:  # a template may raise whatever it likes
            answer = {"error": str(error) or type(error).__name__, "kind": REFUSED}
        _send(answers, answer)


def _rendered(request: dict[str, Any], render: Any) -> str:
    allowed = MAX_CHARACTERS + MAX_GROWTH * sum(len(message["content"]) for message in request["conversation"])
    texts, _ = render(
        conversations=[request["conversation"]],
        chat_template=request["template"],
        add_generation_prompt=request["generation_prompt"],
        **request["variables"],
    )
    text: str = texts[0]
    if len(text) > allowed:
        raise OverflowError(f"it writes {len(text):,} characters")
    return text


def _send(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _limit_memory() -> None:
    """Limit this process's memory; where the system cannot, the parent watches it."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (taken + MAX_MEMORY_BYTES,) * 2)
    except (ImportError, OSError, ValueError):
        return


def _limit_time() -> None:
    """Limit the CPU time of the next rendering; the system's limit includes the time used so far."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + MAX_SECONDS + 1, hard))
    except (ImportError, OSError, ValueError):
        return
