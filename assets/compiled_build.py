"""Build hook of the wheel: with LADE_BUILD_COMPILED=1, what plans each step is compiled by mypyc.

Without, and where it fails (no C compiler, for one), the wheel is pure. Both behave alike; compiled, the bookkeeping of
a step that guesses takes three quarters of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "LADE_BUILD_COMPILED"
MODULES = (
    "decoding/drafting/[!_]*[!d].py",  # all but saved.py, whose class is one of msgspec
    *(f"decoding/planning/{name}.py" for name in ("budget", "ledger", "step_plan", "step_cost")),
    *(f"decoding/planning/{name}.py" for name in ("planner", "plain_timing", "budgeted_planner")),
)
SUBCLASSED = {"decoding/planning/planner.py": "class Planner(", "decoding/planning/step_cost.py": "class StepCost:"}
"""Classes from which others are derived that stay in Python. They are marked for mypyc, which refuses it otherwise, in
the copy that is compiled alone: in the source the mark would need a package of mypy's at run time."""
_MARK = """from mypy_extensions import mypyc_attr

@mypyc_attr(allow_interpreted_subclasses=True)
"""
COMPILE_SECONDS = 900
_SETTINGS = """[mypy]
namespace_packages = True
explicit_package_bases = True
ignore_missing_imports = True
disable_error_code = unused-ignore, no-any-return, misc, call-arg
cache_dir = .cache
[mypy-torch.*,transformers.*,numpy.*,msgspec.*,decoding.model.*,decoding.llama.*,decoding.compiled.*,decoding.native.*]
follow_imports = skip
"""
_SETUP = """import sys
from mypyc.build import mypycify
from setuptools import setup
modules = mypycify(["--config-file=mypy.ini", *sys.argv[1:]], debug_level="0", group_name="decoding")
setup(name="compiled", packages=[], ext_modules=modules, script_args=["build_ext", "--inplace"])
"""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds compiled modules to the wheel, beside their sources."""

    _folder: TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        return ["mypy>=1.18", "setuptools"] if os.environ.get(SWITCH) == "1" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get(SWITCH) != "1" or version == "editable":
            return
        self._folder = TemporaryDirectory()
        try:
            libraries = compiled(Path(self.root), MODULES, Path(self._folder.name))
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stdout", None) or error
            self.app.display_warning(f"the modules stay in Python, since mypyc failed: {told}")
            return
        build_data["force_include"].update({str(path): name for path, name in libraries.items()})
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def compiled(root: Path, patterns: Sequence[str], folder: Path) -> dict[Path, str]:
    """Compile modules of a source tree in an empty folder.

    Returns:
        The libraries, each with its path in the wheel.

    Raises:
        subprocess.SubprocessError: mypyc or the C compiler fails; ``stdout`` says why.
    """
    shutil.copytree(root / "decoding", folder / "decoding", ignore=shutil.ignore_patterns("__pycache__"))
    for name, head in SUBCLASSED.items():
        if (source := folder / name).exists():
            source.write_text(source.read_text(encoding="utf-8").replace(head, _MARK + head), encoding="utf-8")
    (folder / "mypy.ini").write_text(_SETTINGS, encoding="utf-8")
    modules = [str(path.relative_to(folder)) for pattern in patterns for path in sorted(folder.glob(pattern))]
    command = [sys.executable, "-c", _SETUP, *modules]
    subprocess.run(
        command, cwd=folder, check=True, text=True, timeout=COMPILE_SECONDS, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    built = [path for pattern in ("*.so", "*.pyd") for path in folder.rglob(pattern)]
    return {path: name for path in built if not (name := path.relative_to(folder).as_posix()).startswith("build/")}
