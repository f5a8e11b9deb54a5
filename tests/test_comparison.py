"""Races between any two methods: the same text in float64, on clocks of their own, and how near a tie they parted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch
from transformers import PreTrainedModel

from decoding import Decoder, FinishReason, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Origin, StepCost
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder, override_generation_config
from lade_chat.engine.decoder_factory import DECODERS
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.errors import LadeChatError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.saved_step_cost import step_cost
from lade_chat.presentation.methods import METHODS, MethodInfo, in_force, parse, title
from lade_chat.protocol.commands import Compare, Load, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelOptions, Sampling, Sizes
from tests.checkpoints import edit_json, make_bloom, make_qwen2
from tests.models import hf_greedy, random_model, random_prompt, tokens_of

OPTIONS = DecodingOptions(sizes=Sizes(), max_new_tokens=40)
FOREIGN = ("hf-generate", "hf-prompt-lookup-3", "hf-prompt-lookup-10")


def user(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    folder = make_qwen2(tmp_path_factory.mktemp("qwen2"))
    edit_json(folder / "config.json", max_position_embeddings=4096)
    engine = ChatEngine()
    list(engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float64")))))
    return engine


def raced(
    engine: ChatEngine, left: str, right: str, text: str = "Tell me of the sea.", **changes: object
) -> list[Event]:
    options = msgspec.structs.replace(OPTIONS, **changes)
    return list(engine.handle(Job(Compare(user(text), options, parse(left), parse(right)))))


def ends(events: list[Event]) -> dict[str, ReplyFinished]:
    return {event.side: event for event in events if isinstance(event, ReplyFinished)}


def text_of(events: list[Event], side: str) -> str:
    told = (event for event in events if isinstance(event, Tokens) and event.side == side)
    return "".join(piece.text for event in told for piece in event.pieces)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "plain"])
def test_every_method_says_what_plain_decoding_says(engine: ChatEngine, name: str) -> None:
    events = raced(engine, name, "plain")
    last = events[-1]
    assert isinstance(last, ComparisonFinished)
    assert last.identical
    left, right = ends(events)["left"].statistics, ends(events)["right"].statistics
    assert text_of(events, "left") == text_of(events, "right") != ""
    assert left.generated_tokens == right.generated_tokens == 40
    assert left.method is not None
    assert left.method == in_force(MethodSpec(name), OPTIONS.sizes)
    assert right.method == MethodSpec("plain")
    assert left.seconds > 0 < right.seconds
    assert left.steps <= right.steps == 40
    assert last.speedup == pytest.approx(right.seconds / left.seconds)


def test_two_methods_of_transformers_race_each_other_and_leave_its_settings_alone(engine: ChatEngine) -> None:
    assert engine.loaded is not None
    own = engine.loaded.model.generation_config
    events = raced(engine, "hf-prompt-lookup-10", "hf-generate")
    assert isinstance(events[-1], ComparisonFinished)
    assert events[-1].identical
    assert engine.loaded.model.generation_config is own


@pytest.mark.parametrize("name", FOREIGN)
def test_a_reply_that_ends_with_its_first_token_is_raced_with_transformers_too(
    engine: ChatEngine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert engine.loaded is not None
    loaded = engine.loaded
    prompt = prompt_for(loaded, user("Tell me of the sea."), 40).ids
    (first,) = hf_greedy(loaded.model, list(prompt), 1)
    monkeypatch.setattr(loaded.model.generation_config, "eos_token_id", first)
    monkeypatch.setattr(engine, "loaded", replace(loaded, eos_token_ids=(first,)))
    events = raced(engine, name, "plain")
    assert isinstance(events[-1], ComparisonFinished)
    assert {end.statistics.generated_tokens for end in ends(events).values()} == {1}
    assert {end.finish_reason for end in ends(events).values()} == {"eos"}


def test_a_race_with_transformers_can_be_stopped(engine: ChatEngine) -> None:
    # Long enough not to end by itself before the first batch of tokens, however fast the machine.
    long = msgspec.structs.replace(OPTIONS, max_new_tokens=1000)
    events = []
    job = Job(Compare(user("Stop me."), long, MethodSpec("hf-generate"), MethodSpec("plain")))
    for event in engine.handle(job):
        events.append(event)
        if isinstance(event, Tokens):
            job.stop()
    assert {end.finish_reason for end in ends(events).values()} == {"cancelled"}
    assert isinstance(events[-1], ComparisonFinished)


def test_a_stop_string_ends_the_sides_of_transformers_too(engine: ChatEngine) -> None:
    whole = text_of(raced(engine, "hf-generate", "plain"), "right")
    stop = whole[len(whole) // 2 :][:3]
    events = raced(engine, "hf-prompt-lookup-3", "plain", stop=(stop,))
    assert text_of(events, "left") == text_of(events, "right") == whole[: whole.index(stop)]
    assert {end.finish_reason for end in ends(events).values()} == {"stop"}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_draws_in_its_own_way_does_not_race_with_sampling(engine: ChatEngine, name: str) -> None:
    (failed,) = raced(engine, "lookahead", name, sampling=Sampling(temperature=1.0, seed=1))[-1:]
    assert isinstance(failed, Failed)
    assert "no race with sampling" in failed.message


@pytest.mark.parametrize("name", METHODS)
def test_where_lookahead_cannot_serve_the_others_still_race(tmp_path: Path, name: str) -> None:
    engine = ChatEngine()
    list(engine.handle(Job(Load(ModelOptions(str(make_bloom(tmp_path)), device="cpu", dtype="float32")))))
    last = raced(engine, name, "plain", max_new_tokens=4)[-1]
    assert isinstance(last, Failed if METHODS[name].needs_lookahead else ComparisonFinished)


def test_how_near_a_tie_the_first_difference_was(engine: ChatEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One side is made to choose the second likeliest token once: the gap is that of the two logits."""
    original = DECODERS["hf-generate"]
    gaps = []

    def wrongly(loaded: LoadedModel, method: MethodSpec) -> Decoder:
        decoder = original(loaded, method)
        generate = decoder.generate

        def wrong(input_ids: list[int], **arguments: object) -> object:
            for step in generate(input_ids, **arguments):  # type: ignore[arg-type]
                if step.prefill:
                    with torch.inference_mode():
                        logits = loaded.model(torch.tensor([list(input_ids)])).logits[0, -1]
                    values, tokens = logits.topk(2)
                    gaps.append(float(values[0] - values[1]))
                    step = msgspec.structs.replace(step, tokens=(int(tokens[1]),))
                yield step

        decoder.generate = wrong  # type: ignore[method-assign, assignment]
        return decoder

    monkeypatch.setitem(DECODERS, "hf-generate", wrongly)
    last = raced(engine, "plain", "hf-generate")[-1]
    assert isinstance(last, ComparisonFinished)
    assert last.difference is not None
    assert last.difference.index == 0
    assert last.difference.left != last.difference.right
    assert last.difference.gap == pytest.approx(gaps[0])
    assert last.difference.ulps is not None
    assert last.difference.ulps > 1


def test_a_new_method_is_a_row_of_words_and_a_decoder(engine: ChatEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "toy", MethodInfo("toy decoding", "a block of three guesses", needs_lookahead=True))
    monkeypatch.setitem(DECODERS, "toy", lambda loaded, method: JacobiDecoder(loaded.model, 3))
    events = raced(engine, "toy", "plain")
    assert title(parse("toy")) == "toy decoding"
    assert ends(events)["left"].statistics.method == MethodSpec("toy")
    assert isinstance(events[-1], ComparisonFinished)
    assert events[-1].identical


def test_an_unknown_method_is_told(engine: ChatEngine) -> None:
    last = list(engine.handle(Job(Compare(user("x"), OPTIONS, MethodSpec("magic")))))[-1]
    assert isinstance(last, Failed)
    assert "no method 'magic'" in last.message


class TestTablesBeforeTheTurn:
    def steps(self, engine: ChatEngine, text: str, *, fresh: bool = False) -> int:
        events = list(engine.handle(Job(Compare(user(text), OPTIONS, fresh=fresh))))
        return ends(events)["left"].statistics.steps

    def test_an_answer_given_twice_is_not_known_to_a_race_over_it(self, engine: ChatEngine) -> None:
        before = self.steps(engine, "Answered twice.")
        for _ in range(2):
            list(engine.handle(Job(Reply(user("Answered twice."), OPTIONS))))
        assert self.steps(engine, "Answered twice.") == before

    def test_nor_one_that_was_given_before_the_last(self, engine: ChatEngine) -> None:
        fresh = self.steps(engine, "Answered first.", fresh=True)
        list(engine.handle(Job(Reply(user("Answered first."), OPTIONS))))
        list(engine.handle(Job(Reply(user("Answered then."), OPTIONS))))
        assert self.steps(engine, "Answered first.") == fresh

    def test_what_its_steps_cost_is_not_booked_on_the_chat(self, engine: ChatEngine) -> None:
        automatic = DecodingOptions(max_new_tokens=40)
        list(engine.handle(Job(Reply(user("Answered before."), automatic))))
        assert engine.loaded is not None
        cost = step_cost(engine.loaded)
        assert cost is not None
        cost.balance = 1.0  # away from the bound of the balance, where no step would change it
        before = cost.as_dict(), cost.balance
        list(engine.handle(Job(Compare(user("Raced."), automatic, parse("lookahead"), parse("plain")))))
        assert (cost.as_dict(), cost.balance) == before
        assert step_cost(engine.loaded) is cost
        list(engine.handle(Job(Reply(user("Answered after."), automatic))))
        assert (cost.as_dict(), cost.balance) != before

    def test_nor_what_those_of_one_side_cost_on_the_other(
        self, engine: ChatEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        costs: list[StepCost | None] = []

        def noted(model: PreTrainedModel, config: LookaheadConfig, *, cost: StepCost | None) -> Decoder:
            costs.append(cost)
            return LookaheadDecoder(model, config, cost=cost)

        monkeypatch.setattr("lade_chat.engine.decoder_factory.LookaheadDecoder", noted)
        automatic = DecodingOptions(max_new_tokens=4)
        list(engine.handle(Job(Compare(user("Raced."), automatic, parse("lookahead"), parse("lookahead")))))
        left, right, *_ = costs
        assert left is not None
        assert right is not None
        assert left is not right


class TestTransformersDecoder:
    @pytest.mark.parametrize("lookup", [None, 3])
    def test_its_steps_join_to_what_generate_says(self, lookup: int | None) -> None:
        model, prompt = random_model("llama", layers=1), random_prompt(23)
        prompt += prompt
        expected = hf_greedy(model, prompt, 30)
        decoder = TransformersDecoder(model, prompt_lookup_num_tokens=lookup)
        with override_generation_config(model):
            steps = list(decoder.generate(prompt, max_new_tokens=30))
        assert tokens_of(steps) == expected
        assert steps[-1].finish_reason is FinishReason.LENGTH
        assert steps[0].prefill
        assert not any(step.prefill for step in steps[1:])
        assert all(step.origins == (*(Origin.CONTEXT,) * (len(step.tokens) - 1), Origin.PLAIN) for step in steps)
        if lookup is None:
            assert len(steps) == 30

    def test_it_ends_at_an_end_of_sequence(self) -> None:
        model, prompt = random_model("llama", layers=1), random_prompt(23)
        eos = hf_greedy(model, prompt, 12)[-1]
        with override_generation_config(model):
            steps = list(TransformersDecoder(model).generate(prompt, max_new_tokens=30, eos_token_ids=[eos]))
            model.generation_config.eos_token_id = eos
            own = list(TransformersDecoder(model).generate(prompt, max_new_tokens=30))
            assert [step.tokens for step in own] == [step.tokens for step in steps]
        assert steps[-1].tokens[-1] == eos
        assert steps[-1].finish_reason is FinishReason.EOS

    def test_its_errors_are_raised_where_its_steps_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = random_model("llama", layers=1)

        def fail(*arguments: object, **named: object) -> None:
            raise MemoryError("no more")

        monkeypatch.setattr(model, "generate", fail)
        with pytest.raises(MemoryError):
            list(TransformersDecoder(model).generate(random_prompt(5), max_new_tokens=3))


class TestNames:
    def test_sizes_stand_for_lookahead_with_them(self) -> None:
        assert parse("15,5,10") == MethodSpec("lookahead-fixed", Sizes(15, 5, 10))
        assert parse("lookahead", Sizes(3, 4, 5)) == MethodSpec("lookahead-fixed", Sizes(3, 4, 5))
        assert parse("lookahead-fixed") == MethodSpec("lookahead-fixed", Sizes(7, 5, 7))
        assert parse("lookahead") == MethodSpec("lookahead")

    @pytest.mark.parametrize("text", ["medusa", "", "1,2", "7,1,7", "a,b,c"])
    def test_an_unknown_method_is_reported_in_one_line(self, text: str) -> None:
        with pytest.raises(LadeChatError) as raised:
            parse(text)
        assert text in str(raised.value)
        assert "\n" not in str(raised.value)

    def test_every_method_has_a_title_of_its_own(self) -> None:
        assert len({title(parse(name)) for name in METHODS}) == len(METHODS)
