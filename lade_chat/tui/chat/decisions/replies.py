"""The reply that is running: the engine's words of it are shown, and stored with its question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lade_chat.protocol.events import Event, Failed, Prefilling, ReplyFinished, ReplyStarted, Tokens
from lade_chat.store.conversation import Conversation
from lade_chat.tui.chat.chat_state import Answer, Phase
from lade_chat.tui.chat.decisions.questions import show_conversation, store_waiting
from lade_chat.tui.chat.effects import Change, CloseStore, EndReply, FailReply, GiveBack, Grow, Keep, Note, TurnKept
from lade_chat.tui.chat.intents import Close, LoadModel, ReplyStored, ReplyWithdrawn, ShowTokens, TakeNext

LOST = "The engine was lost."
STOPPED_FOR: Mapping[type, str] = {
    LoadModel: "stopped to open another model",
    TakeNext: "stopped for another token",
}
"""The mark of a reply that was stopped, unless the user stopped it for nothing else."""
STOPS_AGAIN = "Nothing was added: the stop string came first again. /set lists it; /set stop alone removes your own."


def take_in(change: Change, answer: Answer, event: Event) -> None:
    """Take in an event of the reply other than its tokens."""
    match event:
        case ReplyStarted():
            _report_dropped(change, event.dropped_messages)
            change.set(reading=(event.reused_tokens, event.prompt_tokens), ahead=0)
        case Prefilling():
            change.set(reading=(event.done, event.total))
        case ReplyFinished(finish_reason="cancelled") if answer.continues_nothing:
            _give_back(change, answer, None)
        case ReplyFinished():
            if event.finish_reason == "stop" and answer.continues_nothing:
                change.do(Note(STOPS_AGAIN))
            change.set(statistics=event.statistics, measuring=False)
            is_stopped = event.finish_reason == "cancelled"
            why = STOPPED_FOR.get(type(change.state.after_stop), "") if is_stopped else ""
            change.do(EndReply(event, why), Keep(Conversation.finish, (event, why), ReplyStored(answer.asked)))
        case Failed(message) if answer.said:  # the partial reply is kept
            _break_off(change, answer, message, shown=message)
        case Failed(message):
            _give_back(change, answer, message)


def grow(change: Change, answer: Answer, tokens: Tokens) -> None:
    """Take in more of the reply, which is stored and shown."""
    if not answer.said and any(piece.text for piece in tokens.pieces):
        change.set(answer=replace(answer, said=True))
    change.set(ending=True)
    change.do(Keep(Conversation.grow, (tokens,)))
    if change.state.is_slow:
        change.do(Grow(tokens, slowly=True))
    else:
        show_tokens(change, ShowTokens(tokens))


def show_tokens(change: Change, intent: ShowTokens) -> None:
    """Show tokens that the reply has grown by, with their metrics."""
    tokens = intent.tokens
    inspection = tokens.inspection or change.state.inspection
    change.set(statistics=tokens.statistics, inspection=inspection, reading=None)
    change.do(Grow(tokens))


def _report_dropped(change: Change, count: int) -> None:
    if count > change.state.dropped:
        messages = "message no longer fits" if count == 1 else f"{count} messages no longer fit"
        change.do(Note(f"The oldest {messages} and {'was' if count == 1 else 'were'} left out."))
    change.set(dropped=count)


def _break_off(change: Change, answer: Answer, error: str, *, shown: str | None) -> None:
    change.set(measuring=False)
    stored = ReplyStored(answer.asked, lost=error == LOST)
    change.do(FailReply(shown), Keep(Conversation.break_off, (error,), stored))


def _give_back(change: Change, answer: Answer, error: str | None) -> None:
    """Give the question of a reply that said nothing back to the prompt."""
    asked = answer.asked
    on_disk = asked.typed is None or change.state.conversation.is_repeated(asked)
    change.set(measuring=False)
    change.do(FailReply(error if asked.instead_of is None else None))
    if asked.typed is not None and not on_disk:
        change.do(GiveBack(asked.typed))
    change.do(Keep(Conversation.withdraw, (None, answer.leaf, on_disk), ReplyWithdrawn(asked, error)))


def reply_stored(change: Change, event: ReplyStored) -> None:
    """The reply has its end on the disk: the turn can be acted on, and the model is free."""
    answer, session = change.state.answer, change.state.conversation
    is_current = answer is not None and answer.asked is event.asked
    change.set(ending=False)
    if (is_current or event.lost) and (last := session.last_ended) is not None:
        change.do(TurnKept(session.shown([last])[0]))
    if is_current:
        change.set(answer=None)
        change.frees = True


def reply_withdrawn(change: Change, event: ReplyWithdrawn) -> None:
    """The question without an answer is no longer in the conversation."""
    if event.asked.instead_of is not None:  # what had been cut comes back
        show_conversation(change)
        if event.error is not None:
            change.do(Note(event.error, is_error=True))
    answer = change.state.answer
    if answer is not None and answer.asked is event.asked:
        change.set(answer=None)
        change.frees = True


def lose_reply(change: Change) -> None:
    """End the reply because the engine was lost; the reason is shown elsewhere, and no question follows."""
    answer = change.state.answer
    if answer is None:
        return
    if answer.said:
        _break_off(change, answer, LOST, shown=None)
    else:
        _give_back(change, answer, None)
    change.set(answer=None)


def close_chat(change: Change, intent: Close) -> None:
    """Keep a partial reply, an unanswered question, and all that waits: nothing more is answered."""
    answer = change.state.answer
    if change.state.phase is Phase.REPLYING and answer is not None:
        if answer.said:
            change.do(Keep(Conversation.break_off, (intent.error,)))
        elif answer.continues_nothing:
            change.do(Keep(Conversation.withdraw, (None, answer.leaf)))
    change.set(waiting=tuple(asked for asked in change.state.waiting if asked.is_message))
    store_waiting(change)
    change.do(CloseStore())
