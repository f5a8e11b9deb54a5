"""What an addition touches: a source of candidates five files, a setting with a flag two; all else follows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType

from tests.ranks import START

TREE = Path(__file__).parents[1]
PACKAGES = ("decoding", "lade_chat", "tests")
COUNTING = '''
from decoding.drafting.source import Source, TokenTable


class CountingTable(TokenTable):
    """After every token, the one with the next id."""

    def __len__(self):
        return 1

    def copy(self):
        return self

    def after(self, pair):
        return {pair[1] + 1: (self.first_class,)}


SOURCE = Source("counting", CountingTable, weights=(3.0,))
'''
EDITS = {
    "decoding/drafting/registry.py": {
        "import context_ngrams, ": "import context_ngrams, counting, ",
        "SOURCES = (": "SOURCES = (counting.SOURCE, ",
    },
    "decoding/step.py": {'PLAIN = "plain"': 'PLAIN = "plain"\n    COUNTING = "counting"'},
    "lade_chat/protocol/inspection.py": {'"successor"]': '"successor", "counting"]'},
    "lade_chat/presentation/token_looks.py": {
        "SourceLabel] = {\n": "SourceLabel] = {\n"
        '    "counting": SourceLabel("one more", "counting", ("number", "numbers"),'
        ' Look("#123456", "#fedcba", ("#ffffff", "#123456"), "bold")),\n',
    },
}
SEEN = """
from decoding import GenerationStats, LookaheadConfig, LookaheadDecoder, Origin, Session, StepDetail
from lade_chat.cli.running.output import style_of
from lade_chat.engine.inspector import Inspector
from lade_chat.export.html_page import _TINTS
from lade_chat.export.theme import DARK, LIGHT
from lade_chat.presentation.metric_help import METRIC_HELP
from lade_chat.presentation.token_looks import meanings
from lade_chat.tui.inspector.step_views import draw_sources
from lade_chat.tui.theme.token_tints import origin_variables
from rich.console import Console
from tests.costs import DEAR, budgeted
from tests.models import successor_model

model = successor_model({token: token + 1 for token in range(10, 60)})
inspector = Inspector(type("Tokenizer", (), {"decode": lambda self, ids: str(ids)})())
session, stats = Session(model), GenerationStats()
for step in budgeted(model, DEAR).generate([10], max_new_tokens=40, session=session, observe=inspector.observe):
    stats.add(step)
    inspector.take(step)
assert session.ids == list(range(10, 51)), session.ids
assert stats.by_origin[Origin.COUNTING] == stats.accepted > 20, stats
assert "counting" in str(stats) and step.table_sizes[Origin.COUNTING] == 1

seen = inspector.last_speculative()
assert {candidate.origin for candidate in seen.candidates if candidate.accepted} == {"counting"}
assert [sum(each.accepted) for each in seen.trials if each.origin == "counting"] == [stats.accepted]
drawn = "\\n".join(line.plain for line in draw_sources(seen, 80))
assert "counting" in drawn and "1 number " in drawn, drawn

assert meanings("sources")["counting"] == "one more" and "counting is counting" in METRIC_HELP["verified from"]
assert "#123456" in str(style_of("counting", "sources", Console(color_system="truecolor", force_terminal=True)))
assert DARK.tints["counting"] == "#123456" and LIGHT.tints["counting"] == "#fedcba"
assert ".counting {" in _TINTS
styles = origin_variables("sources", {"success": "#112233"}, dark=True, marked=True)
assert styles["origin-counting"].endswith("underline bold")
"""


SETTING_EDITS = {
    "lade_chat/settings/catalogue.py": {
        "\n_SETTINGS = (": '\n_SETTINGS = (\n    Setting("toy", Number(1, 9, whole=True), "how many toys"),'
    },
    "lade_chat/cli/flags/options.py": {
        "    colours: ColourView = flag(": '    toy: int = flag("Toys.", default=3)\n    colours: ColourView = flag(',
        '"sizes": self.sizes()': '"max_new_tokens": self.toy, "sizes": self.sizes()',
    },
}
SETTING_SEEN = """
import io, os, sys
from contextlib import redirect_stdout, redirect_stderr
import lade_chat.cli.running.engine_run
from lade_chat.cli.app import main
from tests.engines import ScriptedEngine

def said(*arguments):
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out, redirect_stderr(io.StringIO()) as errors:
        code = main([*arguments])
        out.flush()
    return code, out.buffer.getvalue().decode() + errors.getvalue()

def used(*arguments):
    engine = ScriptedEngine()
    lade_chat.cli.running.engine_run.make_engine = lambda options: engine
    assert said("ask", "Hello", "--no-save", *arguments)[0] == 0
    return engine.asked[0].options.max_new_tokens

sys.stdin = io.TextIOWrapper(io.BytesIO())
os.environ["LADE_CHAT_SETTINGS"] = "settings.toml"
assert used() == 3 and "--toy" in said("ask", "--help")[1]
assert said("settings", "toy=5")[0] == 0 and used() == 5
assert any(line.split()[:3] == ["toy", "file", "5"] for line in said("settings")[1].splitlines()), said("settings")
os.environ["LADE_CHAT_TOY"] = "6"
assert used() == 6 and used("--toy", "7") == 7
code, line = said("settings", "toy=12")
assert code == 2 and "toy" in line and "9" in line, (code, line)
"""


def test_a_source_is_proposed_accepted_counted_and_coloured(tmp_path: Path) -> None:
    files = {"decoding/drafting/counting.py": COUNTING}
    run_edited(tmp_path, SEEN, EDITS, files)


def test_a_setting_is_a_flag_a_variable_and_a_line_of_the_file(tmp_path: Path) -> None:
    run_edited(tmp_path, SETTING_SEEN, SETTING_EDITS)


def run_edited(
    folder: Path, code: str, edits: Mapping[str, Mapping[str, str]], new: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Run ``code`` over a copy of the project with these edits and these new files."""
    # What is compiled comes along: to do without takes seconds.
    skipped = shutil.ignore_patterns("*-pytest-*.pyc", "snapshots", "*.svg")
    for package in PACKAGES:
        shutil.copytree(TREE / package, folder / package, ignore=skipped, symlinks=True)
    for path, text in new.items():
        (folder / path).write_text(text)
    for path, changes in edits.items():
        text = (folder / path).read_text()
        for old, replacement in changes.items():
            assert text.count(old) == 1, (path, old)
            text = text.replace(old, replacement)
        (folder / path).write_text(text)
    process = get_context(START).Process(target=run_in, args=(folder, code))
    process.start()
    process.join()
    assert process.exitcode == 0, "see what it wrote on stderr"


def run_in(folder: Path, code: str) -> None:
    """Run ``code`` over the packages that lie in this folder; what they import beside is imported already."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in PACKAGES:
            del sys.modules[name]
    os.chdir(folder)
    os.environ["NO_COLOR"] = ""
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    exec(code, {"__name__": "__main__"})
