"""The command as a process: what it imports, its pipes, and completion by the shell."""

from __future__ import annotations

import os
from pathlib import Path

from tests.running import python


def test_help_and_mistakes_import_nothing_heavy() -> None:
    helped = [["--help"], *([name, "-h"] for name in ("ask", "compare", "tune", "settings", "web"))]
    bench = [["bench", *arguments] for arguments in (["--help"], ["--methods", "magic"], ["--fixed", "1"])]
    code = f"""
import sys
from lade_chat.cli.app import main
from lade_chat.loading.model_loader import load
from lade_chat.protocol.values import ModelOptions
for arguments in {[*helped, ["--version"], ["--bogus"], *bench]!r}:
    main(arguments)
    print(chr(0), end="")
    heavy = {{"torch", "textual", "transformers", "matplotlib", "lade_chat.engine.chat_engine"}} & set(sys.modules)
    if heavy:
        sys.exit(f"{{arguments}} imported {{heavy}}")
"""
    finished = python(code)
    assert finished.returncode == 0, finished.stderr
    for arguments, said in zip(helped, finished.stdout.split("\0"), strict=False):
        for words in ("--model-path", "--window-size", "Examples:", "Exit codes: 0"):
            assert words in said, said
        assert ("USE_LADE" in said) == (arguments[0] not in ("compare", "tune")), said


def test_python_m_lade_chat() -> None:
    finished = python("import runpy; runpy.run_module('lade_chat', run_name='__main__', alter_sys=True)")
    assert finished.returncode == 2
    assert "lade-chat ask" in finished.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    code = """
import sys
from lade_chat.cli.running import engine_run
from tests.engines import ScriptedEngine
engine_run.make_engine = lambda options: ScriptedEngine()
from lade_chat.cli.app import main
sys.exit(main(["ask", "Hello"]))
"""
    read, write = os.pipe()
    os.close(read)
    try:
        finished = python(code, stdout=write)
    finally:
        os.close(write)
    assert finished.returncode == 141
    assert finished.stderr == ""


def test_shells_complete() -> None:
    finished = python(
        "from lade_chat.cli.app import main; main()",
        more={"_LADE_CHAT_COMPLETE": "complete_bash", "COMP_WORDS": "lade-chat as", "COMP_CWORD": "1"},
    )
    assert finished.stdout.split() == ["ask"]


def test_a_bad_path_is_told_before_torch_is_imported(tmp_path: Path) -> None:
    code = f"""
import sys
from lade_chat.cli.app import main
code = main(["ask", "Hello", "--model-path", {str(tmp_path / "nothing")!r}])
sys.exit(99 if "torch" in sys.modules else code)
"""
    finished = python(code)
    assert finished.returncode == 1
    assert "nothing" in finished.stderr
