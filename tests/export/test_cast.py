"""A cast: JSON lines that never go back in time, and play exactly the reply at its pace."""

from __future__ import annotations

import json
import re

import pytest

from lade_chat.export.cast import cast
from lade_chat.export.content import Content, Recording
from lade_chat.export.theme import DARK, LIGHT
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Piece, Statistics
from tests.export.samples import FIRST_STEP_SECONDS, QUESTION, STEP_SECONDS, STEPS, TEXT, race, recorded, reply, rgb

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def played(content: Content) -> tuple[dict[str, object], list[tuple[float, str]]]:
    header, *events = [json.loads(line) for line in cast(content, "auto").decode().splitlines()]
    assert all(kind == "o" for _, kind, _ in events)
    return header, [(moment, text) for moment, _, text in events]


def test_the_header_tells_size_and_title() -> None:
    header, _ = played(reply())
    assert (header["version"], header["width"], header["height"]) == (2, 82, 15)
    assert header["title"] == f"lade-chat · {QUESTION}"


@pytest.mark.parametrize("content", [reply(), race(), reply("好 👍🏽\n" * 50)], ids=["reply", "race", "long"])
def test_time_never_goes_back_and_ends_with_the_reply(content: Content) -> None:
    _, events = played(content)
    moments = [moment for moment, _ in events]
    assert moments == sorted(moments)
    assert moments[0] == 0
    assert moments[-1] == pytest.approx(content.seconds)


def screens(content: Content) -> list[tuple[float, str]]:
    """What a player shows after each event."""
    shown, found = dict[int, str](), []
    for moment, written in played(content)[1]:
        for place, row in re.findall(r"\x1b\[(\d+);1H((?:(?!\x1b\[\d+;1H).)*)", written, re.DOTALL):
            if text := SEQUENCE.sub("", row):
                shown[int(place)] = text.strip()
        found.append((moment, "\n".join(shown[place] for place in sorted(shown))))
    return found


@pytest.mark.parametrize("text", [None, "a\n\n好 👍🏽\x1b[2J end"])
def test_the_end_is_the_question_the_text_and_the_metrics(text: str | None) -> None:
    _, end = screens(reply(text))[-1]
    expected = TEXT.replace("    ", "") if text is None else text.replace("\x1b", "␛")
    assert f"> {QUESTION}\n\n{expected.strip()}\n\n" in end
    assert "tok/s" in end
    assert "\x1b" not in end


def test_each_step_comes_at_its_own_time() -> None:
    texts = [(moment, "".join(text.split()[6:])) for moment, text in screens(reply())]
    said = ""
    for number, step in enumerate(STEPS):
        said += "".join("".join(text for text, _ in step).split())
        moment = FIRST_STEP_SECONDS + STEP_SECONDS * number
        assert any(at == pytest.approx(moment) and said in text for at, text in texts)
        assert not any(at < moment - 0.01 and said in text for at, text in texts)


def test_tokens_have_the_colours_of_their_origins() -> None:
    _, events = played(reply())
    written = "".join(text for _, text in events)
    for origin, text in (("trajectory", " total"), ("context", " sum(xs)"), ("successor", "):")):
        red, green, blue = rgb(DARK.tints[origin])  # type: ignore[index]
        assert f";48;2;{red};{green};{blue}m{text}\x1b[" in written
    light = cast(reply(), "light").decode()
    assert ";".join(str(value) for value in rgb(LIGHT.tints["context"])) in light


def test_a_race_draws_both_texts_within_its_size() -> None:
    header, events = played(race())
    written = "".join(text for _, text in events)
    places = [int(row) for row in re.findall(r"\x1b\[(\d+);1H", written)]
    assert all(1 <= row <= int(str(header["height"])) for row in places)
    told = [moment for moment, text in screens(race()) if "the texts are identical" in text]
    assert told == pytest.approx([race().seconds] * len(told))
    assert any(line.count("def total(xs):") == 2 for line in screens(race())[-1][1].split("\n"))


# --- A recording knows when each piece was settled


def test_pieces_join_to_the_reply_and_have_the_times_of_their_steps() -> None:
    recording = recorded()
    assert recording.text == TEXT
    expected = [FIRST_STEP_SECONDS + STEP_SECONDS * number for number, step in enumerate(STEPS) for _ in step]
    assert recording.times == pytest.approx(expected)
    assert recording.seconds == pytest.approx(expected[-1])
    assert recording.finish_reason == "eos"


def test_a_piece_that_was_held_back_has_the_time_of_its_own_step() -> None:
    recording = Recording()
    recording.take(Tokens((Piece("a", "plain", 1, 0),), Statistics(seconds=0.2), "left", (0.1, 0.2)))
    recording.take(
        Tokens((Piece("b", "plain", 1, 1), Piece("c", "plain", 1, 2)), Statistics(seconds=0.3), "left", (0.3,))
    )
    assert recording.times == [0.1, 0.2, 0.3]


def test_an_engine_that_tells_no_steps_still_has_its_batches() -> None:
    recording = Recording()
    recording.take(Tokens((Piece("a", "plain", 1, 0), Piece("b", "plain", 1, 1)), Statistics(seconds=0.5)))
    recording.take(ReplyFinished("length", Statistics(seconds=0.75)))
    assert recording.times == [0.5, 0.5]
    assert recording.seconds == 0.75
