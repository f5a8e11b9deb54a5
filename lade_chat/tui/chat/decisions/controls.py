"""Controls of a reply: lookahead, pause, single step, pace, inspection, stop, Esc; and the options of later ones."""

from __future__ import annotations

from functools import partial

import msgspec

from lade_chat.presentation.metric_words import counted
from lade_chat.protocol.commands import Inspect, Pause, Resume, SetLookahead, StepOnce, Stop
from lade_chat.protocol.inspection import RankedToken
from lade_chat.protocol.values import DecodingOptions
from lade_chat.tui.chat.chat_state import NO_LOOKAHEAD, STILL_LOADING, ChatState, Decision, Phase
from lade_chat.tui.chat.decisions.questions import revise, take_back
from lade_chat.tui.chat.decisions.sampling_seed import reset_sampling
from lade_chat.tui.chat.effects import Change, Effects

PACES: tuple[float | None, ...] = (1, 2, 4, 8, None)
"""Steps a second in slow motion; None for full speed."""
PACE_KEY_SECONDS = 1.0
"""For so long after slow motion, and after the last of them, the keys that change the pace are not typed."""
TWICE_SECONDS = 1.0
"""Within so long a key counts as pressed twice in a row."""
DRAFT_FIRST = "A message waits. {stop} takes it back once the prompt is empty; {stop} twice stops everything."
NEVER = float("-inf")


def switch_lookahead(change: Change) -> None:
    """Switch lookahead, at once in a running reply."""
    state = change.state
    if state.model is not None and not state.model.lookahead_supported:  # without a model it holds for the next one
        change.do(Effects.refuse, NO_LOOKAHEAD)
        return
    enabled = not state.options.lookahead
    if state.phase in (Phase.READY, Phase.REPLYING):
        change.send(SetLookahead(enabled))
    change.set(options=msgspec.structs.replace(state.options, lookahead=enabled))


def toggle_debug(change: Change) -> None:
    """Inspect replies, the running one included, and measure the next; or no longer."""
    state, enabled = change.state, not change.state.options.debug
    if state.phase in (Phase.READY, Phase.REPLYING):
        change.send(Inspect(enabled or state.is_slow))
    change.set(options=msgspec.structs.replace(state.options, debug=enabled))


def pause(change: Change) -> None:
    """Pause or resume; while the chat is ready, or its model is being loaded, the next reply starts paused."""
    state = change.state
    if state.phase not in (Phase.READY, Phase.REPLYING, Phase.LOADING) or state.stopping:
        change.do(Effects.refuse, "There is no reply to pause just now.")
        return
    _slow_down(change, paused=not state.paused, pace=state.pace)
    if state.phase is Phase.LOADING:  # else the status line shows it
        text = f"The next reply starts {'at once' if state.paused else 'paused'}."
        change.do(Effects.hint, text, lambda state, _: state.phase is Phase.LOADING)


def step(change: Change) -> None:
    """Have a paused reply take a single step, or pause it."""
    if change.state.paused and change.state.phase is Phase.REPLYING and not change.state.stopping:
        change.send(StepOnce())
    else:
        pause(change)


def take_next(change: Change, token: RankedToken, steps: int) -> None:
    """Stop the reply after so many steps; another beside it goes on with the token, paused as that one was."""
    state = change.state
    if state.phase is Phase.REPLYING:
        stop_then(change, partial(take_next, token=token, steps=steps), "stopped for another token")
    elif state.statistics is None or state.statistics.steps != steps:
        change.do(Effects.refuse, "The reply had gone on meanwhile: /token offers other tokens at any place of it.")
    elif (last := state.conversation.again()) is not None and last.instead_of is not None:
        text = state.conversation.whole_text(last.instead_of) + token.text
        revise(change, last.instead_of, text, ends=token.ends)
        if not token.ends:
            pause(change)


def set_options(change: Change, options: DecodingOptions) -> None:
    """Decode the next replies so."""
    change.set(options=options)
    reset_sampling(change)


def hold(change: Change, wanted: bool) -> None:
    """Have a reply at full speed wait, or one that was held go on."""
    if change.state.phase is Phase.REPLYING and not change.state.is_slow:
        change.send(Pause() if wanted else Resume())


def takes_pace_key(state: ChatState, now: float, direction: int) -> bool:
    """True during a slow reply, and for a moment after it: an extra press is not typed.

    Nothing is slower than a paused reply: there the slower key (-1) types.
    """
    if state.has_pace and state.paused and direction < 0:
        return False
    return state.has_pace or now - state.paced < PACE_KEY_SECONDS


def change_pace(change: Change, direction: int) -> None:
    """Run the reply faster (1) or slower (-1); faster has a paused one go on at the pace it had, or the slowest."""
    state = change.state
    change.set(paced=state.now)
    if not state.has_pace or state.stopping or (state.paused and direction < 0):
        return
    place = PACES.index(state.pace) + direction
    pace = PACES[min(max(place, 0), len(PACES) - 1)] if not state.paused else state.pace or PACES[0]
    _slow_down(change, paused=False, pace=pace)


def become_ready(change: Change) -> None:
    """Be ready at full speed; a pause asked for while the model was loaded is still to come.

    The engine may have been started since, and knows nothing of it yet.
    """
    state = change.state
    change.set(phase=Phase.READY, stopping=False)
    if state.phase is not Phase.LOADING:
        if state.is_slow:
            change.set(paced=state.now)
        _slow_down(change, paused=False, pace=None)
    elif state.is_slow and not state.options.debug:
        change.send(Inspect(True))


def _slow_down(change: Change, *, paused: bool, pace: float | None) -> None:
    """Have the engine wait before each step, with details of every step, or wait no longer."""
    state, slow = change.state, paused or pace is not None
    if slow is not state.is_slow:
        if not state.options.debug:
            change.send(Inspect(slow))
        if state.phase is Phase.REPLYING:
            change.send(Pause() if slow else Resume())
    change.set(paused=paused, pace=pace)


def stop(change: Change) -> None:
    """End the reply, race or explanation within one step, or a download."""
    state = change.state
    if state.phase is Phase.LOADING:
        change.send(Stop())  # nothing but a download obeys
    elif state.is_running and not state.stopping:
        change.send(Stop())
        change.set(stopping=True)


def stop_then(change: Change, decision: Decision, why: str = "") -> None:
    """Stop the running reply, then take this decision; ``why`` marks the reply."""
    change.set(after_stop=decision, stopped_for=why)
    stop(change)


def stop_all(change: Change) -> None:
    """End what runs, and drop all that waits for its end."""
    change.set(when_free=None)
    while take_back(change, drops=True):
        pass
    stop(change)


def press_escape(change: Change, has_draft: bool) -> None:
    """Take a message back if the prompt is empty, else stop the reply; a double press stops everything."""
    state = change.state
    pressed, closed = state.escape
    change.set(escape=(state.now, closed))
    if state.now - pressed < TWICE_SECONDS:
        stop_all(change)
        if dropped := state.messages_waiting:
            change.do(Effects.hint, f"{counted(dropped, 'message')} dropped; Up recalls what you typed.")
    elif state.waiting and has_draft:
        change.do(Effects.hint, DRAFT_FIRST, lambda state, draft: bool(state.waiting and draft))
    elif state.waiting and state.now - closed < TWICE_SECONDS:  # pressed once too often to close something
        change.set(escape=state.escape)
    elif not take_back(change):
        if state.phase is Phase.LOADING:
            change.do(Effects.hint, f"{STILL_LOADING} Ctrl+Q quits.", lambda state, _: state.phase is Phase.LOADING)
        stop(change)


def escape_closed(change: Change) -> None:
    """Count the next Esc as a first press."""
    change.set(escape=(NEVER, change.state.now))
