"""Carries out what ``update`` decides: commands to the engine, changes of the store, and what is shown only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from textual.screen import Screen

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event, Failed, ReplyFinished, Tokens, TokensRanked
from lade_chat.protocol.values import EarlierReply, ModelInfo
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.chat.actions import open_model
from lade_chat.tui.chat.chat_state import ENGINE_GONE, ChatState, Decision, Deferred
from lade_chat.tui.chat.decisions import controls, navigation, questions
from lade_chat.tui.chat.effects import Effects
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.conversations.conversation_session import Asked, ConversationSession, ShownTurn
from lade_chat.tui.explain.explain_screen import ExplainScreen
from lade_chat.tui.race.queue import Races
from lade_chat.tui.race.race_screen import RaceScreen
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.transcript.menus import TokenMenu
from lade_chat.tui.widgets.bars import REFUSAL_SECONDS

OpenScreen = TypeVar("OpenScreen", bound=Screen[Any])


class Performer(Effects):
    """The effects on the chat's screen, and on those above it."""

    def __init__(self, screen: LoopScreen) -> None:
        self._screen, self._transcript = screen, screen.transcript

    # --- by the engine and the store -------------------------------------------------------------------------------

    def send(self, command: Command) -> None:
        self._screen.engine.send(command)

    def start_engine(self) -> None:
        self._screen.run_worker(self._screen.restart_engine())

    def keep(self, verb: Callable[..., object], arguments: tuple[object, ...], then: Decision | None) -> None:
        screen, results = self._screen, list[object]()
        work = partial(verb, screen.conversation, *arguments)

        def done() -> None:
            if then is not None and results != [False]:
                screen.decide(then)

        screen.store_worker.change(lambda: results.append(work()), done)

    def open_stored(self, conversation: Conversation | None, draft: str, system: str | None) -> None:
        screen = self._screen
        screen.conversation = conversation or screen.store_worker.store.begin(screen.state.system)
        screen.decide(navigation.conversation_opened, draft, is_new=conversation is None, system=system)

    def delete(self, conversation: str, title: str) -> None:
        screen = self._screen

        def deleted() -> None:
            screen.deleted.append(conversation)
            screen.decide(navigation.send_earlier, forget=True)
            screen.side_bar.look()
            key = screen.key_names.first("list_conversations")
            # The title is last: a narrow line cuts its end, not the remedy.
            screen.hint(f"Deleted; {key}, then Ctrl+Z, brings it back: “{printable(title)}”")

        screen.store_worker.change(lambda: screen.store_worker.store.delete(conversation), deleted)

    def find_earlier(self, fingerprint: str, forget: bool) -> None:
        def found(replies: tuple[EarlierReply, ...]) -> None:
            self._screen.decide(navigation.earlier_found, fingerprint, replies, forget=forget)

        worker = self._screen.store_worker
        worker.look_up(lambda: worker.store.earlier_replies(fingerprint), found)

    # --- in the transcript and the prompt --------------------------------------------------------------------------

    def say(self, question: str | None) -> None:
        self._screen.hint("")  # the one before is about what was done before
        self._transcript.say(question)

    def cut(self, turn: int) -> None:
        self._transcript.cut(turn)
        self._note_unsaved()

    def begin_reply(self) -> None:
        self._transcript.begin_reply()

    def grow(self, tokens: Tokens, *, slowly: bool = False) -> None:
        if slowly:
            self._screen.slow_motion.take(tokens)
        elif (reply := self._transcript.reply) is not None:
            reply.add(tokens.pieces, tokens.statistics)

    def end_reply(self, finished: ReplyFinished, why: str) -> None:
        self._transcript.end_reply(finished, why)

    def fail_reply(self, message: str | None) -> None:
        self._transcript.fail_reply(message)

    def turn_kept(self, turn: ShownTurn) -> None:
        self._transcript.keep_last(turn)
        self._transcript.fold(self._screen.state.conversation)

    def show_conversation(self, session: ConversationSession, waiting: tuple[Asked, ...]) -> None:
        stored = {asked.turn for asked in waiting if asked.is_stored}
        self._transcript.restore([turn for turn in session.path if turn.id not in stored], session)
        for asked in waiting:
            self._transcript.say(asked.question)
        self._screen.prompt.end_editing()
        self._note_unsaved()

    def _note_unsaved(self) -> None:
        """Show again that something is unsaved, which stands there until everything is saved."""
        if trouble := self._screen.store_worker.trouble:
            self._transcript.note_instead("unsaved", trouble, is_error=True)

    def clear_prompt(self, sent: str) -> None:
        self._screen.prompt.remember(sent)
        self._screen.prompt.clear_all()

    def give_back(self, question: str) -> None:
        prompt = self._screen.prompt
        if question and not prompt.text:
            prompt.put(question)

    def take_back(self, question: str, *, drops: bool) -> None:
        self._transcript.remove_waiting()
        self._screen.prompt.take_back(question, drops=drops)

    def note(self, text: str, *, is_error: bool = False) -> None:
        self._transcript.note(text, is_error=is_error)

    def offer(self, text: str) -> None:
        self._transcript.note_instead("offer", *filter(None, [text]))

    def model_ready(self, model: ModelInfo) -> None:
        self._transcript.note_model(model.notices)

    def model_failed(self, message: str, kept: ModelInfo | None) -> None:
        way_on = f"{self._screen.key_names.first('open_model')} opens another model."
        if kept is not None:
            way_on = f"{kept.name} is still loaded. {way_on}"
        self._transcript.note_instead("failure", message, way_on=way_on, is_error=True)
        for dialog in self._opened(ModelScreen):
            dialog.complain(message)
        if kept is None and self._screen.draft == "":
            open_model(self._screen, message)

    def engine_gone(self, message: str) -> None:
        key = self._screen.key_names.first("restart")
        remedy = f"{key}, or your next message, starts the engine and loads the model again."
        way_on = f"The conversation is kept. {remedy}"
        self._transcript.note_instead("failure", message[:1].upper() + message[1:], way_on=way_on, is_error=True)
        for race in self._opened(RaceScreen):
            race.refuse(ENGINE_GONE)

    # --- in the status line, and above the chat --------------------------------------------------------------------

    def refuse(self, text: str) -> None:
        screen = self._screen
        situation = screen.state.situation
        screen.status.hint(screen.key_names.put_into(text), lambda: screen.state.situation == situation)
        for race in self._opened(RaceScreen):
            race.refuse(text)

    def hint(self, text: str, holds: Callable[[ChatState, str], bool] | None = None) -> None:
        screen = self._screen
        if holds is None:
            screen.hint(text)
        else:
            words = screen.key_names.put_into(text)
            screen.status.hint(words, lambda: holds(screen.state, screen.prompt.text), REFUSAL_SECONDS)

    def open_race(self, races: Races) -> None:
        state, app = self._screen.state, self._screen.app
        assert state.model is not None, "a race needs a model"
        race = RaceScreen(races, state.model, state.options, self._screen.decide)
        if isinstance(app.screen, RaceScreen):
            app.switch_screen(race)
        else:
            app.push_screen(race)

    def open_explanation(self, model: ModelInfo) -> None:
        decide = self._screen.decide
        self._screen.app.push_screen(ExplainScreen(model), lambda early: decide(controls.stop) if early else None)

    def show_above(self, event: Event, races: Races | None = None) -> None:
        if races is not None:
            for race in self._opened(RaceScreen):
                race.show_event(event, races)
        else:
            for explanation in self._opened(ExplainScreen):
                explanation.show_event(event)

    def show_ranked(self, event: TokensRanked | Failed) -> None:
        for menu in self._opened(TokenMenu):
            menu.show_event(event)

    def open_deferred(self, deferred: Deferred) -> None:
        screen = self._screen
        if screen.draft is not None and screen.draft in ("", deferred.draft):
            screen.decide(deferred.decision)
        else:
            screen.hint(deferred.missed)
        screen.decide(questions.ask_next)  # what waits besides

    def _opened(self, kind: type[OpenScreen]) -> Iterator[OpenScreen]:
        """Yield the latest screen of this kind that is open."""
        found = [each for each in self._screen.app.screen_stack if isinstance(each, kind)]
        yield from found[-1:]
