"""What the chat shows of sampling, and that a conversation keeps the seed that was drawn for it."""

from __future__ import annotations

import msgspec
from textual.pilot import Pilot

from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Sampling
from lade_chat.tui.app.application import ChatApp
from tests.tui.driving import opened, resize, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

ASKED = Sampling(temperature=0.8, top_p=0.9)
SEED = 4123456789


def drawn(seed: int = SEED) -> Sampling:
    return Sampling(0.8, 0.9, 0, 0.0, 1.0, 1.0, seed)


def reply(sampling: Sampling | None, reason: str = "eos") -> list[Event]:
    """A whole reply that tells of ``sampling``."""
    events: list[Event] = []
    for event in [*streamed(FUNCTION), finished(FUNCTION, reason)]:  # type: ignore[arg-type]
        if isinstance(event, Tokens | ReplyFinished):
            statistics = msgspec.structs.replace(event.statistics, sampling=sampling)
            event = msgspec.structs.replace(event, statistics=statistics)
        events.append(event)
    return events


async def answered(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, text: str, *events: Event) -> None:
    await say(app, pilot, text)
    engine.tell(*events)
    await wait_until(pilot, lambda: "ready" in status(app))


def seeds(engine: ScriptedEngine) -> list[int | None]:
    """The seeds of all that was asked of the engine so far."""
    asked = [command.options.sampling for command in engine.sent if isinstance(command, Reply | Compare)]
    return [sampling.seed if sampling else None for sampling in asked]


def header(app: ChatApp) -> str:
    return screen_text(app).splitlines()[0]


async def test_a_drawn_seed_shows_and_lasts_as_long_as_its_conversation(engine: ScriptedEngine) -> None:
    async with opened(engine, options=DecodingOptions(sampling=ASKED)) as (app, pilot):
        assert "temperature 0.8" in header(app)
        assert "seed" not in header(app)
        await answered(app, pilot, engine, "one", *reply(drawn()))
        # In the header, and below the reply that one looks at.
        await pilot.press("shift+tab")
        await wait_until(pilot, lambda: screen_text(app).count(f"seed {SEED}") == 2)
        await pilot.press("escape")
        await wait_until(pilot, lambda: f"seed {SEED}" in header(app))
        assert "lookahead ON auto" in header(app)
        await answered(app, pilot, engine, "two", *reply(drawn()))
        await pilot.press("ctrl+n")
        await sees_no(pilot, "seed")
        await say(app, pilot, "three")
        assert seeds(engine) == [None, SEED, None]


async def test_a_seed_that_was_given_is_there_from_the_start_and_stays(engine: ScriptedEngine) -> None:
    options = DecodingOptions(sampling=Sampling(temperature=0.8, seed=7), stop=("END",))
    async with opened(engine, options=options) as (app, pilot):
        assert "seed 7" in header(app)
        await answered(app, pilot, engine, "one", *reply(drawn(7)))
        await pilot.press("ctrl+n")
        await say(app, pilot, "two")
        assert seeds(engine) == [7, 7]
        assert all(command.options.stop == ("END",) for command in engine.sent if isinstance(command, Reply))


async def test_the_seed_is_on_the_screen_at_every_size(engine: ScriptedEngine) -> None:
    long_name = ModelInfo("some-maker/some-large-instruct-model", "cuda:0", "bfloat16", 1, 2048, True)
    async with opened(engine, model=long_name, options=DecodingOptions(sampling=ASKED)) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(drawn()))
        await pilot.press("shift+tab")
        for size in ((80, 24), (160, 50), (60, 18)):
            await resize(pilot, *size)
            await sees(pilot, f"seed {SEED}")


async def test_the_models_own_sampling_is_named_until_a_reply_tells_it(engine: ScriptedEngine) -> None:
    options = DecodingOptions(sampling=Sampling(from_model=True))
    async with opened(engine, size=(160, 50), options=options) as (app, pilot):
        assert "the model's sampling" in header(app)
        await answered(app, pilot, engine, "one", *reply(drawn()))
        await wait_until(pilot, lambda: f"temperature 0.8, top-p 0.9, seed {SEED}" in header(app))
        engine.load()
        await sees(pilot, f"the model's sampling, seed {SEED}")
        await answered(app, pilot, engine, "two", *reply(None))
        await wait_until(pilot, lambda: "sampling" not in header(app))
        assert seeds(engine) == [None, SEED]


async def test_a_race_draws_as_its_conversation_does(engine: ScriptedEngine) -> None:
    async with opened(engine, options=DecodingOptions(sampling=ASKED)) as (app, pilot):
        app.chat_screen.prompt.put("one")
        await pilot.press("ctrl+r")
        sides = reply(drawn())[1:]
        engine.tell(*sides, *(msgspec.structs.replace(event, side="right") for event in sides))  # type: ignore[type-var]
        engine.tell(ComparisonFinished(1.5, identical=True))
        await sees(pilot, "identical", f"seed {SEED}")
        await pilot.press("escape")
        await say(app, pilot, "one")
        assert seeds(engine) == [None, SEED]


async def test_greedy_says_nothing_of_sampling(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(None))
        await sees(pilot, "one by one.")
        assert not any(word in screen_text(app) for word in ("seed", "temperature", "sampling"))


async def test_a_stop_string_is_named_as_the_end(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(None, "stop"))
        await sees(pilot, "stopped at stop string")


async def test_asking_again_draws_with_the_next_seed_and_shows_it(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(160, 50), options=DecodingOptions(sampling=ASKED)) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(drawn()))
        await answered(app, pilot, engine, "/retry", *reply(drawn(SEED + 1)))
        await wait_until(pilot, lambda: screen_text(app).count(f"seed {SEED + 1}") == 2)
        await answered(app, pilot, engine, "/retry", *reply(drawn(SEED + 2)))
        await say(app, pilot, "two")
        assert seeds(engine) == [None, SEED + 1, SEED + 2, SEED + 2]


async def test_asking_again_goes_beyond_a_seed_that_was_given_for_that_reply_alone(engine: ScriptedEngine) -> None:
    options = DecodingOptions(sampling=Sampling(temperature=0.8, seed=7))
    async with opened(engine, size=(160, 50), options=options) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(drawn(7)))
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: "seed 8" in status(app))
        engine.tell(*reply(drawn(8)))
        await sees(pilot, "2 of 2", "seed 8")
        assert "seed 7" in header(app)
        await answered(app, pilot, engine, "/retry", *reply(drawn(9)))
        # Beside the first alternative there is one with seed 8 already.
        await pilot.press("shift+tab")
        for place in (2, 1):
            await pilot.press("left")
            await sees(pilot, f"{place} of 3")
        await pilot.press("escape")
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: len(seeds(engine)) == 4)
        engine.tell(*reply(drawn(10)))
        await sees(pilot, "4 of 4")
        await say(app, pilot, "two")
        assert seeds(engine) == [7, 8, 9, 10, 7]


async def test_asking_again_where_nothing_is_drawn_says_how_to_draw(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await answered(app, pilot, engine, "one", *reply(None, "cancelled"))
        await answered(app, pilot, engine, "/retry", *reply(None))
        await sees_no(pilot, "same text to the same question")
        await answered(app, pilot, engine, "/retry", *reply(None))
        await sees(pilot, "same text to the same question", "/set temperature 0.8")
