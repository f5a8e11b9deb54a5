"""Draws the chat from its state: header, status line, footer, debug panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lade_chat.presentation.metric_words import counted, promise, reply_parts, thinking_forms
from lade_chat.presentation.status_parts import StatusPart, part
from lade_chat.protocol.events import Loading
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.key_map import KeyNames
from lade_chat.tui.widgets.bars import KeyFooter

PAUSED = (
    "paused: {pause} goes on, {step_once} takes one step, {faster} goes on slowly",
    "paused: {pause} goes on, {step_once} takes one step",
)
PACED = ("{slower} slower, {faster} faster, {pause} pauses", "{slower} slower, {faster} faster")
ENGINE_GONE = (
    "the engine is gone: {restart}, or your next message, starts it again",
    "engine gone: {restart} or a message restarts it",
    "engine gone: {restart} restarts it",
)
IDLE_FOOTER = ("toggle_lookahead", "race", "command_palette", "settings", "help", "list_conversations", "quit")
_NO_MODEL_FOOTER = ("open_model", "command_palette", "settings", "help", "list_conversations", "quit")
FOOTERS: Mapping[Phase, Sequence[str]] = {
    Phase.REPLYING: (
        *("stop", "pause", "step_once", "toggle_lookahead", "command_palette"),
        *("help", "quit", "slower", "faster"),
    ),
    Phase.LOADING: _NO_MODEL_FOOTER,
    Phase.UNLOADED: _NO_MODEL_FOOTER,
    Phase.LOST: ("restart", *_NO_MODEL_FOOTER),
}
"""Actions in the footer while the chat is not idle."""


def footer_actions(state: ChatState) -> Mapping[str, str]:
    """Return the actions that the footer offers, the most important first, and other words than their own for some."""
    actions = dict.fromkeys(FOOTERS.get(state.phase, IDLE_FOOTER), "")
    return {**actions, "pause": "Resume"} if state.paused and "pause" in actions else actions


def draw(screen: LoopScreen, before: ChatState) -> None:
    """Draw what is other than it was ``before``."""
    state = screen.state
    if _heading(state) != _heading(before):
        screen.header.show(state)
    if state.loads.options != before.loads.options:
        screen.transcript.welcome.offer(state.loads.options)
    if (state.phase, state.paused, state.is_slow) != (before.phase, before.paused, before.is_slow):
        screen.query_one(KeyFooter).actions = footer_actions(state)
        screen.refresh_bindings()
    if state.conversation is not before.conversation:
        screen.side_bar.show_here(state.conversation.id)
    _draw_status(screen, before)
    if state.options.debug is not before.options.debug:
        screen.panel.display = state.options.debug
        if not screen.panel.is_attached:
            screen.query_one("#body").mount(screen.panel)
        screen.transcript.set_debug(state.options.debug)
    if state.options.debug and _shown(state) != _shown(before):
        screen.panel.show(state)
    if (state.pace, state.paused) != (before.pace, before.paused):
        screen.slow_motion.update(state.pace, paused=state.paused)
        if not state.is_slow and screen.transcript.reply is not None:
            screen.transcript.reply.hide_steps()


def _heading(state: ChatState) -> tuple[object, ...]:
    """All that the header shows."""
    return state.phase, state.model, state.options, state.sampling


def _shown(state: ChatState) -> tuple[object, ...]:
    """All that the debug panel shows."""
    return state.options, state.statistics, state.inspection, state.measuring, state.paused, state.phase


def _draw_status(screen: LoopScreen, before: ChatState) -> None:
    state, status = screen.state, screen.status
    begins = state.phase is Phase.LOADING is not before.phase or len(state.loads.running) > len(before.loads.running)
    if begins:
        status.begin_loading()
        if before.phase is Phase.LOST:
            screen.transcript.note_instead("failure")
    line = _status_of(state, screen.key_names)
    if isinstance(line, Loading):
        if line is not before.progress:
            status.show_loading(line)
    elif isinstance(line, tuple):
        status.show_reading(*line)
    elif line:
        status.show(line)
    status.review()


def _status_of(state: ChatState, keys: KeyNames) -> Loading | tuple[int, int] | list[StatusPart]:
    """Return what the status line tells; nothing new while an engine is started."""
    if state.stopping:
        return [part(0, "stopping")]
    if state.ahead:
        return [part(0, f"waiting: {'another tab' if state.ahead == 1 else f'{state.ahead} others'} first")]
    match state.phase:
        case Phase.LOADING:
            return state.progress or []
        case Phase.UNLOADED:
            return [part(0, keys.put_into("no model is loaded: {open_model} opens one"))]
        case Phase.LOST:
            return [part(0, *map(keys.put_into, ENGINE_GONE))]
        case Phase.REPLYING if state.reading is not None and not state.paused:
            return state.reading
        case Phase.REPLYING:
            return _running_parts(state, keys)
    return _ready_parts(state, keys)


def _running_parts(state: ChatState, keys: KeyNames) -> list[StatusPart]:
    """Return the metrics of a reply in progress, or paused."""
    parts = reply_parts(state.statistics, lookahead=False) if state.statistics is not None else []
    parts += _thinking_parts(state) if parts else []
    if not state.is_slow:
        return parts or [part(0, "reading the prompt")]
    pace = f"{counted(int(state.pace or 0), 'step')} a second: "
    forms = PAUSED if state.paused else tuple(f"{pace}{words}" for words in PACED)
    return [part(0, *map(keys.put_into, forms)), *parts]


def _ready_parts(state: ChatState, keys: KeyNames) -> list[StatusPart]:
    if state.paused:
        words = "ready: the next reply starts paused; {pause} takes that back"
        return [part(0, keys.put_into(words), "ready, paused")]
    parts = [part(0, "ready")]
    if state.context_used and state.model is not None:
        full = f"context {state.context_used}/{state.model.context_window}"
        parts.append(part(3, full, metric="context"))
    if state.model is not None and state.model.lookahead_supported:
        parts.append(part(1, *promise(state.model.dtype, bit_exact=state.model.bit_exact)))
    return [*parts, *_thinking_parts(state)]


def _thinking_parts(state: ChatState) -> list[StatusPart]:
    forms = thinking_forms(state.options, state.model) if state.model is not None else ()
    return [part(2, *forms)] if forms else []
