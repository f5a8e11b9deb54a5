"""Models, conversations and branches: loaded, opened and left, after ending a running reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import msgspec

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Load, Remember
from lade_chat.protocol.events import Loaded, LoadFailed
from lade_chat.protocol.values import EarlierReply, ModelOptions
from lade_chat.store.records import Model
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.decisions.controls import stop_then
from lade_chat.tui.chat.decisions.questions import restart, show_conversation, show_offer, withdraw_all
from lade_chat.tui.chat.decisions.sampling_seed import begin_sampling, reset_sampling
from lade_chat.tui.chat.effects import Change, Effects

LEFT = "Your next message follows this turn. What followed it so far stays as an alternative to that."
ALREADY_LAST = "Nothing follows this turn yet: your next message does."


def load_model(change: Change, options: ModelOptions | None = None, asked: ModelOptions | None = None) -> None:
    """Stop a reply, and load a model, by default the last one requested; in a new engine if that was lost.

    ``asked``: what the options were before those were left out that the model cannot have.
    """
    if options is not None:
        loads = change.state.loads
        loads = replace(loads, options=options, asked={**loads.asked, options: asked or options})
        change.set(loads=loads, offer_pending=False)
    state = change.state
    if state.is_running:
        stop_then(change, load_model, "stopped to open another model")
    elif state.phase is Phase.LOST:
        restart(change)
    else:
        loads = replace(state.loads, running=(*state.loads.running, state.loads.options))
        change.set(loads=loads, phase=Phase.LOADING, model=None, progress=None, ahead=0)
        change.send(Load(loads.options))


def load_ended(change: Change, event: Loaded | LoadFailed) -> None:
    """Take in the result of a load; only that of the last request counts."""
    change.set(loads=change.state.loads.ended(event), progress=None, ahead=0)
    loads = change.state.loads
    if loads.running:
        return
    model = loads.last[0] if loads.last is not None else None
    change.set(model=model)
    if isinstance(event, LoadFailed):
        change.do(Effects.model_failed, event.message, model)
    elif model is not None:
        change.do(Effects.model_ready, model)
        reset_sampling(change)
        if change.state.offer_pending:
            _offer_its_model(change)
        elif change.state.offer != _offer(change.state):
            show_offer(change, "")
        send_earlier(change)
    change.frees = model is not None
    if model is None:
        change.set(phase=Phase.UNLOADED)


def reopen_model(change: Change) -> None:
    """Load the model that the conversation was held with."""
    state = change.state
    held = state.conversation.snapshot.about.model
    if held is None or not held.name:
        change.do(Effects.hint, "Nothing was answered in this conversation yet: there is no model to go back to.")
    elif _is_loaded(state, held):
        change.do(Effects.hint, f"{printable(held.title)} is loaded already.")
    else:
        load_model(change, _reopening(held, state.loads.wanted))


def new_conversation(change: Change, *, deletes: bool = False) -> None:
    """Begin a new conversation; the present one stays in the list, or is deleted."""
    open_conversation(change, None, deletes=deletes)


def open_conversation(
    change: Change, conversation: Conversation | None, system: str | None = None, *, deletes: bool = False
) -> None:
    """Continue another conversation, with this system prompt if given, or begin one; ``deletes`` the present one."""
    if change.state.phase is Phase.REPLYING:
        stop_then(change, partial(open_conversation, conversation=conversation, system=system, deletes=deletes))
        if not deletes:
            change.do(Effects.hint, "The reply was stopped; its text is kept in its conversation.")
        return
    session = change.state.conversation
    change.do(Effects.open_stored, conversation, withdraw_all(change), system)
    if deletes:
        change.do(Effects.delete, session.id, session.title)


def conversation_opened(change: Change, draft: str, *, is_new: bool, system: str | None) -> None:
    """Show the conversation that is open now, and adapt the sampling to it; ``draft`` was waiting in the one before."""
    if not change.state.remembers:
        send_earlier(change, forget=True)
    change.set(dropped=0)
    begin_sampling(change)
    show_conversation(change)
    change.do(Effects.give_back, draft)
    if is_new:
        change.set(offer="", offer_pending=False)
        return
    _offer_its_model(change)
    if system is not None and change.state.conversation.system != system:
        instruct(change, system, f"System prompt from here on: {system}")


def instruct(change: Change, system: str | None, note: str = "") -> None:
    """Change the system prompt of new conversations, and with a ``note`` that says so here too."""
    change.set(system=system)
    if note:
        change.keep(Conversation.instruct, system)
        change.do(Effects.note, note)


def branch(change: Change, turn: int | None) -> None:
    """Have the next question follow this turn, or none; what follows it now stays as an alternative."""
    follows = change.state.conversation.snapshot.about.leaf != turn
    if _move(change, Conversation.branch, turn):
        change.do(Effects.hint, LEFT if follows else ALREADY_LAST)


def go_beside(change: Change, turn: int, direction: int) -> None:
    """Go to the alternative of a turn before (-1) or after (1) it."""
    _move(change, Conversation.switch_beside, turn, direction)


def _move(change: Change, verb: Callable[..., object], *arguments: object) -> bool:
    refusal = "" if change.state.phase is Phase.UNLOADED else change.state.refusal_to_change()
    if not refusal and change.state.waiting:
        refusal = "A message waits for an answer in this branch. Up takes it back into an empty prompt."
    if refusal:
        change.do(Effects.refuse, refusal)
    else:
        change.keep(verb, *arguments, then=show_conversation)
    return not refusal


def rename(change: Change, title: str) -> None:
    """Give the conversation a title."""

    def renamed(change: Change) -> None:
        change.do(Effects.hint, f"The title is now “{change.state.conversation.title}”")

    change.keep(Conversation.rename, title, then=renamed)


def save(change: Change) -> None:
    """Save what is not saved yet, unless the store is busy already."""
    if not change.state.store_busy:
        change.keep(Conversation.save)


def send_earlier(change: Change, *, forget: bool = False) -> None:
    """Send the loaded model's latest replies; with ``forget`` they replace all that was learnt, as after a deletion."""
    if mark := change.state.fingerprint:
        if change.state.remembers:
            change.set(store_busy=True)
            change.do(Effects.find_earlier, mark, forget)
        elif forget:
            change.send(Remember(mark, forget=True))


def earlier_found(change: Change, fingerprint: str, replies: tuple[EarlierReply, ...], *, forget: bool) -> None:
    """Send a model's earlier replies, if it is still loaded; with ``forget`` they replace all that was learnt."""
    if fingerprint == change.state.fingerprint and (replies or forget):
        change.send(Remember(fingerprint, replies, forget))


def _offer_its_model(change: Change) -> None:
    """Point out that another model held the conversation, and how to load that one; later if there is no model yet."""
    change.set(offer_pending=change.state.model is None)
    show_offer(change, _offer(change.state))


def _offer(state: ChatState) -> str:
    """Return the offer's text; empty if the conversation's model is loaded or unknown."""
    held = state.conversation.snapshot.about.model
    if state.model is None or held is None or not held.name or _is_loaded(state, held):
        return ""
    stored = state.stored_model
    name, other = printable(held.title_beside(stored)), printable(stored.title_beside(held))
    answers = f"{other} answers from here on" if other != name else "another answers"
    return f"This conversation was held with {name}; {answers}. /reopen opens {name} again."


def _is_loaded(state: ChatState, held: Model) -> bool:
    """True if this model is the loaded one, with the same quantisation."""
    present = state.stored_model
    return held.is_same(present) and held.quantisation == present.quantisation


def _reopening(held: Model, options: ModelOptions) -> ModelOptions:
    """The options with which a conversation's model is loaded again, quantised as it was."""
    options = options.at(held.path)
    if held.quantisation == options.quantize:
        return options
    if held.quantisation is None:
        return msgspec.structs.replace(options, quantize=None)
    return msgspec.structs.replace(options, device=held.device, dtype=None, quantize=held.quantisation)
