"""Compile the C kernels for the processor that they run on, once, and keep the library in the cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path

FOLDER = Path(__file__).with_name("c")
CPU_INFO = Path("/proc/cpuinfo")
"""Describes the processor, on Linux."""
ZIG = "ziglang"
"""The package with a C compiler, for machines that have none of their own."""
MARCH = "DECODING_MARCH"
"""The environment variable that names another processor to compile for, such as x86-64-v3; this one runs the code."""
FLAGS = (
    # -O3 takes half as long again to compile, and its code is no faster: loops that want unrolling say so.
    "-O2", "-ftree-vectorize", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC",
)  # fmt: skip
SWITCH = "DECODING_NATIVE"
"""The environment variable that switches native kernels off where it is 0."""
COMPILE_SECONDS = 600
"""Timeout of the compiler. It usually takes seconds, on a busy machine minutes."""
_GUARD = """
import os, shutil, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.read()
os.kill(0, signal.SIGTERM)
time.sleep(1)
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
"""Ends its process group, that of the compilers, and removes their folder, when its stdin ends: with its parent."""
_DIGEST_BYTES = 32
"""A cached library ends with a digest of all before, which loaders ignore: loading half a file kills the process."""


def compiled_library() -> Path | None:
    """Return the path of the compiled library, compiling it if it is not cached yet; that takes some seconds.

    Returns None without GCC, Clang or the ziglang package, on Windows, if the compiler fails, or if switched off.
    """
    compiler = _compiler()
    if sys.platform == "win32" or os.environ.get(SWITCH) == "0" or not compiler:
        return None
    flags = (*FLAGS, *_flags_of(compiler))
    try:
        library = user_cache_path("lade-chat") / "native" / f"kernels-{_fingerprint(compiler, flags)}.so"
        if not _is_whole(library):
            library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(library.parent), TemporaryDirectory(dir=library.parent) as folder:
                if _is_whole(library):  # compiled meanwhile, by another thread or process
                    return library
                built = Path(folder, library.name)
                parts = {str(source): str(Path(folder, f"{source.stem}.o")) for source in FOLDER.glob("*.c")}
                command = [*compiler, *flags]
                _run(folder, *([*command, "-DIN_PARTS", "-c", "-o", part, source] for source, part in parts.items()))
                _run(folder, [*command, "-shared", "-o", str(built), *parts.values(), "-lm"])
                with built.open("r+b") as file:
                    file.write(_digest(file.read()))
                built.replace(library)  # atomic, for processes that look meanwhile
    except (OSError, subprocess.SubprocessError):
        return None
    return library


def compile_problem() -> str | None:
    """Return the reason why there are no kernels, and what to do; None if switched off, or for no known reason.

    Where a compiler fails it is run again, for its message.
    """
    if os.environ.get(SWITCH) == "0":
        return None
    if sys.platform == "win32":
        return "C steps have not been tried on Windows"
    compiler, named, folder = _compiler(), os.environ.get("CC"), user_cache_path("lade-chat") / "native"
    if not compiler:
        missing = f"CC names {named}, which is not here" if named else "no C compiler is here"
        return f"{missing}: install GCC or Clang, or pip install ziglang"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(dir=folder):
            command = [*compiler, *FLAGS, *_flags_of(compiler), "-fsyntax-only", str(FOLDER / "kernels.c")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    except OSError as error:
        remedy = "" if error.filename == compiler[0] else f"; make {folder} writable"
        return f"{error.filename or compiler[0]}: {error.strerror}{remedy}"
    except subprocess.SubprocessError:
        return f"{compiler[0]} takes too long"
    lines = [line.strip() for line in done.stderr.splitlines()]
    said = next((line for line in lines if "error" in line), lines[0] if lines else f"exit status {done.returncode}")
    return f"{' '.join(compiler)} fails: {said}" if done.returncode else None


def _compiler() -> list[str]:
    """Return a compiler and its arguments: CC's, split as make's shell does, or the first found; empty if none is."""
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError:  # a quotation that does not end
        return []
    for name, *arguments in [named] if named else [["gcc"], ["clang"]]:
        if found := shutil.which(name):
            return [found, *arguments]
    return [] if named or find_spec(ZIG) is None else [sys.executable, "-m", ZIG, "cc"]


def _flags_of(compiler: list[str]) -> tuple[str, str]:
    """Return the flags that name the processor, and GCC's OpenMP runtime, which PyTorch uses on Linux.

    Another compiler's runtime would bring a second team of threads, which would compete with PyTorch's.
    """
    processor = os.environ.get(MARCH) or "native"
    of_processor = f"-mcpu={processor.replace('-', '_')}" if ZIG in compiler else f"-march={processor}"
    is_gcc = sys.platform == "linux" and any("gcc" in Path(word).name for word in compiler)
    return of_processor, "-fopenmp" if is_gcc else "-fopenmp-simd"


def _is_whole(library: Path) -> bool:
    """Return True if a complete library is cached: a crash or a full disk may have cut it short."""
    if not library.exists():
        return False
    content = library.read_bytes()
    return content[-_DIGEST_BYTES:] == _digest(content[:-_DIGEST_BYTES])


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _run(folder: str, *commands: list[str]) -> None:
    """Run compilers at the same time; at the timeout, or if one fails, kill them with their child processes.

    If this process is killed meanwhile they end, too, and their folder is removed.
    """
    start = partial(subprocess.Popen[bytes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with ExitStack() as running:
        guard = running.enter_context(
            start([sys.executable, "-c", _GUARD, folder], stdin=subprocess.PIPE, process_group=0)
        )
        try:
            processes = [
                running.enter_context(start(command, stdin=subprocess.DEVNULL, process_group=guard.pid))
                for command in commands
            ]
            for process in processes:
                if process.wait(COMPILE_SECONDS):
                    raise subprocess.CalledProcessError(process.returncode, process.args)
        finally:
            os.killpg(guard.pid, signal.SIGKILL)


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


def _fingerprint(compiler: list[str], flags: tuple[str, ...]) -> str:
    """Return a digest of all that the compiled code depends on: a cache folder may be shared between machines."""
    built_from = (*flags, *compiler, str(os.stat(compiler[0]).st_mtime_ns), *sorted(_processor()))
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.iterdir()))
    return hashlib.sha256(sources + "\n".join(built_from).encode()).hexdigest()[:16]


def _processor() -> set[str]:
    """Return what tells this processor from others."""
    if not CPU_INFO.exists():
        return {*platform.uname()}
    lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    return {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
