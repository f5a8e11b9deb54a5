"""Earlier conversations: guessed from by the very same model alone, never once deleted, and the text is the same."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from safetensors.torch import load_file, save_file

from decoding.costs.step_cost import OPENING
from decoding.drafting.successors import Successors
from lade_chat.cli.app import main
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.earlier_replies import encode_successors
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare, JobCommand, Load, Prefill, Remember, Reply, Stop
from lade_chat.protocol.events import Event, Loaded, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import DecodingOptions, EarlierReply, Message, ModelInfo, ModelOptions
from tests.checkpoints import edit_json, make_qwen2
from tests.costs import fixed_cost
from tests.engines import MAKE_ENGINE, LoneServer, ScriptedEngine

MARK = "f" * 32
OPTIONS = DecodingOptions(max_new_tokens=20)
CHEAP = fixed_cost({1: 1.0, 64: 1.05})


def user(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


# --- the engine ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_qwen2(tmp_path_factory.mktemp("qwen2"))
    edit_json(folder / "config.json", max_position_embeddings=4096)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> ChatEngine:
    return loaded(folder)[0]


@pytest.fixture(autouse=True)
def unremembered(request: pytest.FixtureRequest) -> None:
    """Begin every test with nothing learnt."""
    if "engine" in request.fixturenames:
        engine = request.getfixturevalue("engine")
        run(engine, Remember(mark_of(engine), forget=True))


def loaded(folder: Path, dtype: str = "float32") -> tuple[ChatEngine, ModelInfo]:
    engine = ChatEngine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lade_chat.loading.saved_step_cost.saved_step_cost", lambda loaded: CHEAP)
        last = run(engine, Load(ModelOptions(str(folder), device="cpu", dtype=dtype)))[-1]
    assert isinstance(last, Loaded)
    return engine, last.model


def run(engine: ChatEngine, command: JobCommand) -> list[Event]:
    return list(engine.handle(Job(command)))


def mark_of(engine: ChatEngine) -> str:
    assert engine.loaded is not None
    return engine.loaded.info.fingerprint


def said(events: Sequence[Event], side: str = "left") -> tuple[int, ...]:
    return tuple(
        piece.id for event in events if isinstance(event, Tokens) and event.side == side for piece in event.pieces
    )


def context_tokens(events: Sequence[Event]) -> int:
    """The text that guesses could come from at the end."""
    return table_sizes(events)["context"]


def table_sizes(events: Sequence[Event]) -> dict[str, int]:
    inspections = [event.inspection for event in events if isinstance(event, Tokens) and event.inspection is not None]
    return dict(inspections[-1].table_sizes)


def ended(events: Sequence[Event], side: str = "left") -> ReplyFinished:
    return next(event for event in events if isinstance(event, ReplyFinished) and event.side == side)


def test_the_text_is_the_same_and_guesses_come_from_what_was_said(engine: ChatEngine) -> None:
    ask = Reply(user("Tell me of the sea."), OPTIONS)
    first = run(engine, ask)
    earlier = EarlierReply("Tell me of the sea.", said(first))
    run(engine, Remember(mark_of(engine), forget=True))
    cold = run(engine, ask)
    run(engine, Remember(mark_of(engine), (earlier,), forget=True))
    warm = run(engine, ask)
    assert said(first) == said(cold) == said(warm)
    assert ended(warm).statistics.steps < ended(cold).statistics.steps
    assert context_tokens(warm) > context_tokens(cold) == context_tokens(first)


def test_successors_learnt_in_a_reply_come_back_and_leave_with_it(engine: ChatEngine) -> None:
    ask, mark = Reply(user("Tell me of the sea."), OPTIONS), mark_of(engine)
    cold = run(engine, ask)
    learnt = ended(cold).successors
    assert 0 < len(learnt) < 40 * ended(cold).statistics.generated_tokens
    other = Reply(user("Tell me of theatres."), OPTIONS)
    sizes, texts = [], set()
    broken = (
        b"",
        b"nonsense",
        learnt[:-9],
        zlib.compress(b"\x90"),
        zlib.compress(msgspec.msgpack.encode([[1], b"\1", [2], b"\0"])),
    )
    for successors in (
        learnt,
        *broken,
        encode_successors([Successors((1, 2), [10**6, 3, 4, 5, 6], [0.0] * 5)]),
        learnt,
    ):
        run(engine, Remember(mark, (EarlierReply("x", (5, 6, 7), successors),), forget=True))
        events = run(engine, other)
        sizes.append(table_sizes(events)["successor"])
        texts.add(said(events))
    assert len(texts) == 1
    assert sizes[0] == sizes[-1] > max(sizes[1:-1])
    assert len(set(sizes[1:-1])) == 1
    assert encode_successors([Successors((1, 2), [3, 4, 5, 6], [0.0] * 4)]) == b"", "learnt where candidates are dear"
    plain = run(engine, msgspec.structs.replace(ask, options=msgspec.structs.replace(OPTIONS, lookahead=False)))
    assert ended(plain).successors == b"", "nothing was learnt in this reply itself"
    assert ended(run(engine, Compare(ask.messages, OPTIONS))).successors == b""


def test_another_models_replies_are_never_used(engine: ChatEngine) -> None:
    ask = Reply(user("Tell me of the sea."), OPTIONS)
    events = run(engine, ask)
    run(engine, Remember(mark_of(engine), forget=True))
    run(engine, Remember(MARK, (EarlierReply("x", (5, 6, 7) * 20, ended(events).successors),), forget=True))
    assert table_sizes(run(engine, ask)) == table_sizes(events)


def test_ids_that_the_model_does_not_have_are_left_out(engine: ChatEngine) -> None:
    ask = Reply(user("Tell me of the sea."), OPTIONS)
    cold = context_tokens(run(engine, ask))
    foreign = tuple(EarlierReply("x", ids) for ids in ((5, 10**6), (5, -1), ()))
    assert run(engine, Remember(mark_of(engine), foreign, forget=True)) == []
    assert context_tokens(run(engine, ask)) == cold


def test_deleting_takes_out_what_was_learnt_and_restoring_brings_it_back(engine: ChatEngine) -> None:
    ask, mark = Reply(user("Tell me of the sea."), OPTIONS), mark_of(engine)
    kept, gone = EarlierReply("a", (5, 6, 7) * 10), EarlierReply("b", (8, 9, 10) * 20)
    sizes = []
    for replies in ((kept,), (kept, gone), (kept,), (kept, gone)):
        run(engine, Remember(mark, replies, forget=True))
        sizes.append(context_tokens(run(engine, ask)))
    assert sizes[0] == sizes[2] < sizes[1] == sizes[3]


def test_a_race_has_not_seen_the_answer_in_an_earlier_conversation(engine: ChatEngine) -> None:
    question, mark = "Tell me of the sea.", mark_of(engine)

    def steps() -> int:
        CHEAP.balance = OPENING  # it belongs to the model, and outlives a race
        return ended(run(engine, Compare(user(question), OPTIONS))).statistics.steps

    cold = steps()
    earlier = EarlierReply(question, said(run(engine, Reply(user(question), OPTIONS))))
    other = EarlierReply("Another question.", earlier.ids)
    run(engine, Remember(mark, (earlier,), forget=True))
    assert steps() == cold
    run(engine, Remember(mark, (other,), forget=True))
    assert steps() < cold


def test_a_race_in_a_conversation_that_was_resumed_starts_from_what_others_have_taught(engine: ChatEngine) -> None:
    question, mark = user("Tell me of the sea."), mark_of(engine)

    def steps(*earlier: EarlierReply) -> int:
        CHEAP.balance = OPENING
        run(engine, Remember(mark, earlier, forget=True))
        # The answer, which another model gave, is read with the conversation before the race.
        run(engine, Prefill((*question, Message("assistant", "It is wide."), Message("user", "And")), OPTIONS))
        return ended(run(engine, Compare(question, OPTIONS))).statistics.steps

    cold = steps()
    reply = run(engine, Reply(question, OPTIONS))
    other, learnt = EarlierReply("Another question.", said(reply)), ended(reply).successors
    assert steps(other) < cold
    answer, later = EarlierReply(question[0].content, said(reply)), EarlierReply("Another one.", (5, 6, 7), learnt)
    assert steps(later, answer) < cold
    assert steps(answer, later) == cold, "what was learnt after the answer may be of its words"


def test_a_fingerprint_is_that_of_weights_and_tokenizer(folder: Path, engine: ChatEngine, tmp_path: Path) -> None:
    same, other = make_qwen2(tmp_path / "same"), make_qwen2(tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({name: 1.1 * weight for name, weight in weights.items()}, other / "model.safetensors", {"format": "pt"})
    edit_json(same / "config.json", max_position_embeddings=4096)
    assert mark_of(engine) == loaded(same, "float32")[1].fingerprint == loaded(same, "bfloat16")[1].fingerprint
    assert len({mark_of(engine), loaded(other)[1].fingerprint, ""}) == 3


# --- reading ahead ------------------------------------------------------------------------------------------------

LONG = "The sea is wide. " * 40


def started(events: Sequence[Event]) -> ReplyStarted:
    return next(event for event in events if isinstance(event, ReplyStarted))


@pytest.mark.parametrize("question", [f"{LONG}Tell me of the sea.", f"{LONG}Tell me of theatres.", LONG[:200]])
def test_reading_ahead_changes_no_text_and_saves_the_prefill(engine: ChatEngine, question: str) -> None:
    alone = run(engine, Reply(user(question), OPTIONS))
    run(engine, Remember(mark_of(engine), forget=True))
    assert run(engine, Prefill(user(f"{LONG}Tell me of the"), OPTIONS)) == []
    events = run(engine, Reply(user(question), OPTIONS))
    assert said(events) == said(alone)
    start = started(events)
    assert start.reused_tokens > (start.prompt_tokens // 2 if question.startswith(LONG) else 0)


@pytest.mark.parametrize("error", [RuntimeError("CUDA error: out of memory"), FloatingPointError("NaN"), MemoryError()])
def test_what_fails_while_reading_ahead_is_left_to_the_reply(
    engine: ChatEngine, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr("lade_chat.engine.chat_engine.first_difference", fail)
    assert run(engine, Prefill(user(LONG), OPTIONS)) == []


def test_a_race_after_reading_ahead_starts_as_before_the_answer(engine: ChatEngine) -> None:
    question = user(f"{LONG}Tell me of the sea.")
    answered = run(engine, Reply(question, OPTIONS))
    before = run(engine, Compare(question, OPTIONS))
    reply = Message("assistant", "".join(p.text for e in answered if isinstance(e, Tokens) for p in e.pieces))
    run(engine, Prefill((*question, reply, Message("user", "And")), OPTIONS))
    run(engine, Prefill(user("Something else"), OPTIONS))
    after = run(engine, Compare(question, OPTIONS))
    for side in ("left", "right"):
        assert said(before, side) == said(after, side) == said(answered)


class PatientEngine(ScriptedEngine):
    """Reads ahead until it is stopped, and writes down what it carries out."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[object] = []

    def handle(self, job: Job) -> list[Event]:  # type: ignore[override]
        self.done.append((type(job.command).__name__, job.stopped))
        return []


def test_reading_ahead_ends_when_anything_else_is_asked_and_remembering_is_never_stopped() -> None:
    engine = PatientEngine()
    server = LoneServer(lambda: engine, lambda _event: None)  # type: ignore[arg-type, return-value]
    server.take(Load(ModelOptions()))
    server.serve_one()
    server.take(Prefill(user("x")))
    server.take(Remember(MARK))
    server.take(Prefill(user("y")))
    server.take(Prefill(user("z")))
    server.take(Reply(user("q"), OPTIONS))
    server.take(Stop())
    for _ in range(5):
        server.serve_one()
    assert engine.done == [("Load", False), ("Remember", False)]


# --- a batch --------------------------------------------------------------------------------------------------------


def test_a_batch_passes_its_tables_from_line_to_line(
    engine: ChatEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MAKE_ENGINE, lambda _options: engine)
    monkeypatch.setattr(
        "lade_chat.cli.running.engine_run.load", lambda *_: ModelInfo("tiny", "cpu", "float64", 1, 512, True)
    )
    prompts, answers = tmp_path / "prompts.txt", tmp_path / "answers.jsonl"
    prompts.write_text("Tell me of the sea.\nTell me of the sea.\n")
    command = ["ask", "--batch", str(prompts), "-o", str(answers), "--max-new-tokens", "20"]
    assert main(command) == 0
    first, second = (msgspec.json.decode(line) for line in answers.read_bytes().splitlines())
    assert first["text"] == second["text"]
    assert second["steps"] < first["steps"]
