"""The recipe's chain of steps, from end to end on a tiny model: tokenizer, training, card."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from assets.recipe import corpus
from assets.recipe.__main__ import app
from assets.recipe.card import write_card
from assets.recipe.model import LOG, QUICK, Point, read_curve
from assets.recipe.training import Plan, Trainer, load_trained

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
    app(["--quick", "--out", str(folder)], standalone_mode=False)
    return folder


def test_the_rate_warms_up_holds_and_decays(tmp_path: Path) -> None:
    plan = Plan(tmp_path, QUICK, minutes=100, warm_up=10, decay=0.25)
    assert plan.factor(0, 0) == pytest.approx(0.1)
    assert plan.factor(500, 60 * 50) == 1
    assert plan.factor(900, 60 * 87.5) == pytest.approx(0.5)
    assert plan.factor(999, 60 * 100) == pytest.approx(0.01)


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
    assert len(re.findall(r"^\| sums \| ", card, re.MULTILINE)) == 2
    assert "(training.svg)" in card
    assert "{" not in card
    assert "<svg " in (quick / "training.svg").read_text(encoding="utf-8")
    trained = json.loads((quick / "training.json").read_text(encoding="utf-8"))
    assert trained["step"] == 10
    assert trained["curve"][-1][:2] == [10, trained["tokens"]]


def test_a_run_goes_on_from_a_model_that_was_exported(quick: Path, tmp_path: Path) -> None:
    shutil.copy(quick / "tokenizer.model", tmp_path)
    begun = Trainer(Plan(tmp_path, QUICK, steps=2, tokens=512, start=quick))
    shipped = load_file(quick / "model.safetensors")
    assert all(torch.equal(shipped[name].float(), weight) for name, weight in begun.model.named_parameters())
    state = begun.train()
    assert state.step == 12
    again, told = load_trained(tmp_path)
    assert told.step == 12
    assert not torch.equal(again.lm_head.weight, shipped["model.embed_tokens.weight"].float())
    assert [point.step for point in read_curve(tmp_path / LOG, Point(12, state.tokens, state.loss))] == [10, 12]


def test_no_card_is_written_of_another_checkpoint_s_evaluation(quick: Path, tmp_path: Path) -> None:
    for name in ("config.json", "training.json", "model.safetensors"):
        shutil.copy(quick / name, tmp_path)
    with pytest.raises(FileNotFoundError, match="run the evaluate step"):
        write_card(tmp_path)
    results = json.loads((quick / "evaluation.json").read_text(encoding="utf-8"))
    (tmp_path / "evaluation.json").write_text(json.dumps(results | {"step": 9}), encoding="utf-8")
    with pytest.raises(ValueError, match="another checkpoint"):
        write_card(tmp_path)


def test_auto_tokenizer_gives_sentencepiece_s_own_ids_and_every_text_back(quick: Path) -> None:
    import sentencepiece
    from transformers import AutoTokenizer

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(quick / "tokenizer.model"))
    tokenizer = AutoTokenizer.from_pretrained(quick)
    said = (message.content for index in range(50) for message in corpus.conversation(0, index))
    for text in (*HARD_TEXTS, *said):
        ids = tokenizer.encode(text)
        assert ids == pieces.encode(text), text
        assert tokenizer.decode(ids) == text


def test_the_chat_template_writes_one_bos_and_what_training_saw(quick: Path) -> None:
    from transformers import AutoTokenizer

    from assets.recipe.tokenizer import BOS_ID, ROLES, ChatTokenizer

    tokenizer = AutoTokenizer.from_pretrained(quick)
    chat = ChatTokenizer(quick)
    opened = chat.pieces.piece_to_id(ROLES["assistant"])
    for index in range(30):
        messages = corpus.conversation("template", index)
        turns = [{"role": message.role, "content": message.content} for message in messages]
        ids = tokenizer.apply_chat_template(turns, tokenize=True, add_generation_prompt=True, return_dict=False)
        assert ids.count(BOS_ID) == 1
        # Training spells some replies in smaller pieces of the same text; what it saw of the rest are the same ids.
        asked = messages[: 1 + [message.role for message in messages].index("user")]
        seen = chat.chat(asked)[0]
        assert ids[: len(seen) + 1] == [*seen, opened]
        assert tokenizer.decode(ids) == tokenizer.decode([*chat.chat(messages)[0], opened])
