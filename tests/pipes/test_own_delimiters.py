"""A thought in delimiters that no template or token tells of is apart once the settings file names them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lade_chat.cli.app import main
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.protocol.commands import Load
from lade_chat.protocol.values import Message, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.store.conversation_documents import to_markdown
from tests.checkpoints import CHATML, byte_level_tokenizer
from tests.settings.writing import write
from tests.speaking import make_speaking
from tests.thinkers import ANSWER, THOUGHT

QUESTION = (Message("user", "Who keeps apples?"),)
PAIR = ("~(", ")~")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = byte_level_tokenizer(chat_template=CHATML)
    said = f"{PAIR[0]}{THOUGHT}{PAIR[1]}\n{ANSWER}<|im_end|>"
    return make_speaking(tmp_path_factory.mktemp("own"), tokenizer, QUESTION, said)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings.toml"
    monkeypatch.setenv("LADE_CHAT_SETTINGS", str(path))
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    return path


@pytest.mark.parametrize("name", ["short name", "path", "relative path"])
def test_the_thought_is_apart_and_stays_out_of_the_answer_and_what_is_made_of_it(
    model: Path, path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = {"short name": "mine", "path": str(model), "relative path": os.path.relpath(model)}[name]
    write(path, f'[thought_delimiters]\n"{key}" = {json.dumps(PAIR)}\n[aliases]\nmine = "{model}"\n')
    picture = path.parent / "reply.html"
    asked = ["ask", "-m", "mine", QUESTION[0].content, "--dtype", "float64", "--json", "--export", str(picture)]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["text"], told["thought"]) == (ANSWER, THOUGHT)
    assert THOUGHT not in picture.read_text()
    kept = Store(path.parent / "data", chat=False).latest()
    assert kept is not None
    assert THOUGHT not in kept.title + to_markdown(kept)
    assert kept.messages[-1].content == f"<think>{THOUGHT}</think>\n{ANSWER}"


def loaded(model: Path, *delimiters: str) -> Any:
    engine = ChatEngine()
    named = ((str(model), *delimiters),) if delimiters else ()
    list(engine.handle(Job(Load(ModelOptions(str(model), "cpu", "float64", thought_delimiters=named)))))
    return engine.loaded


def test_the_next_prompt_is_the_template_s_own_without_the_thought(model: Path) -> None:
    followed = [*QUESTION, Message("assistant", f"<think>{THOUGHT}</think>\n{ANSWER}"), Message("user", "And then?")]
    with_pair = loaded(model, *PAIR)
    assert with_pair.tokenizer.decode(prompt_for(with_pair, followed, 8).ids).count(THOUGHT) == 0
    begun = with_pair.tokenizer.decode(prompt_for(with_pair, followed[:2], 8).ids)
    assert begun.endswith(f"{PAIR[0]}{THOUGHT}{PAIR[1]}\n{ANSWER}")


def test_another_model_keeps_its_own(model: Path, tmp_path: Path) -> None:
    assert loaded(model).thinking.opening == "<think>"
    elsewhere = ModelOptions(str(model), thought_delimiters=((str(tmp_path), *PAIR),))
    engine = ChatEngine()
    list(engine.handle(Job(Load(elsewhere))))
    assert engine.loaded is not None
    assert engine.loaded.thinking.opening == "<think>"
