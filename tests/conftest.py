"""What all tests share: one thread for torch, because small models gain nothing from more and lose by contention, and
folders of their own, so that no test reads or leaves anything in the user's."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.main import get_command

SLOWEST = ("test_recipe_run", "test_torchrun", "test_engine_ranks", "test_packaging", "test_parallel", "test_ending")

NOBODY = 65534
"""The id of a user who owns nothing."""
_COMPILING = pytest.StashKey["subprocess.Popen[bytes]"]()

# What one worker, or a process that a test starts, has compiled is not compiled by all others again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the C kernels meanwhile, if that is still to be done, so that no test waits for it.

    And heed Ctrl+C, which a shell's background jobs do not, nor the processes that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput") and config.cache is not None:
        (config.cache.mkdir("lade-chat") / "native").mkdir(exist_ok=True)
        code = "from decoding.native.build import compiled_library; compiled_library()"
        environment = {**os.environ, "XDG_CACHE_HOME": str(config.cache.mkdir("lade-chat").parent)}
        config.stash[_COMPILING] = subprocess.Popen([sys.executable, "-c", code], cwd=config.rootpath, env=environment)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (compiling := config.stash.get(_COMPILING, None)) is not None:
        compiling.wait()


@pytest.fixture(scope="session")
def link_kernels(pytestconfig: pytest.Config) -> Callable[[Path], None]:
    """Has a cache folder hold the C kernels that pytest's own keeps: to compile them takes twenty seconds."""
    kept = pytestconfig.cache.mkdir("lade-chat") / "native"

    def link(cache: Path) -> None:
        (cache / "lade-chat").mkdir(parents=True)
        (cache / "lade-chat" / "native").symlink_to(kept)

    return link


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory, link_kernels: Callable[[Path], None]) -> Iterator[None]:
    cache = tmp_path_factory.mktemp("cache")
    link_kernels(cache)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        data = str(tmp_path_factory.mktemp("data"))
        patch.setenv("XDG_DATA_HOME", data)
        patch.setenv("LADE_CHAT_DATA_DIR", data)
        patch.setenv("LADE_CHAT_SETTINGS", str(tmp_path_factory.mktemp("config") / "settings.toml"))
        yield


@pytest.fixture(autouse=True, scope="session")
def _the_command_line_is_built_once() -> Iterator[None]:
    """And not whenever a test calls it: four fifths of the time of a call that is refused."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", cache(get_command))
        yield


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of a user who may not write everywhere, as whom the test goes on, also where root runs it."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions do not keep a folder's owner from writing here")
    with TemporaryDirectory() as name:
        root = os.geteuid() == 0
        if root:
            os.chown(name, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)
            for folder, _, _ in os.walk(name):
                os.chmod(folder, 0o700)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start a worker for each processor that may be used: tests hardly wait, and one more takes a sixth longer."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all that the tests need without a search for garbage: there is none, and it takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, such as processes that import torch, so that nobody waits for it alone."""
    items.sort(key=lambda item: item.path.stem not in SLOWEST)


def pytest_collection_finish() -> None:
    """Keep the collector from searching torch and Textual: a quarter of the processor time of the screen's tests.

    And time steps once, not often: what a test proves depends on no figure that is measured.
    """
    gc.freeze()
    gc.set_threshold(200_000)
    if (probe := sys.modules.get("decoding.planning.cost_probe")) is not None:
        probe.MAX_REPEATS, probe.QUICK_SECONDS = 1, 0.0
