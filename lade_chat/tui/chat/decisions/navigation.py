"""Models, conversations and branches: loaded, opened and left, after ending a running reply."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Load, Remember
from lade_chat.protocol.events import Loaded, LoadFailed
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.conversation import Conversation
from lade_chat.store.values import Model
from lade_chat.tui.chat import effects, intents
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.decisions.controls import stop_then
from lade_chat.tui.chat.decisions.questions import restart, show_conversation, withdraw_all
from lade_chat.tui.chat.decisions.sampling_settings import begin_sampling, reset_sampling
from lade_chat.tui.chat.effects import Change, Keep

WAITING_HERE = "A message waits for an answer in this branch. Up takes it back into an empty prompt."

LEFT = "Your next message follows this turn. What followed it so far stays as an alternative to that."
ALREADY_LAST = "Nothing follows this turn yet: your next message does."


def load_model(change: Change, intent: intents.LoadModel) -> None:
    """Load a model, in a new engine if the last one was lost."""
    if intent.options is not None:
        change.set(loads=replace(change.state.loads, options=intent.options), offer_pending=False)
    state = change.state
    if state.is_running:
        stop_then(change, intents.LoadModel())
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
        change.do(effects.ModelFailed(event.message, model))
    elif model is not None:
        change.do(effects.ModelReady(model))
        reset_sampling(change)
        if change.state.offer_pending:
            _offer_its_model(change)
        elif change.state.offer != _offer(change.state):
            _show_offer(change, "")
        send_earlier(change)
    change.frees = model is not None
    if model is None:
        change.set(phase=Phase.UNLOADED)


def reopen_model(change: Change) -> None:
    """Load the model that the conversation was held with."""
    state = change.state
    held = state.conversation.snapshot.about.model
    if held is None or not held.name:
        change.do(effects.Hint("Nothing was answered in this conversation yet: there is no model to go back to."))
    elif _is_loaded(state, held):
        change.do(effects.Hint(f"{printable(held.title)} is loaded already."))
    else:
        load_model(change, intents.LoadModel(_reopening(held, state.loads.options)))


def new_conversation(change: Change, intent: intents.NewConversation) -> None:
    """Begin a new conversation, and delete the present one if that is wanted."""
    if change.state.phase is Phase.REPLYING:
        stop_then(change, intent)
        return
    session = change.state.conversation
    draft = withdraw_all(change)
    change.set(offer_pending=False)
    change.do(effects.OpenStored(None, draft))
    if intent.deletes:
        change.do(effects.Delete(session.id, session.snapshot.about.title))


def open_conversation(change: Change, intent: intents.OpenConversation) -> None:
    """Continue another conversation."""
    if change.state.phase is Phase.REPLYING:
        stop_then(change, intent)
        return
    draft = withdraw_all(change)
    change.do(effects.OpenStored(intent.conversation, draft, intent.system))


def conversation_opened(change: Change, event: intents.ConversationOpened) -> None:
    """Show the conversation that is open now, and adapt the sampling to it."""
    if not change.state.remembers:
        send_earlier(change, forget=True)
    change.set(dropped=0)
    begin_sampling(change)
    show_conversation(change)
    change.do(effects.GiveBack(event.draft))
    if event.is_new:
        change.set(offer="")
        return
    _offer_its_model(change)
    if event.system is not None and change.state.conversation.system != event.system:
        instruct(change, intents.Instruct(event.system, f"System prompt from here on: {event.system}"))


def instruct(change: Change, intent: intents.Instruct) -> None:
    """Change the system prompt of new conversations, and of this one if there is a word to say of it."""
    change.set(system=intent.system)
    if intent.note:
        change.do(Keep(Conversation.instruct, (intent.system,)), effects.Note(intent.note))


def branch(change: Change, intent: intents.Branch) -> None:
    """Have the next question follow this turn."""
    follows = change.state.conversation.snapshot.about.leaf != intent.turn
    if _move(change, Keep(Conversation.branch, (intent.turn,), intents.StoreAnswered.MOVED)):
        change.do(effects.Hint(LEFT if follows else ALREADY_LAST))


def go_beside(change: Change, intent: intents.GoBeside) -> None:
    """Go to the alternative of a turn before (-1) or after (1) it."""
    _move(change, Keep(Conversation.switch_beside, (intent.turn, intent.direction), intents.StoreAnswered.MOVED))


def _move(change: Change, move: Keep) -> bool:
    refusal = "" if change.state.phase is Phase.UNLOADED else change.state.refusal_to_change()
    if not refusal and change.state.waiting:
        refusal = WAITING_HERE
    change.do(effects.Refuse(refusal) if refusal else move)
    return not refusal


def rename(change: Change, intent: intents.Rename) -> None:
    """Give the conversation a title."""
    change.do(Keep(Conversation.rename, (intent.title,), intents.StoreAnswered.RENAMED))


def renamed(change: Change) -> None:
    """Tell the conversation's new title."""
    change.do(effects.Hint(f"The title is now “{change.state.conversation.title}”"))


def save(change: Change) -> None:
    """Save what is not saved yet, unless the store is busy already."""
    if not change.state.store_busy:
        change.do(Keep(Conversation.save))


def refresh_earlier(change: Change) -> None:
    """Have replies guessed from the conversations that are left."""
    send_earlier(change, forget=True)


def send_earlier(change: Change, *, forget: bool = False) -> None:
    """Send the loaded model's latest replies; with ``forget`` they replace all that was learnt, as after a deletion."""
    if mark := change.state.fingerprint:
        if change.state.remembers:
            change.do(effects.FindEarlier(mark, forget))
        elif forget:
            change.send(Remember(mark, forget=True))


def earlier_found(change: Change, event: intents.EarlierFound) -> None:
    """Send earlier replies that were looked up, if their model is still the loaded one."""
    if event.fingerprint == change.state.fingerprint and (event.replies or event.forget):
        change.send(Remember(event.fingerprint, event.replies, event.forget))


def forget_earlier(change: Change) -> None:
    """Have the engine forget all texts, now and at the start of every conversation."""
    change.set(remembers=False)
    send_earlier(change, forget=True)


def _offer_its_model(change: Change) -> None:
    """Point out that another model held the conversation, and how to load that one; later if there is no model yet."""
    change.set(offer_pending=change.state.model is None)
    _show_offer(change, _offer(change.state))


def _show_offer(change: Change, text: str) -> None:
    change.set(offer=text)
    change.do(effects.Offer(text))


def _offer(state: ChatState) -> str:
    """Return the offer's text; empty if the conversation's model is loaded or unknown."""
    held = state.conversation.snapshot.about.model
    if state.model is None or held is None or not held.name or _is_loaded(state, held):
        return ""
    name, other = printable(held.title), printable(state.stored_model.title)
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
