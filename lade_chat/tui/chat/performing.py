"""Carries out what ``update`` decides: commands to the engine, changes of the store, and what is shown only once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

from textual.screen import Screen

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import EarlierReply
from lade_chat.tui.chat import effects
from lade_chat.tui.chat.actions import open_model
from lade_chat.tui.chat.chat_state import ENGINE_GONE
from lade_chat.tui.chat.decisions import controls, navigation, questions
from lade_chat.tui.chat.effects import Effect
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.explain.screen import ExplainScreen
from lade_chat.tui.race.screen import RaceScreen
from lade_chat.tui.transcript.token_menu import TokenMenu
from lade_chat.tui.widgets.status_bar import REFUSAL_SECONDS

OpenScreen = TypeVar("OpenScreen", bound=Screen[Any])


def perform(screen: LoopScreen, effect: Effect) -> None:
    """Do one thing: for the engine, in the store, in the transcript, or around it."""
    match effect:
        case effects.Send(command):
            screen.engine.send(command)
        case effects.StartEngine():
            screen.run_worker(screen.restart_engine())
        case effects.Keep():
            _keep(screen, effect)
        case effects.Grow(tokens, slowly=True):
            screen.slow_motion.take(tokens)
        case effects.Grow(tokens):
            if (reply := screen.transcript.reply) is not None:
                reply.add(tokens.pieces, tokens.statistics)
        case effects.OpenStored(conversation, draft, system):
            screen.conversation = conversation or screen.store_worker.store.begin(screen.state.system)
            screen.decide(navigation.conversation_opened, draft, is_new=conversation is None, system=system)
        case effects.Delete(conversation, title):
            _delete(screen, conversation, title)
        case effects.FindEarlier():
            _find_earlier(screen, effect)
        case _:
            _show_turns(screen, effect)


def _keep(screen: LoopScreen, effect: effects.Keep) -> None:
    work = partial(effect.verb, screen.conversation, *effect.arguments)
    if effect.then is None:
        screen.store_worker.change(work)
        return
    results: list[object] = []
    then = effect.then

    def done() -> None:
        if results != [False]:
            screen.decide(then)

    screen.store_worker.change(lambda: results.append(work()), done)


def _delete(screen: LoopScreen, conversation: str, title: str) -> None:
    def deleted() -> None:
        screen.deleted.append(conversation)
        screen.decide(navigation.send_earlier, forget=True)
        screen.side_bar.look()
        key = screen.key_names.first("list_conversations")
        # The title is last: a narrow line cuts its end, not the remedy.
        screen.hint(f"Deleted; {key}, then Ctrl+Z, brings it back: “{printable(title)}”")

    screen.store_worker.change(lambda: screen.store_worker.store.delete(conversation), deleted)


def _find_earlier(screen: LoopScreen, effect: effects.FindEarlier) -> None:
    def found(replies: tuple[EarlierReply, ...]) -> None:
        screen.decide(navigation.earlier_found, effect.fingerprint, replies, forget=effect.forget)

    store = screen.store_worker.store
    screen.store_worker.look_up(lambda: store.earlier_replies(effect.fingerprint), found)


def _show_turns(screen: LoopScreen, effect: Effect) -> None:
    transcript = screen.transcript
    match effect:
        case effects.Say(question):
            screen.hint("")  # the one before is about what was done before
            transcript.say(question)
        case effects.Cut(turn):
            transcript.cut(turn)
        case effects.BeginReply():
            transcript.begin_reply()
        case effects.EndReply(finished, why):
            transcript.end_reply(finished, why)
        case effects.FailReply(message):
            transcript.fail_reply(message)
        case effects.TurnKept(turn):
            transcript.keep_last(turn)
            transcript.fold(screen.state.conversation.path, screen.state.conversation.shown)
        case effects.ShowConversation(session, waiting):
            stored = {asked.turn for asked in waiting if asked.is_stored}
            transcript.restore(session.path_without(stored), session.shown)
            for asked in waiting:
                transcript.say(asked.question)
            screen.prompt.editing = None
        case _:
            _show_prompt(screen, effect)


def _show_prompt(screen: LoopScreen, effect: Effect) -> None:
    transcript, prompt = screen.transcript, screen.prompt
    match effect:
        case effects.ClearPrompt(sent):
            prompt.remember(sent)
            prompt.clear_all()
        case effects.GiveBack(question, is_last=True):
            transcript.remove_waiting()
            prompt.take_back(question)
        case effects.GiveBack(question):
            if question and not prompt.text:
                prompt.put(question)
        case _:
            _show_words(screen, effect)


def _show_words(screen: LoopScreen, effect: Effect) -> None:
    transcript, status = screen.transcript, screen.status
    match effect:
        case effects.Note(text, is_error):
            transcript.note(text, "error" if is_error else "information")
        case effects.Offer(text):
            transcript.note_instead("offer", *filter(None, [text]))
        case effects.ModelFailed():
            _show_failure(screen, effect)
        case effects.ModelReady(model):
            transcript.note_model(model.notices)
        case effects.EngineGone(message):
            key = screen.key_names.first("restart")
            remedy = f"{key}, or your next message, starts the engine and loads the model again."
            way_on = f"The conversation is kept. {remedy}"
            transcript.note_instead("failure", message[:1].upper() + message[1:], kind="error", way_on=way_on)
            for race in _opened(screen, RaceScreen):
                race.refuse(ENGINE_GONE)
        case effects.Refuse(text):
            situation = screen.state.situation
            status.hint(screen.key_names.put_into(text), lambda: screen.state.situation == situation)
            for race in _opened(screen, RaceScreen):
                race.refuse(text)
        case effects.Hint(text, holds):
            if holds is None:
                status.hint(text)
            else:
                words = screen.key_names.put_into(text)
                status.hint(words, lambda: holds(screen.state, screen.prompt.text), REFUSAL_SECONDS)
        case _:
            _show_above(screen, effect)


def _show_failure(screen: LoopScreen, effect: effects.ModelFailed) -> None:
    way_on = f"{screen.key_names.first('open_model')} opens another model."
    if effect.kept is not None:
        way_on = f"{effect.kept.name} is still loaded. {way_on}"
    screen.transcript.note_instead("failure", effect.message, kind="error", way_on=way_on)
    if effect.kept is None and screen.draft == "":
        open_model(screen, effect.message)


def _show_above(screen: LoopScreen, effect: Effect) -> None:
    app = screen.app
    match effect:
        case effects.OpenRace(races):
            assert screen.state.model is not None, "a race needs a model"
            race = RaceScreen(races, screen.state.model, screen.state.options, screen.decide)
            if isinstance(app.screen, RaceScreen):
                app.switch_screen(race)
            else:
                app.push_screen(race)
        case effects.OpenExplanation(model):
            app.push_screen(ExplainScreen(model), lambda early: screen.decide(controls.stop) if early else None)
        case effects.ShowAbove(event, None):
            for explanation in _opened(screen, ExplainScreen):
                explanation.show_event(event)
        case effects.ShowAbove(event, races) if races is not None:
            for race in _opened(screen, RaceScreen):
                race.show_event(event, races)
        case effects.ShowRanked(event):
            for menu in _opened(screen, TokenMenu):
                menu.show_event(event)
        case effects.OpenDeferred(deferred):
            if screen.draft is not None and screen.draft in ("", deferred.draft):
                screen.decide(deferred.decision)
            else:
                screen.hint(deferred.missed)
            screen.decide(questions.ask_next)  # what waits besides


def _opened(screen: LoopScreen, kind: type[OpenScreen]) -> Iterator[OpenScreen]:
    """Yield the latest screen of this kind that is open."""
    found = [each for each in screen.app.screen_stack if isinstance(each, kind)]
    yield from found[-1:]
