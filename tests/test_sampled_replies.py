"""Sampled replies and stop strings through the engine: the same text on and off, and nothing behind a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.protocol.codec import decode_command, decode_event, encode
from lade_chat.protocol.commands import Compare, Load, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, Loaded, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Piece, Sampling, Sizes
from tests.checkpoints import make_gpt2, make_llama_tokenizer_model, make_qwen2
from tests.pairs import pairs

OPTIONS = DecodingOptions(sizes=Sizes(), max_new_tokens=28)
DRAWN = Sampling(temperature=0.8, top_p=0.9, seed=7)
QUESTION = (Message("user", "Tell me a story."),)


def loaded(folder: Path) -> ChatEngine:
    engine = ChatEngine()
    *_, event = engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float32"))))
    assert isinstance(event, Loaded), event
    return engine


# One whose line breaks are byte tokens of sentencepiece's, one of byte-level BPE, one without a chat template.
MAKERS: dict[str, Callable[[Path], Path]] = {
    "llama": make_llama_tokenizer_model,
    "qwen2": make_qwen2,
    "gpt2": make_gpt2,
}


@pytest.fixture(scope="module", params=MAKERS)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    return loaded(MAKERS[request.param](tmp_path_factory.mktemp(request.param)))


@pytest.fixture(scope="module")
def qwen2(tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    return loaded(make_qwen2(tmp_path_factory.mktemp("qwen2")))


class Answer:
    """A reply's events, summed up."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.events = list(events)
        last = self.events[-1]
        assert isinstance(last, ReplyFinished), last
        self.pieces: list[Piece] = [p for event in self.events if isinstance(event, Tokens) for p in event.pieces]
        self.text = "".join(piece.text for piece in self.pieces)
        self.ids = [piece.id for piece in self.pieces]
        self.reason, self.statistics = last.finish_reason, last.statistics


def ask(engine: ChatEngine, **changes: Any) -> Answer:
    return Answer(engine.handle(Job(Reply(QUESTION, msgspec.structs.replace(OPTIONS, **changes)))))


# --- sampling -----------------------------------------------------------------------------------------------------


SAMPLINGS = (
    Sampling(temperature=0.8, top_p=0.9),
    Sampling(temperature=1.5),
    Sampling(top_k=5, min_p=0.02, typical_p=0.9, repetition_penalty=1.2),
)


@pytest.mark.parametrize(("engine", "sampling"), pairs(MAKERS, SAMPLINGS), indirect=["engine"])
def test_with_one_seed_the_text_is_the_same_on_and_off(engine: ChatEngine, sampling: Sampling) -> None:
    seeded = msgspec.structs.replace(sampling, seed=1)
    on, off = ask(engine, sampling=seeded), ask(engine, sampling=seeded, lookahead=False)
    assert (on.text, on.ids) == (off.text, off.ids)
    assert on.text == ask(engine, sampling=seeded).text, "asked again, it is the same"
    assert on.text != ask(engine).text, "and it was drawn"


def test_switched_in_mid_reply_the_text_stays(qwen2: ChatEngine) -> None:
    expected, events = ask(qwen2, sampling=DRAWN).text, []
    job = Job(Reply(QUESTION, msgspec.structs.replace(OPTIONS, sampling=DRAWN)))
    for number, event in enumerate(qwen2.handle(job)):
        events.append(event)
        job.set_lookahead(number % 2 == 0)
    assert Answer(iter(events)).text == expected


def test_other_seeds_give_other_texts(qwen2: ChatEngine) -> None:
    texts = {ask(qwen2, sampling=Sampling(temperature=1.0, seed=seed)).text for seed in range(4)}
    assert len(texts) == 4


def test_a_seed_that_was_drawn_is_told_and_gives_the_text_again(qwen2: ChatEngine) -> None:
    first, second = (ask(qwen2, sampling=Sampling(temperature=1.0)) for _ in range(2))
    told = first.statistics.sampling
    assert told is not None
    assert told == Sampling(1.0, 1.0, 0, 0.0, 1.0, 1.0, told.seed)
    assert second.statistics.sampling != told
    assert ask(qwen2, sampling=told).text == first.text
    assert all(decode_event(encode(event)) == event for event in first.events)


def test_greedy_tells_of_no_sampling_and_a_penalty_of_no_seed(qwen2: ChatEngine) -> None:
    greedy = ask(qwen2)
    assert greedy.statistics.sampling is None
    penalised = ask(qwen2, sampling=Sampling(temperature=0.0, repetition_penalty=2.0))
    assert penalised.statistics.sampling == Sampling(0.0, 1.0, 0, 0.0, 1.0, 2.0)
    assert penalised.text != greedy.text
    assert penalised.text == ask(qwen2, sampling=penalised.statistics.sampling, lookahead=False).text


def test_both_sides_of_a_race_draw_alike(qwen2: ChatEngine) -> None:
    options = msgspec.structs.replace(OPTIONS, sampling=Sampling(temperature=1.2))
    events = list(qwen2.handle(Job(Compare(QUESTION, options))))
    last = events[-1]
    assert isinstance(last, ComparisonFinished)
    assert last.identical
    left, right = (event.statistics.sampling for event in events if isinstance(event, ReplyFinished))
    assert left == right
    assert left is not None
    text = "".join(p.text for e in events if isinstance(e, Tokens) and e.side == "left" for p in e.pieces)
    assert ask(qwen2, sampling=left).text == text


@pytest.mark.parametrize(
    ("own", "asked", "in_force"),
    [
        # Where a config that draws says nothing of top-k, transformers takes 50.
        ({"do_sample": False, "top_p": 0.5}, Sampling(seed=1), None),
        (
            {"do_sample": False, "top_p": 0.5},
            Sampling(temperature=0.7, seed=1),
            Sampling(0.7, 0.5, 50, 0.0, 1.0, 1.0, 1),
        ),
        (
            {"do_sample": True, "temperature": 0.6, "top_p": 0.5},
            Sampling(seed=1),
            Sampling(0.6, 0.5, 50, 0.0, 1.0, 1.0, 1),
        ),
        (
            {"do_sample": True, "temperature": 0.6, "top_p": 0.5, "top_k": 9},
            Sampling(top_p=0.9, seed=1),
            Sampling(0.6, 0.9, 9, 0.0, 1.0, 1.0, 1),
        ),
        ({"do_sample": True, "temperature": 0.6}, Sampling(temperature=0.0), None),
        ({"do_sample": False}, Sampling(top_k=3, seed=1), Sampling(1.0, 1.0, 3, 0.0, 1.0, 1.0, 1)),
        (
            {"do_sample": False, "repetition_penalty": 1.3},
            Sampling(seed=1),
            Sampling(0.0, 1.0, 0, 0.0, 1.0, 1.3),
        ),
    ],
)
def test_the_models_own_config_and_what_goes_over_it(
    qwen2: ChatEngine,
    monkeypatch: pytest.MonkeyPatch,
    own: dict[str, Any],
    asked: Sampling,
    in_force: Sampling | None,
) -> None:
    from transformers import GenerationConfig

    monkeypatch.setattr(qwen2.loaded.model, "generation_config", GenerationConfig(**own))  # type: ignore[union-attr]
    found = ask(qwen2, sampling=msgspec.structs.replace(asked, from_model=True), max_new_tokens=2).statistics.sampling
    assert found == in_force


@pytest.mark.parametrize("settings", [{"temperature": -1.0}, {"guidance_scale": 2.0}], ids=str)
def test_a_generation_config_that_cannot_be_followed_fails_in_one_line(
    qwen2: ChatEngine, monkeypatch: pytest.MonkeyPatch, settings: dict[str, float]
) -> None:
    config = msgspec.structs.replace(OPTIONS, sampling=Sampling(from_model=True))
    from transformers import GenerationConfig

    own = GenerationConfig(do_sample=True)
    for name, value in settings.items():
        setattr(own, name, value)  # one that the constructor might refuse
    monkeypatch.setattr(qwen2.loaded.model, "generation_config", own)  # type: ignore[union-attr]
    *_, last = qwen2.handle(Job(Reply(QUESTION, config)))
    assert isinstance(last, Failed)
    assert "generation config" in last.message
    assert next(iter(settings)) in last.message
    assert "\n" not in last.message


def test_sampling_travels() -> None:
    sampling = Sampling(0.8, 0.9, 40, 0.05, 0.95, 1.1, 2**64 - 1, from_model=True)
    command = Reply(QUESTION, msgspec.structs.replace(OPTIONS, sampling=sampling, stop=("\n\n", "é")))
    assert decode_command(encode(command)) == command


# --- stop strings -------------------------------------------------------------------------------------------------


def stops_in(text: str) -> Iterator[str]:
    """Parts of a text: of one to five characters, from everywhere in it, so that most straddle tokens."""
    for length in (1, 5):
        for start in range(0, len(text) - length, 1 + len(text) // 3):
            # Half a character, as a random model writes it, is only settled at the end of the text.
            if "\N{REPLACEMENT CHARACTER}" not in (stop := text[start : start + length]):
                yield stop


@pytest.mark.parametrize("sampling", [None, DRAWN])
def test_a_reply_ends_before_its_stop_string_and_with_the_token_that_completes_it(
    engine: ChatEngine, sampling: Sampling | None
) -> None:
    whole = ask(engine, sampling=sampling, lookahead=False)
    for stop in stops_in(whole.text):
        on, off = (ask(engine, sampling=sampling, stop=(stop,), lookahead=on) for on in (True, False))
        assert on.text == off.text == whole.text[: whole.text.index(stop)], repr(stop)
        assert on.ids == off.ids == whole.ids[: len(on.ids)]
        assert on.reason == off.reason == "stop"
        assert on.statistics.generated_tokens == len(on.ids)
        assert on.statistics.verified_tokens == sum(piece.origin != "plain" for piece in on.pieces)
        if (before := len(off.ids) - 1) > 0:
            assert stop not in ask(engine, sampling=sampling, lookahead=False, max_new_tokens=before).text


def test_of_several_the_first_counts_and_what_never_comes_changes_nothing(qwen2: ChatEngine) -> None:
    whole = ask(qwen2, sampling=DRAWN)
    early, late = whole.text[4:6], whole.text[-4:-1]
    assert ask(qwen2, sampling=DRAWN, stop=(late, "never said", early)).text == whole.text[: whole.text.index(early)]
    unstopped = ask(qwen2, sampling=DRAWN, stop=("never said",))
    assert (unstopped.text, unstopped.ids, unstopped.reason) == (whole.text, whole.ids, whole.reason)


def test_what_may_become_a_stop_string_is_said_if_the_reply_ends_first(qwen2: ChatEngine) -> None:
    whole = ask(qwen2)
    assert ask(qwen2, stop=(f"{whole.text[-6:]} and on",)).text == whole.text


def test_a_race_ends_both_sides_at_the_stop_string(qwen2: ChatEngine) -> None:
    whole = ask(qwen2, sampling=DRAWN)
    stop = whole.text[10:13]
    events = list(qwen2.handle(Job(Compare(QUESTION, msgspec.structs.replace(OPTIONS, sampling=DRAWN, stop=(stop,))))))
    assert {event.finish_reason for event in events if isinstance(event, ReplyFinished)} == {"stop"}
    last = events[-1]
    assert isinstance(last, ComparisonFinished)
    assert last.identical


def test_the_turn_after_a_stop_goes_on_from_the_trimmed_text(qwen2: ChatEngine) -> None:
    stop = ask(qwen2).text[10:13]
    stopped = ask(qwen2, stop=(stop,))
    turns = (*QUESTION, Message("assistant", stopped.text), Message("user", "And then?"))
    command = Reply(turns, msgspec.structs.replace(OPTIONS, sampling=DRAWN))
    after = Answer(qwen2.handle(Job(command)))
    list(qwen2.handle(Job(Reply((Message("user", "Something else."),), OPTIONS))))
    assert Answer(qwen2.handle(Job(command))).text == after.text
