"""Automatic sizes unless one is given, and then the paper's for those that are not."""

from __future__ import annotations

import pytest

from decoding import LookaheadConfig
from lade_chat.cli.flags.shared import SharedOptions
from lade_chat.engine.decoder_factory import lookahead_config
from lade_chat.errors import LadeChatError
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Sizes
from lade_chat.settings.decoding_options import with_option


def test_without_a_size_all_are_automatic_and_a_step_is_measured() -> None:
    assert SharedOptions().decoding() == DecodingOptions()
    assert SharedOptions().model() == ModelOptions()
    assert DecodingOptions().sizes is None
    assert ModelOptions().step_cost
    assert lookahead_config(None) == LookaheadConfig.auto()


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"window_size": 4}, Sizes(4, 5, 7)),
        ({"ngram_size": 3}, Sizes(7, 3, 7)),
        ({"guess_set_size": 0}, Sizes(7, 5, 0)),
        ({"window_size": 0, "guess_set_size": 9}, Sizes(0, 5, 9)),
    ],
)
def test_one_size_fixes_all_of_them_and_nothing_is_measured(given: dict[str, int], sizes: Sizes) -> None:
    options = SharedOptions(**given)  # type: ignore[arg-type]
    assert options.decoding().sizes == sizes
    assert not options.model().step_cost
    assert lookahead_config(sizes) == LookaheadConfig(sizes.window_size, sizes.ngram_size, sizes.guess_set_size)


def test_sizes_by_which_a_step_reads_thousands_of_tokens_are_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    LookaheadConfig(15, 5, 15)
    assert not recwarn
    with pytest.warns(UserWarning, match="a step reads up to 3,201 tokens, 1,600 of them the window's"):
        LookaheadConfig(200, 9, 200)
    options, told = with_option(DecodingOptions(sizes=Sizes(7, 9, 200)), "window_size", "200")
    assert options.sizes == Sizes(200, 9, 200)
    assert told == "window_size is 200 now. A step reads up to 3,201 tokens."


def test_a_window_that_no_machine_can_take_is_one_line_of_the_chat() -> None:
    with pytest.raises(LadeChatError, match="make a window of 39000 tokens"):
        lookahead_config(Sizes(1000, 40, 7))
