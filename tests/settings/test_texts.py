"""Texts in settings, such as stop strings: written with quotes and escapes, and read back as they were."""

from __future__ import annotations

from itertools import product

import pytest

from lade_chat.settings.catalogue import Texts, as_text


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        (r"\n", ("\n",)),
        (r'"\n"', ("\n",)),
        ("' END'", (" END",)),
        ("a\nb", ("a", "b")),
        (r"\\n", (r"\n",)),
        (r"C:\foo", (r"C:\foo",)),
        ('"', ('"',)),
        ('say "a" or "b"', ('say "a" or "b"',)),
    ],
)
def test_texts_are_written_without_quotes_and_line_breaks_as_escapes(written: str, texts: tuple[str, ...]) -> None:
    assert Texts().parse(written) == texts


def test_texts_of_any_characters_are_read_back_as_they_were() -> None:
    for length in range(1, 5):
        for characters in product("\\n\n\"' ", repeat=length):
            texts = ("".join(characters), "b")
            assert Texts().parse(as_text(texts)) == texts
