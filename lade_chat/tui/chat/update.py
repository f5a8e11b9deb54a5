"""The loop's one decision: from the state and what happened to the new state and what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lade_chat.protocol.events import (
    EngineLost,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    ReplyFinished,
    Tokens,
    TokensRanked,
    Waiting,
)
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.tui.chat import intents
from lade_chat.tui.chat.chat_state import ChatState, Loads, Phase
from lade_chat.tui.chat.decisions import controls, navigation, questions, races, replies
from lade_chat.tui.chat.decisions.sampling_settings import learn_sampling
from lade_chat.tui.chat.effects import Change, Effect, EngineGone, Note, OpenDeferred, ShowAbove, ShowRanked
from lade_chat.tui.chat.intents import Happening, StoreAnswered, Want

PLAIN: Mapping[Want | StoreAnswered, Callable[[Change], object]] = {
    Want.CONTINUE: questions.continue_reply,
    Want.TAKE_BACK: questions.take_back,
    Want.STOP: controls.stop,
    Want.ESCAPE_CLOSED: controls.escape_closed,
    Want.SWITCH_LOOKAHEAD: controls.switch_lookahead,
    Want.PAUSE: controls.pause,
    Want.STEP: controls.step,
    Want.NEXT_STEP: controls.next_step,
    Want.HOLD: controls.hold,
    Want.RELEASE: controls.release,
    Want.FORGET_EARLIER: navigation.forget_earlier,
    Want.REFRESH_EARLIER: navigation.refresh_earlier,
    Want.REOPEN_MODEL: navigation.reopen_model,
    Want.RESTART: questions.restart,
    Want.SAVE: navigation.save,
    StoreAnswered.IDLE: questions.ask_next,
    StoreAnswered.MOVED: questions.show_conversation,
    StoreAnswered.REVISED: questions.go_on_revised,
    StoreAnswered.RENAMED: navigation.renamed,
}
DETAILED: Mapping[type, Callable[[Change, Any], object]] = {
    intents.Ask: questions.ask,
    intents.AskAgain: questions.ask_again,
    intents.Revise: questions.revise,
    intents.RankTokensAt: questions.rank_tokens,
    intents.TakeNext: controls.take_next,
    intents.PressEscape: controls.press_escape,
    intents.ChangePace: controls.change_pace,
    intents.ShowTokens: replies.show_tokens,
    intents.SetDebug: controls.set_debug,
    intents.SetOptions: controls.set_options,
    intents.SetReadAhead: controls.set_read_ahead,
    intents.ReadAhead: questions.read_ahead,
    intents.LoadModel: navigation.load_model,
    intents.NewConversation: navigation.new_conversation,
    intents.OpenConversation: navigation.open_conversation,
    intents.Branch: navigation.branch,
    intents.GoBeside: navigation.go_beside,
    intents.Rename: navigation.rename,
    intents.Instruct: navigation.instruct,
    intents.StartRace: races.race,
    intents.RaceAgain: races.race_again,
    intents.ExplainTurn: races.explain,
    intents.Close: replies.close_chat,
    intents.ReplyStored: replies.reply_stored,
    intents.ReplyWithdrawn: replies.reply_withdrawn,
    intents.ConversationOpened: navigation.conversation_opened,
    intents.EarlierFound: navigation.earlier_found,
}


def update(state: ChatState, happened: Happening) -> tuple[ChatState, Sequence[Effect]]:
    """Return the state after an intent or event, and what is to be done, in this order."""
    change = Change(state)
    _decide(change, happened)
    if change.frees:
        _go_on(change)
    return change.state, change.effects


def _decide(change: Change, happened: Happening) -> None:
    if isinstance(happened, Want | StoreAnswered):
        PLAIN[happened](change)
    elif isinstance(happened, intents.Intent | intents.StoreEvent):
        DETAILED[type(happened)](change, happened)
    else:
        _engine_spoke(change, happened)


def _engine_spoke(change: Change, event: Event) -> None:
    phase, answer = change.state.phase, change.state.answer
    if isinstance(event, Tokens | ReplyFinished) and phase in (Phase.RACING, Phase.REPLYING):
        learn_sampling(change, event.statistics)
    match event:
        case Loading():
            change.set(progress=event, ahead=0)
        case Loaded() | LoadFailed():
            navigation.load_ended(change, event)
        case EngineLost():
            _lose_engine(change, event)
        case Waiting(ahead) if phase in (Phase.REPLYING, Phase.LOADING):
            change.set(ahead=ahead)
        case _ if phase is Phase.RACING:
            races.race_went_on(change, event)
        case Tokens() if phase is Phase.REPLYING and answer is not None:
            replies.grow(change, answer, event)
        case _ if phase is Phase.REPLYING and answer is not None:
            replies.take_in(change, answer, event)
        case Explained() | ExplainFinished() | Failed() if phase is Phase.EXPLAINING:
            races.explanation_went_on(change, event)
        case TokensRanked():
            change.do(ShowRanked(event))
        case Failed(message):
            change.do(Note(message, is_error=True), ShowRanked(event))


def _lose_engine(change: Change, event: EngineLost) -> None:
    before = change.state
    change.set(phase=Phase.LOST, loads=Loads(before.loads.options), model=None, after_stop=None)
    change.set(stopping=False, paused=False, pace=None)
    replies.lose_reply(change)
    if before.phase in (Phase.RACING, Phase.EXPLAINING):
        change.do(ShowAbove(event, before.races if before.phase is Phase.RACING else None))
    change.do(EngineGone(event.message))


def _go_on(change: Change) -> None:
    """Do what waited for the model, which is free now."""
    controls.become_ready(change)
    after_stop, deferred = change.state.after_stop, change.state.when_free
    change.set(after_stop=None)
    if after_stop is not None:
        _decide(change, after_stop)
    if deferred is not None and change.state.phase is Phase.READY:
        change.set(when_free=None)
        change.do(OpenDeferred(deferred))
    else:
        questions.ask_next(change)
        races.race_next(change)
