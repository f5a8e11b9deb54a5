"""Whatever text a model or a paste holds, nothing that a terminal would obey gets through."""

from __future__ import annotations

import random
import unicodedata

import pytest

from lade_chat.presentation.sanitize import printable

ALLOWED_CONTROLS = {"\n", "\t"}
BIDI = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def is_harmless(text: str) -> bool:
    return not any(
        (unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character not in ALLOWED_CONTROLS)
        or character in BIDI
        for character in text
    )


def test_every_character_becomes_one_harmless_character() -> None:
    for code in range(0x30000):
        character = chr(code)
        shown = printable(character)
        assert len(shown) == 1
        assert is_harmless(shown), hex(code)
        if is_harmless(character):
            assert shown == character


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("a\rb\x08c\x7f", "a␍b␈c␡"),
        ("\x9b2J", "\ufffd2J"),
        ("if\u202e x\u2066", "if\ufffd x\ufffd"),
        ("\udc80", "\ufffd"),
    ],
)
def test_escape_sequences_are_shown_not_obeyed(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_ordinary_text_is_left_alone() -> None:
    text = "def f(x):\n\treturn 'é你🙂👨‍👩‍👧' # [bold]مرحبا[/bold]\n"
    assert printable(text) == text


def test_an_escape_sequence_split_over_pieces_is_as_harmless() -> None:
    text = "x\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202ey"
    dice = random.Random(0)
    for _ in range(50):
        cuts = sorted(dice.sample(range(len(text)), 5))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert "".join(map(printable, pieces)) == printable(text)
