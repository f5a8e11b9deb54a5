"""How the recipe judges its model: what counts as right, what is aimed at, and the figures beside the scores."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from pathlib import Path

import pytest

from assets.recipe import corpus
from assets.recipe.card import TARGETS, draw_curve, target_line
from assets.recipe.conversation import code_block, exactly_in, mentions, thinned
from assets.recipe.evaluation import ANSWERS, ENDS, NEW, UNSEEN, Answer, Score, Trial, examine, judge, trials
from assets.recipe.model import Point, read_curve
from assets.recipe.skills.numbers import sums
from assets.recipe.skills.python import functions
from assets.recipe.skills.writing.poems import rhymes
from assets.recipe.skills.writing.stories import well_formed
from assets.recipe.skills.writing.talk import read_topics
from assets.recipe.unseen import CHECKS, unseen

_FIZZBUZZ = "```python\nfor i in range(1, 31):\n    print('Fizz' * (i % 3 == 0) + 'Buzz' * (i % 5 == 0) or i)\n```"


def test_the_examiner_asks_everything_and_counts_nonsense_as_wrong() -> None:
    asked = trials(1)
    scores, wrong = examine(asked, lambda _: Answer("nothing", ended=False))
    counted = {row: sum(score["asked"] for score in columns.values()) for row, columns in scores.items()}
    assert sum(counted[row] for row in {trial.row for trial in asked}) == len(asked)
    assert counted[ENDS] == len(asked)
    assert len(wrong) > len(asked) / 2
    assert not any(score["right"] for score in scores[ENDS].values())
    assert all(score["right"] == score["asked"] for score in scores[ANSWERS].values())


def test_a_reply_that_declines_is_no_answer_to_what_it_can_do() -> None:
    exchange = corpus.skill_named("Python").compose(corpus.draw_for(0, 0))[0]
    trial = Trial("Python", NEW, [], exchange)
    assert judge(trial, Answer(exchange.reply, ended=True)) == {"Python": True, ENDS: True, ANSWERS: True}
    wrong = judge(trial, Answer("```python\ndef f():\n    pass\n```", ended=True))
    assert wrong == {"Python": False, ENDS: True, ANSWERS: True}
    declined = judge(trial, Answer("I am small, load another with --model_path", ended=False))
    assert not any(declined.values())


@pytest.mark.parametrize("reply", ["7", "7.", "Here you go: 7", "Sure: 7.", "Lengths: 3, 4. So 7"])
def test_an_exact_answer_may_have_an_opening_and_a_full_stop(reply: str) -> None:
    assert exactly_in("7")(reply)


@pytest.mark.parametrize("reply", ["27", "Here you go: 27", "Here you go: 3, 7", "not 7", "7, 8", ""])
def test_what_only_ends_like_the_answer_is_not_the_answer(reply: str) -> None:
    assert not exactly_in("7")(reply)


def test_a_division_needs_its_quotient_right_as_well_as_its_remainder() -> None:
    composed = (sums.compose(corpus.draw_for("division", index))[0] for index in range(2000))
    divisions = [one for one in composed if " remainder " in one.reply.rsplit(" = ", 1)[-1] and " So " not in one.reply]
    assert len(divisions) > 20
    for exchange in divisions:
        assert exchange.check is not None
        assert exchange.check(exchange.reply)
        quotient, remainder = exchange.reply.rsplit(" = ", 1)[1].rstrip(".").split(" remainder ")
        assert not exchange.check(f"= {int(quotient) + 1} remainder {remainder}.")
        assert not exchange.check(f"= {quotient} remainder {int(remainder) + 1}.")


def test_another_way_is_not_the_same_code_again() -> None:
    seen = 0
    for index in range(2000):
        exchanges = functions.compose(corpus.draw_for("ways", index))
        for before, exchange in pairwise(exchanges):
            if exchange.check is None or "way" not in exchange.ask.lower() or "only this way" in exchange.reply:
                continue
            if code_block(exchange.reply) and code_block(before.reply):
                seen += 1
                assert exchange.check(exchange.reply)
                assert not exchange.check(before.reply), exchange
    assert seen > 10


def test_what_one_topic_says_is_no_right_reply_to_another() -> None:
    topics = [topic for name in ("ideas", "itself", "things", "closings") for topic in read_topics(name)]
    for topic, other in permutations(topics, 2):
        assert topic["need"]
        assert not any(mentions(*topic["need"])(reply) for reply in other["say"]), (topic["ask"][0], other["ask"][0])


def test_every_skill_has_a_target_and_every_target_rows_that_are_examined() -> None:
    scores, _ = examine(trials(1), lambda _: Answer("nothing", ended=False))
    aimed = {row for _, rows in TARGETS.values() for row in rows}
    assert {skill.name for skill in corpus.SKILLS} <= aimed <= set(scores)


def test_a_target_is_met_by_what_is_counted_not_by_what_is_rounded() -> None:
    def line(*counts: tuple[int, int]) -> str:
        scores = {str(at): {UNSEEN: Score(right=right, asked=asked)} for at, (right, asked) in enumerate(counts)}
        return target_line("letters", 95, tuple(scores), scores)

    assert line((9, 10), (10, 10)) == "| letters | 95% | 95.0% of 20 | met |"
    assert line((9499, 10000)) == "| letters | 95% | 94.9% of 10000 | **missed** |"
    assert line((0, 0)) == "| letters | 95% | not asked | **missed** |"


@pytest.mark.parametrize(("count", "most"), [(5, 9), (9, 9), (100, 9), (100, 1), (100, 0), (0, 3)])
def test_few_of_many_keep_their_order_and_their_ends(count: int, most: int) -> None:
    kept = thinned(range(count), most)
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))
    if kept:
        assert kept[0] == 0
    if len(kept) > 1:
        assert kept[-1] == count - 1


def test_the_loss_curve_is_that_of_the_run_which_led_to_the_checkpoint(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    steps = [10, 20, 30, 25, 35, 45]
    entries = [{"step": step, "tokens": 100 * step, "loss": at + 1.0} for at, step in enumerate(steps)]
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    last = Point(35, 3500, 0.5)
    assert [point.step for point in read_curve(log, last)] == [10, 20, 25, 35]
    assert read_curve(log, last)[-1] == last
    assert read_curve(tmp_path / "none", last) == [last]


@pytest.mark.parametrize("tokens", [[23_040], list(range(100_000, 90_000_000, 1_500_000))])
def test_the_loss_picture_is_the_same_svg_again(tokens: list[int], tmp_path: Path) -> None:
    points = [Point(at, count, 7.0 / (at + 1)) for at, count in enumerate(tokens)]
    for name in ("one", "again"):
        draw_curve(points, tmp_path / f"{name}.svg")
    picture = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert picture == (tmp_path / "again.svg").read_text(encoding="utf-8")
    assert ">million tokens read</text>" in picture


def test_the_second_generator_asks_300_prompts_of_every_skill_and_none_is_in_the_corpus() -> None:
    asked = unseen()
    assert len(asked) == len({exchange.ask for _, exchange in asked}) == 300
    assert {skill for skill, _ in asked} == {skill.name for skill in corpus.SKILLS}
    trained = {message.content for index in range(800) for message in corpus.conversation(0, index)}
    assert sum(exchange.ask in trained for _, exchange in asked) <= 3
    assert all(exchange.check and not exchange.check("something else") for skill, exchange in asked
               if skill not in ("greetings", "application"))  # fmt: skip


@pytest.mark.parametrize(
    ("told", "right", "wrong"),
    [
        ("items fig, plum", ("fig, plum", "Here you go: fig, plum.", "1. fig\n2. plum", "- fig\n- plum"), "plum, fig"),
        ("items fig, plum", ('Sorted: "fig" and "plum"',), "fig, plum, pear"),
        ("text nomel", ("nomel", "l-e-m-o-n: nomel", "It is nomel."), "nomels"),
        ("json {\"a\": 1}", ('```json\n{"a": 1}\n```', 'Sure: {"a": 1}'), '{"a": 1, "b": 2}'),
        ("jsonvalues Kim, 4", ('{"name": "Kim", "age": 4}', '{"cat": {"a": "Kim", "b": 4}}'), '{"a": "kim", "b": 4}'),
        ("table A B; c 1", ("| A | B |\n| --- | --- |\n| c | 1 |",), "| A | B |\n| c | 2 |"),
        ("numbered a, b", ("1. a\n2. b", "Here:\n1. a\n2. b"), "1. a, b"),
        ("spelled cat", ("c-a-t", "C: c a t", "c, a, t.", "C-A-T"), "cat"),
        ("number 7", ("3 + 4 = 7.",), "7 - 3 = 4"),
        ("python f(2) == 4", ("```python\ndef twice(n):\n    return n * 2\n```",), "```python\nprint(4)\n```"),
        ("fizzbuzz", (_FIZZBUZZ,), _FIZZBUZZ.replace("Buzz", "buzz")),
        ("among 2 owl fox", ("1. owl\n2. fox", "Sure: Owl and foxs"), "owl, owl"),
        ("declines", ("I am small: try --model_path.",), "I know it."),
    ],
)  # fmt: skip
def test_a_check_of_the_second_generator_tells_right_from_wrong(told: str, right: tuple[str, ...], wrong: str) -> None:
    kind, _, wanted = told.partition(" ")
    assert [reply for reply in right if not CHECKS[kind](wanted, reply)] == []
    assert not CHECKS[kind](wanted, wrong)


def test_nothing_is_said_twice_in_a_story_or_a_poem() -> None:
    assert not rhymes()("One line,\nand two.\nOne line,\nand two.")
    assert not rhymes(4)("One line,\nand two.")
    assert not rhymes(before="One line,\nand two.")("One line,\nand three.")
    assert rhymes(2, "line")("One line,\nand two.")
    said = "Mia wanted to see the sea. "
    assert not well_formed("Mia", least=20)(said + said)
    assert not well_formed("Mia", least=20, before=said)(said)
    assert well_formed("Mia", least=20)(said + "It was hard, but in the end Mia saw it.")


def test_the_users_own_words_are_those_that_no_right_answer_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = tmp_path / "unseen.txt"
    prompts.write_text(
        "[copying]\nlast word of: under the bridge lived a troll ==> text troll / The last word is troll\n"
        "whose is it: the boat of Ida and Bo ==> text Ida and Bo / Bo and Ida\n",
        encoding="utf-8",
    )
    monkeypatch.setattr("assets.recipe.unseen.PROMPTS", prompts)
    assert [exchange.copied for _, exchange in unseen()] == [("troll",), ("Ida", "and", "Bo")]
