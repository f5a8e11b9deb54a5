"""Imports between files run one way, also those inside functions and those for types alone."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_files_import_one_another_in_a_circle() -> None:
    graph = grimp.build_graph("decoding", "lade_chat", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle
