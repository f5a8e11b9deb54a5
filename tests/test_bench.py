"""The benchmark: who is asked what and when, what is counted, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from bench_runs import run_of, suite_of
from models import hf_greedy, random_model, random_prompt

from decoding import (
    AutoregressiveDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    SamplingConfig,
    Session,
)
from lade_chat.bench.measure import count, measure
from lade_chat.bench.methods import decoders
from lade_chat.bench.methods.all_methods import METHODS, Method, Replier, Setup
from lade_chat.bench.methods.decoders import decoder_method
from lade_chat.bench.results.measurements import StepTotals, TimedReply
from lade_chat.bench.results.summary import Spread, overall, summarise

# --- who is asked, and when ------------------------------------------------------------------------------------------


def recording(name: str, learns: bool, log: list[tuple[str, int, int]]) -> Method:
    """Answers every prompt with itself; the log holds who was asked, which opening of it, and what."""
    openings = iter(range(10_000))

    def opened(seed: int | None) -> Replier:
        opening = next(openings)

        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            log.append((name, opening, ids[0]))
            return TimedReply(tuple(ids), 1.0)

        return reply

    return Method(name, learns, opened)


def test_everybody_gets_every_prompt_and_goes_first_in_turn() -> None:
    log: list[tuple[str, int, int]] = []
    methods = [recording(name, False, log) for name in "abc"]
    runs = list(measure([suite_of((1,), (1,), (1,))], methods, repeats=2, left_out={}))
    assert len(runs) == count([suite_of((1,), (1,), (1,))], methods, 2) == 18
    asked = ["".join(name for name, _, _ in log[start : start + 3]) for start in range(0, 18, 3)]
    assert asked == ["abc", "bca", "cab", "bca", "cab", "abc"]
    assert [run.method for run in runs] == [name for name, _, _ in log]
    assert {(run.prompt, run.repeat) for run in runs} == {(p, r) for p in range(3) for r in range(2)}


def test_warm_tables_last_for_one_suite_of_one_repeat_and_cold_ones_for_a_prompt() -> None:
    log: list[tuple[str, int, int]] = []
    suites = [suite_of((1,), (1,), name="s"), suite_of((1,), (1,), name="t")]
    runs = list(measure(suites, [recording("a", True, log)], repeats=2, left_out={}))
    seen: dict[int, list[tuple[Any, ...]]] = {}
    for run, (_, opening, _) in zip(runs, log, strict=True):
        seen.setdefault(opening, []).append((run.tables, run.suite, run.repeat, run.prompt))
    warm = [each for each in seen.values() if each[0][0] == "warm"]
    assert sorted(warm) == [[("warm", s, r, 0), ("warm", s, r, 1)] for s in "st" for r in range(2)]
    assert all(len(each) == 1 for each in seen.values() if each[0][0] == "cold")
    assert len(seen) == 4 + 8


def test_every_seed_begins_with_fresh_tables() -> None:
    log: list[tuple[str, int, int]] = []
    opened: list[int | None] = []

    def told(seed: int | None) -> Replier:
        opened.append(seed)
        return recording("a", True, log).open(seed)

    suite = suite_of((1,), (1,), seeds=(7, 8))
    assert suite.prompts == 2
    runs = list(measure([suite], [Method("a", True, told)], repeats=1, left_out={}))
    assert [(run.tables, run.prompt) for run in runs if run.tables == "warm"] == [("warm", n) for n in range(4)]
    # One for the warm tables of each seed, and one for each prompt.
    assert opened == [7, 7, 7, 8, 8, 8]


def test_no_tables_see_a_prompt_twice_and_every_prompt_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    adopted: dict[Session, list[tuple[int, ...]]] = {}
    read: list[bool] = []

    class Watched(Session):
        def sync(self, input_ids: Sequence[int]) -> None:
            adopted.setdefault(self, []).append(tuple(input_ids))
            super().sync(input_ids)
            read.append(self.cached == 0)

    monkeypatch.setattr(decoders, "Session", Watched)
    model = random_model("llama", layers=1)
    start = random_prompt(6)
    prompts = [[*start, *random_prompt(4, seed)] for seed in range(1, 4)]
    method = decoder_method("x", lambda: LookaheadDecoder(model, LookaheadConfig(3, 3, 3)), Setup(model))
    runs = list(measure([suite_of((1,), (1,), (1,), prompts=prompts)], [method], repeats=2, left_out={}))
    assert all(len(set(texts)) == len(texts) for texts in adopted.values())
    assert sorted(map(len, adopted.values())) == [1] * 6 + [3] * 2
    assert all(read)
    entries = {(run.tables, run.prompt): run.reply.totals.table_entries for run in runs if run.reply.totals}
    assert entries["warm", 2] > entries["cold", 2]


def test_the_steps_are_added_up_without_that_of_the_prompt() -> None:
    model = random_model("llama", layers=1)
    prompt = random_prompt(9)
    reply = decoder_method("plain", lambda: AutoregressiveDecoder(model), Setup(model), learns=False).open(None)(
        prompt, 6
    )
    assert list(reply.ids) == hf_greedy(model, prompt, 6)
    totals = reply.totals
    assert totals is not None
    assert (totals.steps, totals.tokens, totals.forward_tokens, totals.verified) == (5, 5, 5, 0)
    assert 0 < totals.forward_seconds <= totals.seconds <= reply.seconds


def test_a_seed_has_every_decoder_draw_the_same_text() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    setup = Setup(model, sampling=SamplingConfig(temperature=1.5, top_k=9, seed=0))
    methods = [method for name in ("plain", "lookahead-fixed", "jacobi") for method in METHODS[name](setup)]
    said = {seed: {method.open(seed)(prompt, 12).ids for method in methods} for seed in (1, 2)}
    assert [len(texts) for texts in said.values()] == [1, 1]
    assert said[1] != said[2]


def test_every_prompt_has_draws_of_its_own() -> None:
    """Or else a model that is sure of nothing says the same after all of them, and tables know it beforehand."""
    setup = Setup(random_model("llama", layers=1), sampling=SamplingConfig(temperature=50.0, seed=0))
    [plain] = METHODS["plain"](setup)
    one, other = ([*random_prompt(8), last] for last in (5, 6))
    reply = plain.open(1)
    assert reply(one, 12).ids == reply(one, 12).ids
    assert sum(a == b for a, b in zip(reply(one, 12).ids, reply(other, 12).ids, strict=True)) < 6


def test_generate_draws_from_the_same_distribution_in_a_way_of_its_own() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    [method] = METHODS["hf-generate"](Setup(model, sampling=SamplingConfig(temperature=2.0, seed=0)))
    assert method.own_draws
    said = [method.open(seed)(prompt, 12).ids for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]
    [narrow] = METHODS["hf-generate"](Setup(model, sampling=SamplingConfig(temperature=2.0, top_k=1, seed=0)))
    assert list(narrow.open(3)(prompt, 6).ids) == hf_greedy(model, prompt, 6)


# --- totals ---------------------------------------------------------------------------------------------------------


def test_speed_ups_are_paired_by_repeat_and_summed_over_prompts() -> None:
    suite = suite_of((1, 2), (1, 2))
    runs = [
        run_of(method, seconds, prompt=prompt, repeat=repeat)
        for repeat, times in enumerate([(4.0, 2.0), (8.0, 2.0), (6.0, 2.0)])
        for method, total in zip(("plain", "fast"), times, strict=True)
        for prompt, seconds in enumerate((0.25 * total, 0.75 * total))
    ]
    plain, fast = summarise(runs, [suite])
    assert plain.speedup == Spread(1.0, 1.0, 1.0)
    assert fast.speedup == Spread(3.0, 2.0, 4.0)
    assert fast.seconds == Spread(2.0, 2.0, 2.0)
    assert fast.tokens_per_second == Spread(2.0, 2.0, 2.0)
    assert (fast.identical, fast.replies, fast.steps) == (6, 6, None)


def test_a_reply_that_ends_sooner_is_no_faster_and_not_identical() -> None:
    runs = [run_of("plain", 4.0, (1, 2)), run_of("short", 2.0, (1,))]
    _, short = summarise(runs, [suite_of((1, 2))])
    assert short.speedup.median == 1.0
    assert (short.identical, short.replies) == (0, 1)


def test_the_mean_over_suites_is_geometric_and_taken_in_each_repeat() -> None:
    runs = [
        run_of(method, seconds, suite=suite, repeat=repeat)
        for repeat, factors in enumerate([(1.0, 4.0), (9.0, 1.0)])
        for suite, factor in zip("st", factors, strict=True)
        for method, seconds in (("plain", 8.0), ("fast", 8.0 / factor))
    ]
    rows = summarise(runs, [suite_of((1, 2), name="s"), suite_of((1, 2), name="t")])
    fast = overall(runs, rows)[1]
    assert (fast.method, fast.identical, fast.replies) == ("fast", 4, 4)
    assert fast.speedup == Spread(*map(pytest.approx, (2.5, 2.0, 3.0)))


def test_what_is_drawn_in_a_way_of_its_own_is_not_compared() -> None:
    runs = [run_of("plain", 4.0, (1, 2)), run_of("other", 2.0, (5, 6))]
    rows = summarise(runs, [suite_of((1, 2), seeds=(3,))], ["other"])
    assert [row.identical for row in rows] == [1, None]
    assert [each.identical for each in overall(runs, rows)] == [1, None]
    assert rows[1].speedup.median == 2.0


def test_the_steps_of_a_suite() -> None:
    plain = StepTotals(steps=4, tokens=4, forward_tokens=4, seconds=4.0, forward_seconds=4.0, median_seconds=1.0)
    ours = StepTotals(2, 5, 3, 40, 3.0, 2.5, 1.5, 70)
    runs = [
        run_of("plain", 4.0, totals=plain),
        run_of("lookahead", 3.0, tables="warm", totals=ours),
        run_of("lookahead", 3.0, tables="warm", prompt=1, totals=StepTotals(table_entries=90)),
        run_of("plain", 4.0, prompt=1, totals=plain),
    ]
    steps = summarise(runs, [suite_of((1, 2), (1, 2))])[1].steps
    assert steps is not None
    assert (steps.tokens_per_step, steps.tokens_per_forward, steps.verified_share) == (2.5, 20.0, 0.6)
    assert steps.bookkeeping_share == 0.25  # half a second in two steps, and a plain step takes one
    assert steps.table_entries == 70
