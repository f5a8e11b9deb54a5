"""What the names of GGUF files say: which belong together, and which quantisation."""

from __future__ import annotations

import pytest

from lade_chat.gguf.files import chosen, labels, models_among, title_and_quantisation


@pytest.mark.parametrize(
    ("stem", "title", "quantisation"),
    [
        ("SmolLM2-135M-Instruct.Q4_1", "SmolLM2-135M-Instruct", "Q4_1"),
        ("Llama-3.2-1B-Instruct-Q4_K_M", "Llama-3.2-1B-Instruct", "Q4_K_M"),
        ("qwen2.5-0.5b-instruct-q8_0", "qwen2.5-0.5b-instruct", "Q8_0"),
        ("qwen2.5-0.5b-instruct-fp16", "qwen2.5-0.5b-instruct", "FP16"),
        ("gemma-3-4b-it-UD-Q4_K_XL", "gemma-3-4b-it", "UD-Q4_K_XL"),
        ("Phi-4-IQ4_XS-00001-of-00002", "Phi-4", "IQ4_XS"),
        ("gpt-oss-20b-mxfp4", "gpt-oss-20b", "MXFP4"),
        ("Qwen3-0.6B", "Qwen3-0.6B", ""),
        ("q4_0", "q4_0", "Q4_0"),
        ("sha256-0af1", "sha256-0af1", ""),
    ],
)
def test_a_name_ends_with_the_quantisation(stem: str, title: str, quantisation: str) -> None:
    assert title_and_quantisation(stem) == (title, quantisation)


def test_parts_belong_together_and_projectors_are_left_out() -> None:
    big, small = models_among(
        [
            "deep/big-Q8_0-00002-of-00003.gguf",
            "deep/big-Q8_0-00001-of-00003.gguf",
            "small-Q4_0.GGUF",
            "mmproj-small-f16.gguf",
            "small.mmproj.gguf",
            "README.md",
        ]
    )
    assert (big.first, len(big.files), big.missing) == ("deep/big-Q8_0-00001-of-00003.gguf", 2, 1)
    assert (small.first, small.title, small.missing) == ("small-Q4_0.GGUF", "small", 0)


def test_a_quantisation_chooses_a_file_unless_several_have_it() -> None:
    models = models_among(["a-Q4_0.gguf", "a-Q4_K_M.gguf", "b-Q4_0.gguf", "c.gguf"])
    assert [each.first for each in chosen(models, "q4_k_m")] == ["a-Q4_K_M.gguf"]
    assert [each.first for each in chosen(models, "c.gguf")] == ["c.gguf"]
    assert len(chosen(models, "Q4_0")) == 2
    assert chosen(models, "Q4") == ()
    assert list(labels(models)) == ["a-Q4_0.gguf", "Q4_K_M", "b-Q4_0.gguf", "c.gguf"]
