"""Compile the C kernels for the processor that they run on, once, and keep the library in the cache folder."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path

FOLDER = Path(__file__).with_name("c")
MARCH = "DECODING_MARCH"
"""The environment variable that names another processor to compile for, such as x86-64-v3; this one runs the code."""
FLAGS = (
    # -O3 takes half as long again to compile, and its code is no faster: loops that want unrolling say so.
    "-O2", "-ftree-vectorize", f"-march={os.environ.get(MARCH) or 'native'}", "-std=gnu11",
    "-fno-math-errno", "-fno-trapping-math", "-fopenmp", "-fPIC", "-shared",
)  # fmt: skip
SWITCH = "DECODING_NATIVE"
"""The environment variable that switches native kernels off where it is 0."""
COMPILE_SECONDS = 600
"""Timeout of the compiler. It usually takes seconds, on a busy machine minutes."""
_DIGEST_BYTES = 32
"""A cached library ends with a digest of all before, which loaders ignore: loading half a file kills the process."""


def compiled_library() -> Path | None:
    """Return the path of the compiled library, compiling it if it is not cached yet; that takes some seconds.

    Returns None without GCC, outside Linux, if the compiler fails, or if switched off. Clang is not used: PyTorch ships
    GCC's OpenMP runtime, and a second one's threads would compete with it.
    """
    compiler = _compiler()
    if sys.platform != "linux" or os.environ.get(SWITCH) == "0" or not compiler:
        return None
    try:
        library = user_cache_path("lade-chat") / "native" / f"kernels-{_fingerprint(compiler)}.so"
        if not _is_whole(library):
            library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(library.parent), TemporaryDirectory(dir=library.parent) as folder:
                if _is_whole(library):  # compiled meanwhile, by another thread or process
                    return library
                built = Path(folder, library.name)
                command = [*compiler, *FLAGS, "-o", str(built), str(FOLDER / "kernels.c"), "-lm"]
                _run(command)
                with built.open("r+b") as file:
                    file.write(_digest(file.read()))
                built.replace(library)  # atomic, for processes that look meanwhile
    except (OSError, subprocess.SubprocessError):
        return None
    return library


def _compiler() -> list[str]:
    """Return the compiler and the arguments that CC gives it, split as make's shell does; empty if there is no GCC."""
    try:
        name, *arguments = shlex.split(os.environ.get("CC", "")) or ["gcc"]
    except ValueError:  # a quotation that does not end
        return []
    found = shutil.which(name)
    clang = "clang" in name or any("clang" in word for word in arguments if not word.startswith("-"))  # ccache clang
    return [] if found is None or clang else [found, *arguments]


def _is_whole(library: Path) -> bool:
    """Return True if a library is cached, and nothing of it was lost, as when the machine or the disk gives out."""
    if not library.exists():
        return False
    content = library.read_bytes()
    return content[-_DIGEST_BYTES:] == _digest(content[:-_DIGEST_BYTES])


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _run(command: list[str]) -> None:
    """Run a compiler; at the timeout, kill it with its child processes."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            if process.wait(COMPILE_SECONDS):
                raise subprocess.CalledProcessError(process.returncode, command)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until nobody else compiles into this folder."""
    from fcntl import LOCK_EX, flock  # not on Windows

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fingerprint(compiler: list[str]) -> str:
    """Return a digest of all that the compiled code depends on: a cache folder may be shared between machines."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    processor = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    built_from = (*FLAGS, *compiler, str(os.stat(compiler[0]).st_mtime_ns), *sorted(processor))
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.iterdir()))
    return hashlib.sha256(sources + "\n".join(built_from).encode()).hexdigest()[:16]
