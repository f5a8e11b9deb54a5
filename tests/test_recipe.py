"""The recipe of the bundled model: what it composes is right, and its chain of steps runs from end to end."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from assets.recipe import corpus, words
from assets.recipe.card import write_card
from assets.recipe.draw import plain, rephrased, roughened, set_aside
from assets.recipe.evaluation import QUESTIONS
from assets.recipe.loss import Point, read_curve
from assets.recipe.model import LOG, QUICK
from assets.recipe.skills.numbers import arithmetic, sums
from assets.recipe.skills.python import functions
from assets.recipe.skills.python.composed import composed
from assets.recipe.skills.python.running import holds
from assets.recipe.skills.python.task import fill, parses, passes
from assets.recipe.skills.writing.poems import rhymes
from assets.recipe.skills.writing.stories import well_formed
from assets.recipe.training import Plan, Schedule, Trainer, load_trained

SHOWCASE = "Write a Python function that returns the sum of a list."
HARD_TEXTS = (
    "def f(x):\n    if x:\n        return [1, 2]\n\n\n    return 42\n",
    "  leading,  double   and trailing spaces  ",
    "tabs\tand\r\nodd line ends",
    "emoji 😀, accents é, signs × €",
    "<|user|>Hello<|end|><|assistant|>",
    "",
)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the quick run of the whole recipe leaves."""
    folder = tmp_path_factory.mktemp("recipe") / "model"
    command = [sys.executable, "-m", "assets.recipe", "--quick", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def sample(count: int = 1500) -> list[str]:
    """The users' turns of the first conversations."""
    turns = (message for index in range(count) for message in corpus.conversation(0, index))
    return [message.content for message in turns if message.role == "user"]


def test_a_seed_gives_the_same_conversations_again() -> None:
    first = [corpus.conversation(5, index) for index in range(50)]
    assert first == [corpus.conversation(5, index) for index in range(50)]
    assert first != [corpus.conversation(6, index) for index in range(50)]


@pytest.mark.parametrize("skill", corpus.SKILLS, ids=lambda skill: skill.name)
@pytest.mark.parametrize("held_out", [False, True])
def test_every_composed_reply_passes_its_own_check(skill: corpus.Skill, held_out: bool) -> None:
    for index in range(150):
        for exchange in skill.compose(corpus.draw_for("test", index, held_out)):
            assert exchange.check is None or exchange.check(exchange.reply), exchange
            assert exchange.reply == exchange.reply.strip(), exchange


def test_every_way_of_every_python_task_passes_its_cases() -> None:
    assert len(functions.TASKS) >= 200
    for task in functions.TASKS:
        for way in task.ways:
            for name in task.names:
                names = {"f": name, "xs": "numbers", "x": "number", "s": "text", "n": "n"}
                assert passes(fill(way.code, names), task.cases, name), (task.does, name)


def test_a_function_of_parts_does_the_same_in_a_line_and_in_a_loop() -> None:
    tasks = [composed(corpus.draw_for("parts", index)) for index in range(300)]
    names = {"f": "f", "xs": "numbers", "x": "number", "s": "text", "n": "n"}
    assert sum(len(task.ways) == 2 and bool(task.cases) for task in tasks) > 100
    assert all(passes(fill(way.code, names), task.cases) for task in tasks for way in task.ways)


def test_parameters_are_called_as_the_user_calls_them() -> None:
    exchanges = (functions.compose(corpus.draw_for("called", index))[0] for index in range(600))
    asked = [(found[1], one.reply) for one in exchanges if (found := re.match(r"(?:def )?(\w+\(\w+\))", one.ask))]
    assert len({call.partition("(")[2] for call, _ in asked}) > 8
    assert all(f"def {call}" in reply or f"def {call[:-1]}:" in reply for call, reply in asked)


def test_code_holds_what_is_true_of_its_last_function_and_of_its_output() -> None:
    code = "def half(x):\n    return x / 2\n\n\ndef twice(x):\n    return 2 * x\n\n\nprint(twice(4))"
    assert holds(code, ("f(3) == 6", "out() == '8\\n'"))
    assert not holds(code, ("f(3) == 6", "f(3) == 7"))
    assert not any(holds(wrong, ("True",)) for wrong in ("", "1 / 0", "def f(:", "exit()", "input()"))


@pytest.mark.parametrize(
    "endless", ["while True:\n    try:\n        pass\n    except:\n        pass", "sum(iter(int, 1))"]
)
def test_code_that_never_ends_is_wrong_and_the_next_is_examined_again(endless: str) -> None:
    assert holds("def f(): return 1", ("f() == 1",))
    assert not holds(endless, ("True",), seconds=0.2)
    assert holds("def f(): return 1", ("f() == 1",))


def test_code_that_is_wrong_does_not_pass() -> None:
    assert not passes("def f(x):\n    return x", (("1", "2"),))
    assert not passes("def f(x:", (("1", "1"),))


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        (23, 18, "+"),
        (905, 47, "+"),
        (52, 17, "-"),
        (100, 99, "-"),
        (47, 12, "×"),
        (79, 9, "×"),
        (7, 26, "×"),
        (84, 7, "/"),
        (246, 2, "/"),
    ],
)
def test_every_step_of_a_worked_sum_is_equal_to_the_others(a: int, b: int, sign: str) -> None:
    line, result = arithmetic.work(a, b, sign)
    chain = line.split(", ")[0].replace("×", "*")
    assert {eval(side) for side in chain.split(" = ")} == {result}


def test_worked_digits_are_as_a_person_would_write_them() -> None:
    assert arithmetic.worked_sum(23, 18, "+") == "23 + 18 = 23 + 10 + 8 = 33 + 8 = 41"


def test_phrasings_set_aside_are_never_trained_on() -> None:
    pool = sums._WORDING["add"]
    trained, examined = corpus.draw_for("p", 0).side(pool), corpus.draw_for("p", 0, True).side(pool)
    assert examined
    assert all(set_aside(ask) for ask in examined)
    assert pool[0] in trained
    assert sorted(trained + examined) == sorted(pool)


def test_the_choices_of_a_varied_phrasing_never_come_to_the_words_of_one_set_aside() -> None:
    held_out = next(ask for ask in (f"Ask {number} of {{x}}." for number in range(100)) if set_aside(ask))
    varied = (f"[Please |]{held_out.lower()}", "Something else of {x}")
    asks = {plain(corpus.draw_for("v", index).ask(("Tell {x}", held_out), varied, x=1)) for index in range(200)}
    assert not any(plain(held_out.format(x=1)) in ask for ask in asks)
    assert any("something else" in ask for ask in asks)


def test_numbers_set_aside_are_never_trained_on() -> None:
    trained = {tuple(corpus.draw_for("n", index).numbers((1, 99), (1, 99))) for index in range(2000)}
    examined = {tuple(corpus.draw_for("n", index, True).numbers((1, 99), (1, 99))) for index in range(500)}
    assert not trained & examined


def test_names_set_aside_are_never_said_in_training() -> None:
    known = {name for index in range(2000) for name in corpus.draw_for("n", index).names(2)}
    examined = {name for index in range(300) for name in corpus.draw_for("n", index, True).names(2)}
    assert not known & examined
    assert {"Mia", "Ben"} <= known
    assert examined & set(words.NAMES)
    assert examined - set(words.NAMES)


def test_hardly_two_questions_are_put_alike() -> None:
    pool = ("Sort these words: {x}", "Sort {x}")
    asks = [corpus.draw_for("alike", index).ask(pool, x="{x}") for index in range(500)]
    assert len(set(asks)) > 250
    assert all(ask.count("{x}") == 1 for ask in asks)


def test_constructions_set_aside_are_never_trained_on() -> None:
    rng = random.Random(0)
    expand = corpus.draw_for("c", 0).expand
    ask = "Sort these words: {x}"
    known, new = ({rephrased(rng, ask, side, expand) for _ in range(2000)} for side in (False, True))
    assert len(known) > 500
    assert known & new == {ask}


def test_carelessness_leaves_alone_what_is_the_user_s_own() -> None:
    rng = random.Random(1)
    asks = {roughened(rng, "Reverse the Words {x}, please.") for _ in range(500)}
    assert len(asks) > 30
    assert all("{x}" in ask for ask in asks)


def test_what_is_copied_comes_back_unchanged_even_if_nobody_ever_said_it() -> None:
    said = " ".join(m.content for index in range(500) for m in corpus.conversation("words", index))
    held_out = [draw.nonsense() for draw in (corpus.draw_for("words", index, True) for index in range(200))]
    assert not set(held_out) & set(said.split())


def letters(text: str) -> str:
    """The text in lower case, its words parted by single spaces and nothing else in it."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def test_the_general_questions_are_not_in_the_corpus() -> None:
    questions = [letters(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len(questions) == 100
    assert not {letters(turn) for turn in sample(3000)} & set(questions)


def test_most_general_questions_have_a_word_that_the_recipe_never_uses() -> None:
    # The words of words.txt are only ever sorted and copied.
    files = [file for file in QUESTIONS.parents[1].rglob("*") if file.suffix in {".py", ".txt"}
             and file.name not in {QUESTIONS.name, "words.txt", "unseen.txt"}]  # fmt: skip
    used = set(letters(" ".join(file.read_text(encoding="utf-8") for file in files)).split())
    questions = [letters(line).split() for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert sum(not set(question) <= used for question in questions) >= 75


def test_the_showcase_question_is_in_the_corpus() -> None:
    turns = (
        exchange.ask for index in range(4000)
        for exchange in corpus.skill_named("Python").compose(corpus.draw_for(0, index))
    )  # fmt: skip
    assert SHOWCASE in turns


@pytest.mark.parametrize("reply", ["", "def f(): pass", "```python\ndef f(:\n```", "```python\n```"])
def test_no_code_and_broken_code_do_not_parse(reply: str) -> None:
    assert not parses(reply)


def test_nothing_is_said_twice_in_a_story_or_a_poem() -> None:
    assert not rhymes()("One line,\nand two.\nOne line,\nand two.")
    assert not rhymes(4)("One line,\nand two.")
    assert not rhymes(before="One line,\nand two.")("One line,\nand three.")
    assert rhymes(2, "line")("One line,\nand two.")
    said = "Mia wanted to see the sea. "
    assert not well_formed("Mia", least=20)(said + said)
    assert not well_formed("Mia", least=20, before=said)(said)
    assert well_formed("Mia", least=20)(said + "It was hard, but in the end Mia saw it.")


@pytest.mark.parametrize(
    ("does", "do"),
    [
        ("sums a list", "sum a list"),
        ("does FizzBuzz", "do FizzBuzz"),
        ("searches", "search"),
        ("multiplies two numbers", "multiply two numbers"),
        ("is a generator", "be a generator"),
        ("says hello", "say hello"),
    ],
)
def test_what_a_function_does_is_what_somebody_wants_to_do(does: str, do: str) -> None:
    assert functions.to_infinitive(does) == do


def test_the_schedule_warms_up_holds_and_decays() -> None:
    schedule = Schedule(minutes=100, warm_up=10, decay=0.25)
    assert schedule.factor(0, 0) == pytest.approx(0.1)
    assert schedule.factor(500, 60 * 50) == 1
    assert schedule.factor(900, 60 * 87.5) == pytest.approx(0.5)
    assert schedule.factor(999, 60 * 100) == pytest.approx(0.01)


def test_the_quick_run_leaves_a_model_that_plain_transformers_load(quick: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(quick)
    model = AutoModelForCausalLM.from_pretrained(quick)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    out = model.generate(**prompt, max_new_tokens=4, do_sample=False)
    assert out.shape[1] > prompt["input_ids"].shape[1]
    assert tokenizer.convert_tokens_to_ids("<|end|>") in model.generation_config.eos_token_id


def test_the_quick_run_leaves_a_card_with_all_its_tables(quick: Path) -> None:
    card = (quick / "README.md").read_text(encoding="utf-8")
    assert "**missed** |" in card
    assert len(re.findall(r"^\| sums \| ", card, re.MULTILINE)) == 3
    assert "(training.svg)" in card
    assert not re.search(r"\$\w", card)
    assert (quick / "training.svg").read_text(encoding="utf-8").startswith("<svg")
    trained = json.loads((quick / "training.json").read_text(encoding="utf-8"))
    assert trained["step"] == 20
    assert trained["curve"][-1][:2] == [20, trained["tokens"]]


def test_a_run_goes_on_from_a_model_that_was_exported(quick: Path, tmp_path: Path) -> None:
    shutil.copy(quick / "tokenizer.model", tmp_path)
    begun = Trainer(Plan(tmp_path, QUICK, Schedule(steps=2), tokens=512, start=quick))
    shipped = load_file(quick / "model.safetensors")
    assert all(torch.equal(shipped[name].float(), weight) for name, weight in begun.model.named_parameters())
    state = begun.train()
    assert state.step == 22
    again, told = load_trained(tmp_path)
    assert told.step == 22
    assert not torch.equal(again.lm_head.weight, shipped["model.embed_tokens.weight"].float())
    assert [point.step for point in read_curve(tmp_path / LOG, Point(22, state.tokens, state.loss))] == [20, 22]


def test_no_card_is_written_of_another_checkpoint_s_evaluation(quick: Path, tmp_path: Path) -> None:
    for name in ("config.json", "training.json", "model.safetensors"):
        shutil.copy(quick / name, tmp_path)
    with pytest.raises(FileNotFoundError, match="run the evaluate step"):
        write_card(tmp_path)
    results = json.loads((quick / "evaluation.json").read_text(encoding="utf-8"))
    (tmp_path / "evaluation.json").write_text(json.dumps(results | {"step": 19}), encoding="utf-8")
    with pytest.raises(ValueError, match="another checkpoint"):
        write_card(tmp_path)


def test_auto_tokenizer_gives_sentencepiece_s_own_ids_and_every_text_back(quick: Path) -> None:
    import sentencepiece
    from transformers import AutoTokenizer

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(quick / "tokenizer.model"))
    tokenizer = AutoTokenizer.from_pretrained(quick)
    for text in (*HARD_TEXTS, *sample(100)):
        ids = tokenizer.encode(text)
        assert ids == pieces.encode(text), text
        assert tokenizer.decode(ids) == text


def test_the_chat_template_writes_one_bos_and_what_training_saw(quick: Path) -> None:
    from transformers import AutoTokenizer

    from assets.recipe.tokenizer import BOS_ID, ChatTokenizer

    tokenizer = AutoTokenizer.from_pretrained(quick)
    chat = ChatTokenizer(quick)
    for index in range(30):
        messages = corpus.conversation("template", index)
        turns = [{"role": message.role, "content": message.content} for message in messages]
        ids = tokenizer.apply_chat_template(turns, tokenize=True, add_generation_prompt=True, return_dict=False)
        assert ids == chat.prompt(messages)
        assert ids.count(BOS_ID) == 1
