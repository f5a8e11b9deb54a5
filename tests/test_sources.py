"""A new source of candidates: four files name it, and all else follows, from its proposals to its colour."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).parents[1]
COUNTING = '''
from decoding.drafting.source import Source, TokenTable


class CountingTable(TokenTable):
    """After every token, the one with the next id."""

    def __len__(self):
        return 1

    def copy(self):
        return self

    def after(self, token):
        return ((token + 1, 0),)


SOURCE = Source("counting", CountingTable, priors=(0.9,))
'''
EDITS = {
    "decoding/drafting/registry.py": {
        "import context, ": "import context, counting, ",
        'PLAIN = "plain"': 'PLAIN = "plain"\n    COUNTING = "counting"',
        "SOURCES = (": "SOURCES = (counting.SOURCE, ",
    },
    "lade_chat/protocol/inspection.py": {'"successor"]': '"successor", "counting"]'},
    "lade_chat/presentation/sources.py": {
        "= {\n": '= {\n    "counting": SourceInWords("one more", "counting", ("number", "numbers"),'
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
from lade_chat.presentation.colours import meanings
from lade_chat.tui.inspector.sources import SourcesView
from lade_chat.tui.theme.tint import origin_variables
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
drawn = "\\n".join(line.plain for line in SourcesView().draw(seen, 80))
assert "counting" in drawn and "1 number " in drawn, drawn

assert meanings("sources")["counting"] == "one more" and "counting is counting" in METRIC_HELP["verified from"]
assert "#123456" in str(style_of("counting", "sources", Console(color_system="truecolor", force_terminal=True)))
assert DARK.tints["counting"] == "#123456" and LIGHT.tints["counting"] == "#fedcba"
assert ".counting {" in _TINTS
styles = origin_variables("sources", {"success": "#112233"}, dark=True, marked=True)
assert styles["origin-counting"].endswith("underline bold")
"""


def test_a_source_is_proposed_accepted_counted_and_coloured(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__", "snapshots", "*.svg")
    for package in ("decoding", "lade_chat", "tests"):
        shutil.copytree(TREE / package, tmp_path / package, ignore=skipped, symlinks=True)
    (tmp_path / "decoding/drafting/counting.py").write_text(COUNTING)
    for path, edits in EDITS.items():
        text = (tmp_path / path).read_text()
        for old, new in edits.items():
            assert text.count(old) == 1, (path, old)
            text = text.replace(old, new)
        (tmp_path / path).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": ""}
    done = subprocess.run(
        [sys.executable, "-c", SEEN], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
