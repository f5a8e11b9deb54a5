"""Draft tables that begin with earlier texts, or come from a file: they change the speed and never the text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import pytest
import torch

from decoding import DraftTables, Origin, Session
from decoding.drafting.context_ngrams import MAX_TOKENS
from decoding.drafting.successors import Successors
from tests.costs import NEARLY_FREE, budgeted
from tests.models import hf_greedy, random_model, random_prompt


def reply(session: Session, prompt: list[int], count: int = 24) -> tuple[list[int], int]:
    steps = list(budgeted(session.model, NEARLY_FREE).generate(prompt, max_new_tokens=count, session=session))
    return [token for step in steps for token in step.tokens], len(steps)


def learnt_session() -> Session:
    session = Session(random_model("llama", layers=1))
    reply(session, random_prompt(19))
    return session


def test_a_session_that_remembers_an_answer_gives_it_again_in_fewer_steps() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(19)
    expected, cold = hf_greedy(model, prompt, 24), Session(model)
    said, steps = reply(cold, prompt)
    warm = Session(model)
    warm.remember([random_prompt(40, seed=3), [*prompt, *said]])
    again, fewer = reply(warm, prompt)
    assert said == again == expected
    assert fewer < steps


@pytest.mark.parametrize("seed", range(4))
def test_no_tables_change_the_text(seed: int) -> None:
    model, prompt = random_model("qwen2"), random_prompt(19, seed)
    session, draw = Session(model), Random(seed)
    session.remember([[draw.choice(prompt) for _ in range(80)] for _ in range(5)])
    for token in prompt:
        session.tables[Origin.SUCCESSOR].learn_rows(
            [(prompt[0], token)], [draw.sample(range(50), 4)], [[9.0, 2.0, 1.0, 0.0]]
        )
    assert reply(session, prompt)[0] == hf_greedy(model, prompt, 24)


def test_nothing_is_left_of_a_text_that_is_no_longer_remembered() -> None:
    session = learnt_session()
    gone, other = [token for token in range(10, 60) if token not in session.ids][:2]
    after = next(iter(session.tables[Origin.CONTEXT].continuations(session.ids[:2], 1)))[1]
    for texts, expected in (([[1, gone, 3], [other, 5]], [[3]]), ([[other, 5]], [])):
        session.remember(texts)
        context = session.tables[Origin.CONTEXT]
        assert [list(path) for _, path in context.continuations([gone], 4)] == expected
        assert [list(path) for _, path in context.continuations([other], 4)] == [[5]]
        assert next(iter(context.continuations(session.ids[:2], 1)))[1] == after
    assert session.tables.sizes()[Origin.SUCCESSOR] == session.tables.sizes()[Origin.TRAJECTORY] == 0


def test_successors_learnt_in_a_reply_are_proposed_by_a_session_that_remembers_them() -> None:
    model, first, second = random_model("llama", layers=1), random_prompt(19), random_prompt(19, seed=1)
    session = Session(model)
    learnt = session.tables.successors
    reply(session, first)
    of_first, updates = learnt.learnt_since(0), learnt.updates
    assert learnt.learnt_since(updates) == []
    said, _ = reply(session, second)
    of_second = learnt.learnt_since(updates)
    assert set(pairwise(said[:-1])) <= {row.pair for row in of_second}
    other = Session(model)
    other.remember([], [*of_first, *of_second])
    learnt.extend([])  # the text goes on: what was rejected for its last token counts no more
    for row in (*of_first, *of_second):
        assert other.tables.successors.after(row.pair) == learnt.after(row.pair)
    assert reply(other, first)[0] == hf_greedy(model, first, 24)
    gone = {row.pair for row in of_first} - {row.pair for row in of_second}
    other.remember([], of_second)
    fresh = Session(model)
    fresh.remember([], of_second)
    assert gone
    assert all(fresh.tables.successors.after(pair) == other.tables.successors.after(pair) for pair in gone)


def test_of_many_texts_the_latest_are_remembered() -> None:
    draw, session = Random(0), learnt_session()
    texts = [[draw.randrange(50) for _ in range(draw.randrange(900))] for _ in range(100)]
    session.remember([*texts, [7, 7, 8]])
    context = session.tables[Origin.CONTEXT]
    assert MAX_TOKENS // 2 < len(context) <= MAX_TOKENS
    assert [8] in [list(path) for _, path in context.continuations([7, 7], 1)]


@pytest.mark.parametrize("text", [[3, -1], [10**6]])
def test_ids_that_the_model_lacks_are_refused(text: list[int]) -> None:
    session = learnt_session()
    before = session.tables.sizes()
    with pytest.raises(ValueError, match="ids that are not among the model's"):
        session.remember([[1, 2], text])
    with pytest.raises(ValueError, match="ids that are not among the model's"):
        session.remember([[1, 2]], [Successors((1, 2), text, [0.0] * len(text))])
    assert session.tables.sizes() == before


@pytest.mark.parametrize(
    "learnt",
    [
        Successors((1, 2), [], []),
        Successors((1, 2), [3, 4], [0.0]),
        Successors((1, 2), [*range(3, 12)], [0.0] * 9),
        Successors((1, 2), [3], ["0"]),  # type: ignore[list-item]
        Successors((1, -1), [3], [0.0]),
        Successors((1, 2.0), [3], [0.0]),  # type: ignore[arg-type]
        Successors((1, 2, 3), [3], [0.0]),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_what_are_no_successors_is_refused(learnt: Successors) -> None:
    session = learnt_session()
    before = session.tables.sizes()
    with pytest.raises(ValueError, match=r"successors|ids"):
        session.remember([[1, 2]], [learnt])
    assert session.tables.sizes() == before


def test_texts_to_remember_may_be_tensors() -> None:
    one, other = Session(random_model("llama", layers=1)), Session(random_model("llama", layers=1))
    one.remember([[5, 6, 7], [8, 9]])
    other.remember([torch.tensor([[5, 6, 7]]), torch.tensor([8, 9])])
    assert one.tables.context.entries() == other.tables.context.entries()


def test_a_first_text_does_not_follow_the_tables_it_was_given(tmp_path: Path) -> None:
    session = learnt_session()
    last = session.ids[-1]
    first = next(token for token in range(3, 97) if token not in session.ids)
    session.tables.save(tmp_path / "tables")
    for tables in (DraftTables.load(tmp_path / "tables"), session.tables.copy()):
        Session(session.model, tables=tables).sync([first, 4, 5])
        assert [first] not in [list(path) for _, path in tables.context.after([last], 1)]
        assert [4] in [list(path) for _, path in tables.context.after([first], 1)]


def test_saved_tables_propose_what_they_proposed(tmp_path: Path) -> None:
    session = learnt_session()
    session.tables.save(tmp_path / "tables")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
    tables = DraftTables.load(tmp_path / "tables")
    assert tables.evidence_weights == session.tables.evidence_weights
    other = Session(session.model, tables=tables)
    assert other.tables is tables
    for path, loaded in zip(session.tables.path_tables[:1], tables.path_tables[:1], strict=True):
        assert path.start(session.ids) == loaded.start(session.ids)
    for table, again in zip(session.tables.token_tables, tables.token_tables, strict=True):
        for pair in set(pairwise(session.ids)) - {tuple(session.ids[-2:])}:
            assert table.after(pair) == again.after(pair)
    again_said, _ = reply(other, random_prompt(19))
    assert again_said == hf_greedy(session.model, random_prompt(19), 24)


def test_tables_of_another_vocabulary_are_refused() -> None:
    tables = DraftTables()
    tables.bind(7)
    with pytest.raises(ValueError, match="a model of 7 ids"):
        Session(random_model("llama", layers=1), tables=tables)
    with pytest.raises(ValueError, match="cannot be saved"):
        DraftTables().save("nowhere")


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "folder" / "within").mkdir(parents=True)
    (tmp_path / "file").touch()
    tables = learnt_session().tables
    for path, kind in (
        (tmp_path / "missing" / "t.bin", FileNotFoundError),
        (tmp_path / "file" / "t.bin", NotADirectoryError),
        (tmp_path / "folder", IsADirectoryError),
    ):
        with pytest.raises(kind) as refused:
            tables.save(path)
        assert (refused.value.filename, refused.value.filename2) == (str(path), None)
        assert ".t.bin-" not in str(refused.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_broken_files_are_refused_with_one_line(tmp_path: Path) -> None:
    session, path = learnt_session(), tmp_path / "tables"
    session.tables.save(path)
    whole = path.read_bytes()
    parsed = msgspec.msgpack.decode(whole)
    broken = [b"", b"nonsense", whole[:-9], whole[9:], msgspec.msgpack.encode({**parsed, "version": 99})]
    for entries in ({"context": [5, -2]}, {"context": [10**9]}, {"context": 3}, {"context": [True]}):
        broken.append(msgspec.msgpack.encode({**parsed, "entries": entries}))
    for entry in (
        [5],
        [5, [1], []],
        [5, [], []],
        [5, [1], ["a"]],
        [-9, [1], [1.0]],
        5,
        [5, [-1], [1.0]],
        [-1, [1], [1.0]],
        [[5, -1], [1], [1.0]],
        [5.5, [1], [1.0]],
        [None, [1], [1.0]],
        [[1, 2, 3], [1], [1.0]],
    ):
        broken.append(msgspec.msgpack.encode({**parsed, "entries": {"successor": [entry]}}))
    broken.append(msgspec.msgpack.encode({**parsed, "acceptance": [-1e9]}))
    for content in broken:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="holds no draft tables that can be used") as caught:
            DraftTables.load(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(OSError, match="nothing"):
        DraftTables.load(tmp_path / "nothing")
