"""A cast: JSON lines that never go back in time, and play exactly the reply at its pace."""

from __future__ import annotations

import json
import re

import pytest

from lade_chat.export.cast import cast
from lade_chat.export.content import Content
from lade_chat.export.theme import DARK, LIGHT, rgb
from tests.export.samples import FIRST_STEP_SECONDS, QUESTION, STEP_SECONDS, STEPS, TEXT, race, reply

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def played(content: Content) -> tuple[dict[str, object], list[tuple[float, str]]]:
    header, *events = [json.loads(line) for line in cast(content, "auto", None).decode().splitlines()]
    assert all(kind == "o" for _, kind, _ in events)
    return header, [(moment, text) for moment, _, text in events]


def test_the_header_tells_size_and_title() -> None:
    header, _ = played(reply())
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert header["title"] == f"lade-chat · {QUESTION}"


@pytest.mark.parametrize("content", [reply(), race(), reply("好 👍🏽\n" * 50)], ids=["reply", "race", "long"])
def test_time_never_goes_back_and_ends_with_the_reply(content: Content) -> None:
    _, events = played(content)
    moments = [moment for moment, _ in events]
    assert moments == sorted(moments)
    assert moments[0] == 0
    assert moments[-1] == pytest.approx(content.seconds)


@pytest.mark.parametrize("text", [None, "a\tb\n\n  好 👍🏽\x1b[2J end"])
def test_what_is_written_is_the_question_the_text_and_the_metrics(text: str | None) -> None:
    _, events = played(reply(text))
    written = SEQUENCE.sub("", "".join(text for _, text in events)).replace("\r\n", "\n")
    expected = TEXT if text is None else text.replace("\x1b", "␛")
    assert written.startswith(f"> {QUESTION}\n\n{expected}\n\n")
    assert "tok/s" in written.removeprefix(f"> {QUESTION}\n\n{expected}")
    assert "\x1b" not in SEQUENCE.sub("", written)


def test_each_step_comes_at_its_own_time() -> None:
    _, events = played(reply())
    steps = [(moment, SEQUENCE.sub("", text).replace("\r\n", "\n")) for moment, text in events[1:-1]]
    assert [text for _, text in steps] == ["".join(text for text, _ in step) for step in STEPS]
    assert [moment for moment, _ in steps] == pytest.approx(
        [FIRST_STEP_SECONDS + STEP_SECONDS * number for number in range(len(STEPS))]
    )


def test_tokens_have_the_colours_of_their_origins_and_line_breaks_none() -> None:
    _, events = played(reply())
    written = "".join(text for _, text in events)
    for origin, text in (("trajectory", " total"), ("context", " sum(xs)"), ("successor", "):")):
        red, green, blue = rgb(DARK.tints[origin])  # type: ignore[index]
        assert f"\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m" in written
    assert "\x1b[0m\r\n" in written
    light = cast(reply(), "light", None).decode()
    assert ";".join(str(value) for value in rgb(LIGHT.tints["context"])) in light


def test_a_race_draws_both_texts_within_its_size() -> None:
    header, events = played(race())
    written = "".join(text for _, text in events)
    places = [(int(row), int(column)) for row, column in re.findall(r"\x1b\[(\d+);(\d+)H", written)]
    assert all(1 <= row <= int(str(header["height"])) for row, _ in places)
    assert {1, 62} <= {column for _, column in places} <= {1, 60, 62}
    assert "the texts are identical" in events[-1][1]
    assert not any("the texts are identical" in text for _, text in events[:-1])
