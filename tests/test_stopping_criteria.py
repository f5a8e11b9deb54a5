"""Where a text ends: criteria are asked after every token in order, and what comes behind the end is never said."""

from __future__ import annotations

import time

import pytest
import torch
import transformers as hf

from decoding import (
    AutoregressiveDecoder,
    FinishReason,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    SamplingConfig,
    Session,
)
from decoding.request import Request
from tests.models import CYCLE, code_reciting_model, cycling_model, random_model, random_prompt, tokens_of

DECODERS = {
    "plain": AutoregressiveDecoder,
    "lookahead": lambda model: LookaheadDecoder(model, LookaheadConfig(3, 6, 4)),
    "jacobi": lambda model: JacobiDecoder(model, 6),
}


class Asked(hf.StoppingCriteria):
    """Notes what it is shown, and says stop once the text ends so, or is so long."""

    def __init__(self, ending=(), length=10_000):
        self.texts, self.ending, self.length = [], list(ending), length

    def __call__(self, input_ids, scores, **kwargs):
        assert input_ids.shape[0] == 1
        text = input_ids[0].tolist()
        self.texts.append(text)
        stop = len(text) >= self.length or (bool(self.ending) and text[-len(self.ending) :] == self.ending)
        return torch.tensor([stop])


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("sampling", [None, SamplingConfig(temperature=0.7, seed=3)])
def test_a_criterion_is_asked_after_every_token_in_order(name, sampling):
    model, prompt, criterion = random_model("llama", layers=1), random_prompt(12), Asked()
    steps = DECODERS[name](model).generate(prompt, max_new_tokens=25, sampling=sampling, stopping_criteria=[criterion])
    said = tokens_of(steps)
    assert criterion.texts == [[*prompt, *said[: index + 1]] for index in range(25)]


@pytest.mark.parametrize("name", DECODERS)
def test_it_ends_inside_a_run_and_the_session_with_it(name):
    model, prompt, criterion = cycling_model(), CYCLE * 2, Asked(ending=[13, 14])
    session = Session(model)
    steps = list(
        DECODERS[name](model).generate(prompt, max_new_tokens=30, stopping_criteria=[criterion], session=session)
    )
    assert tokens_of(steps) == [10, 11, 12, 13, 14]
    assert steps[-1].finish_reason is FinishReason.STOP
    assert all(len(step.tokens) == len(step.origins) for step in steps)
    # Nothing behind the end was shown, kept or read.
    assert criterion.texts[-1] == session.ids == [*prompt, 10, 11, 12, 13, 14]
    assert session.cached == len(session.ids) - 1
    # And from there it goes on.
    more = tokens_of(DECODERS[name](model).generate(session.ids, max_new_tokens=3, session=session))
    assert more == [15, 16, 10]


def test_a_text_is_not_made_a_tensor_anew_at_every_token():
    class Text(list):
        def __iter__(self):
            raise AssertionError("all of it is read")

    criterion, text = Asked(length=9), Text([4, 5, 6])
    request = Request(20, frozenset(), criteria=hf.StoppingCriteriaList([criterion]))
    for tokens in ((7, 8), (9,), (1, 2, 3, 4)):
        kept, reason = request.cut(text, tokens)
        text.extend(kept)
    assert reason is FinishReason.STOP
    assert criterion.texts[-1] == text[:] == [4, 5, 6, 7, 8, 9, 1, 2, 3]


@pytest.mark.parametrize("name", DECODERS)
def test_of_several_the_first_one_counts(name):
    criteria = [Asked(ending=[15]), Asked(length=17), Asked(ending=[14])]
    steps = list(DECODERS[name](cycling_model()).generate(CYCLE * 2, max_new_tokens=30, stopping_criteria=criteria))
    assert tokens_of(steps) == [10, 11, 12]
    assert [len(criterion.texts) for criterion in criteria] == [3, 3, 3]


@pytest.mark.parametrize("name", DECODERS)
def test_the_reason_is_the_end_of_sequence_where_both_say_so(name):
    arguments = {"max_new_tokens": 30, "eos_token_ids": [12, 90], "stopping_criteria": [Asked(ending=[12])]}
    *_, last = DECODERS[name](cycling_model()).generate(CYCLE * 2, **arguments)
    assert last.finish_reason is FinishReason.EOS
    arguments["stopping_criteria"] = [Asked(ending=[11])]
    *_, last = DECODERS[name](cycling_model()).generate(CYCLE * 2, **arguments)
    assert last.finish_reason is FinishReason.STOP
    *_, last = DECODERS[name](cycling_model()).generate(CYCLE * 2, max_new_tokens=2, eos_token_ids=12)
    assert last.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("name", DECODERS)
def test_transformers_own_criteria_hold(name):
    late = hf.MaxTimeCriteria(max_time=1.0, initial_timestamp=time.time() - 9)
    for criterion, said in (
        (late, [10]),
        (hf.MaxLengthCriteria(max_length=18), [10, 11, 12, 13]),
        (hf.EosTokenCriteria(eos_token_id=[12, 15]), [10, 11, 12]),
    ):
        steps = DECODERS[name](cycling_model()).generate(CYCLE * 2, max_new_tokens=30, stopping_criteria=[criterion])
        assert tokens_of(steps) == said


def test_stop_strings_straddle_tokens_and_steps() -> None:
    """Stretches of the answer that begin and end within tokens: the text ends with the token that completes them."""
    model, tokenizer, inputs = code_reciting_model()
    prompt = inputs["input_ids"][0].tolist()
    decoder = LookaheadDecoder(model, LookaheadConfig(3, 4, 3))
    steps = list(decoder.generate(prompt, max_new_tokens=30))
    said = tokens_of(steps)
    assert any(len(step.tokens) > 1 for step in steps)
    text = tokenizer.decode(said)
    stops = [text[start : start + length] for start, length in ((4, 5), (12, 3), (41, 12))]
    for stop in [*stops, "never said"]:
        criterion = hf.StopStringCriteria(tokenizer, ["nor this", stop])
        whole = next((n for n in range(1, 31) if stop in tokenizer.decode(said[:n])), 30)
        ended = tokens_of(decoder.generate(prompt, max_new_tokens=30, stopping_criteria=[criterion]))
        assert ended == said[:whole], (stop, tokenizer.decode(ended))


@pytest.mark.parametrize("name", DECODERS)
def test_processors_see_nothing_behind_the_id_that_ends_a_text(name: str) -> None:
    seen: list[list[int]] = []

    def note(ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        seen.append(ids[0].tolist())
        return scores

    prompt = [*CYCLE, *CYCLE]
    steps = DECODERS[name](cycling_model()).generate(
        prompt, max_new_tokens=30, eos_token_ids=12, logits_processor=[note]
    )
    assert tokens_of(steps) == [10, 11, 12]
    assert seen == [prompt, [*prompt, 10], [*prompt, 10, 11]]
