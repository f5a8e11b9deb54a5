"""The chat without its screen: what may be asked when, what is queued, and what each event of the engine means."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from lade_chat.protocol.commands import Command, Explain, Load, Reply
from lade_chat.protocol.control import Inspect, SetLookahead, Stop
from lade_chat.protocol.events import (
    EngineLost,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    Prefilling,
    RaceFinished,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.protocol.values import Contender, DecodingOptions, Message, ModelInfo, ModelOptions, Sampling, Statistics
from lade_chat.store.values import Turn
from lade_chat.tui.chat.loads import Loads
from lade_chat.tui.chat.pacing import Pacing
from lade_chat.tui.chat.phase import Phase, no_asking, no_explaining, no_lookahead, no_race
from lade_chat.tui.chat.reply_controller import Answering
from lade_chat.tui.chat.sampling import Drawing, seeds_of
from lade_chat.tui.chat.view import ChatView
from lade_chat.tui.conversations.conversation_session import Asked, Talk
from lade_chat.tui.conversations.navigation import ConversationMoves
from lade_chat.tui.conversations.store_worker import Job, Keeper
from lade_chat.tui.race.queue import Heat, Races

SAME_TEXT = "Greedy decoding gives the same text to the same question. /set temperature 0.8 draws another."


class Chat(ConversationMoves):
    """Turns what the user does into commands, and what the engine tells into calls of a view."""

    def __init__(
        self,
        view: ChatView,
        keeper: Keeper,
        send: Callable[[Command], None],
        restart: Callable[[], None],
        model_options: ModelOptions,
        options: DecodingOptions,
        system: str | None = None,
    ) -> None:
        self.view = view
        self.phase = Phase.LOADING
        self.options = options
        self.conversation = Talk(keeper, system)
        self.stopping = False
        self.pacing = Pacing(send)
        self.races = Races()
        self._send = send
        self._restart = restart
        self._keeper = keeper
        self._drawing = Drawing(options.sampling)
        self._queue: deque[Asked] = deque()
        self._answering = Answering(view, self.conversation)
        self._when_ready: Job | None = None
        self._dropped = 0
        self._loads = Loads(model_options)
        keeper.when_idle(self._ask_next)

    @property
    def model(self) -> ModelInfo | None:
        return self._loads.model

    @property
    def model_options(self) -> ModelOptions:
        """Of the model that is there, else of the one asked for last."""
        return self._loads.options

    @property
    def waiting(self) -> tuple[Asked, ...]:
        """What was said and is not asked yet, the oldest first."""
        return tuple(self._queue)

    @property
    def sampling(self) -> Sampling | None:
        """How tokens are drawn: as the last reply told it; before one, as it was asked for."""
        return self._drawing.in_force

    # --- what the user does ------------------------------------------------------------------------------------

    def load(self, options: ModelOptions | None = None) -> None:
        """Load a model: the one asked for last unless ``options`` names another. Ends a running reply first."""
        if options is not None:
            self._loads.options, self._offer_waits = options, False
        if self.phase in (Phase.REPLYING, Phase.RACING, Phase.EXPLAINING):
            self._after_this(self.load)
        elif self.phase is Phase.LOST:
            self.restart()
        else:
            self.phase = Phase.LOADING
            self._loads.begin()
            self._send(Load(self.model_options))
            self.view.loading_began()

    def restart(self) -> None:
        """After the engine was lost: a fresh one, which then loads the model again (``load``)."""
        if self.phase is Phase.LOST:
            self.phase = Phase.LOADING
            self.view.loading_began()
            self._restart()

    def submit(self, text: str, instead_of: int | None = None) -> bool:
        """Ask ``text`` now, or as soon as the model is ready. False if it was not taken; the view says why.

        ``instead_of``: a turn whose question this one replaces; what was said from there on stays as an alternative.
        """
        refusal = no_asking(self.phase, self._keys, stopping=self.stopping)
        if instead_of is not None:
            refusal = self._no_changing()
        if self._when_ready is not None:
            refusal = "One moment: the reply is being stopped."
        elif not text.strip():
            refusal = "Nothing to send yet: type a message first."
        if refusal:
            self.view.refuse(refusal)
            return False
        self._take(Asked(text, instead_of))
        if self.phase is Phase.LOST:
            self.restart()
        return True

    def retry(self, turn: int | None = None) -> None:
        """Ask the question of ``turn`` (else the last one) again; the reply so far stays as an alternative."""
        self._ask_anew(self.conversation.again(turn), "Nothing to ask again yet: type a message first.")

    def go_on(self) -> None:
        """Have the last reply continued, as after a length stop."""
        self._ask_anew(self.conversation.more(), "There is no reply to go on with yet.")

    def _ask_anew(self, asked: Asked | None, missing: str) -> None:
        if asked is None:
            self.view.refuse(missing)
        elif refusal := self._no_changing():
            self.view.refuse(refusal)
        else:
            self._take(asked)

    def _take(self, asked: Asked) -> None:
        if asked.instead_of is not None:
            self.view.cut(asked.instead_of)
        if asked.question is not None and asked.instead_of is None and not self._can_ask:
            asked = self.conversation.enqueue(asked.question)
        self._queue.append(asked)
        self.view.user_said(asked.question)
        self._ask_next()

    @property
    def _can_ask(self) -> bool:
        """True if the model is free and nothing is still being written to the conversation."""
        return self.phase is Phase.READY and self.model is not None and not self._keeper.busy

    def toggle_lookahead(self) -> None:
        if refusal := no_lookahead(self.phase, self.model, self._keys):
            self.view.refuse(refusal)
            return
        enabled = not self.options.lookahead
        self.options = msgspec.structs.replace(self.options, lookahead=enabled)
        if self.phase in (Phase.READY, Phase.REPLYING):
            self._send(SetLookahead(enabled))
        self.view.lookahead_changed()

    def set_options(self, options: DecodingOptions) -> None:
        """How the next replies are decoded."""
        self.options = options
        if self._drawing.set(self._wished().sampling):
            self.view.sampling_changed()
        self.view.lookahead_changed()

    def set_debug(self, wanted: bool) -> None:
        """Whether replies are to be inspected, the running one too, and the next measured for the debug panel."""
        self.options = msgspec.structs.replace(self.options, debug=wanted)
        if self.phase in (Phase.READY, Phase.REPLYING):
            self._send(Inspect(wanted))

    def pause(self, *, step: bool = False) -> None:
        """Pause the reply or have it go on; with ``step`` have a paused one take one step."""
        if self.phase is not Phase.REPLYING or self.stopping:
            self.view.refuse("There is no reply to pause just now.")
            return
        if step:
            self.pacing.step()
        else:
            self.pacing.toggle()
        self.view.pace_changed()

    def stop(self) -> None:
        """End the reply, race or explanation within one step; what was said is kept."""
        if self.phase in (Phase.REPLYING, Phase.RACING, Phase.EXPLAINING) and not self.stopping:
            self.stopping = True
            self._send(Stop())
            self.view.stopping()

    def _after_this(self, call: Job) -> None:
        """Stop what is running, and then do this."""
        self._when_ready = call
        self.stop()

    # --- races -------------------------------------------------------------------------------------------------

    def race(self, text: str) -> None:
        """Race two ways to decode over ``text``, or over the last question if there is none."""
        refusal = no_race(self.phase, self.model, self._keys)
        if not refusal and not text.strip() and self.conversation.last_question is None:
            refusal = "Nothing to race yet: type a message first."
        if refusal:
            self.view.refuse(refusal)
            return
        talk = self.conversation
        messages = talk.messages_for(Asked(text)) if text.strip() else talk.up_to_last_question()
        self.races.single(Heat(text if text.strip() else talk.last_question or "", messages))
        self._begin_race()

    def race_again(self, left: Contender | None = None, right: Contender | None = None, suite: str = "") -> None:
        """Another race, of other methods where they are given, over the same question or a suite of them."""
        if refusal := no_race(self.phase, self.model, self._keys):
            self.view.refuse(refusal)
            return
        self.races.left, self.races.right = left or self.races.left, right or self.races.right
        if suite:
            system = self.conversation.current.about.system
            self.races.over_suite(suite, (Message("system", system),) if system else ())
        elif self.races.heat is not None:
            self.races.single(self.races.heat)
        if self.races.heat is not None:
            self._begin_race()

    def _begin_race(self) -> None:
        assert self.races.heat is not None
        self.phase = Phase.RACING
        self._send(self.races.command(self._wished()))
        self.view.race_began(self.races.heat.question)

    # --- the method explained ----------------------------------------------------------------------------------

    def explain(self, question: str) -> None:
        """Have the engine take steps over ``question`` that show how lookahead decoding works."""
        if refusal := no_explaining(self.phase, self.model, self._keys):
            self.view.refuse(refusal)
            return
        self.phase = Phase.EXPLAINING
        self._send(Explain((Message("user", question),)))
        self.view.explain_began()

    # --- what the engine tells ---------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        match event:
            case Loading():
                self.view.load_progressed(event)
            case Loaded() | LoadFailed():
                self._load_ended(event)
            case EngineLost(message):
                self._lost(message)
            case _ if self.phase is Phase.RACING:
                self._handle_race(event)
            case _ if self.phase is Phase.REPLYING:
                self._handle_reply(event)
            case Explained() | ExplainFinished() | Failed() if self.phase is Phase.EXPLAINING:
                self.view.explain_event(event)
                if not isinstance(event, Explained):
                    self._ready()
            case Failed(message):
                self.view.failed(message)

    def _handle_race(self, event: Event) -> None:
        if isinstance(event, ReplyFinished | RaceFinished):
            self.races.ended(event, stopped=self.stopping)
        self.view.race_event(event)
        if isinstance(event, Tokens | ReplyFinished):
            self._learn_sampling(event.statistics)
        if isinstance(event, Failed):
            self.races.give_up()
        if isinstance(event, RaceFinished | Failed):
            self._ready()
            if self.phase is Phase.READY and self.races.next():
                self._begin_race()

    def _handle_reply(self, event: Event) -> None:
        match event:
            case ReplyStarted():
                self._tell_dropped(event.dropped_messages)
                self.view.reading(event.reused_tokens, event.prompt_tokens)
            case Prefilling():
                self.view.reading(event.done, event.total)
            case Tokens():
                self._learn_sampling(event.statistics)
                self._answering.grow(event)
            case ReplyFinished():
                self._learn_sampling(event.statistics)
                self._answering.finish(event, self._ready)
            case Failed():
                self._answering.fail(event.message, self._ready)

    def _load_ended(self, event: Loaded | LoadFailed) -> None:
        if not self._loads.ended(event):
            return
        model = self.model
        if isinstance(event, LoadFailed):
            self.view.load_failed(event.message, model)
        elif model is not None:
            self.view.model_ready(model)
            if self._drawing.set(self._wished().sampling):
                self.view.sampling_changed()
            if self._offer_waits:
                self._offer_its_model()
        if model is None:
            self.phase = Phase.UNLOADED
        else:
            self._ready()

    def _lost(self, message: str) -> None:
        before, self.phase = self.phase, Phase.LOST
        self._loads.lost()
        self._when_ready = None
        self.stopping = False
        self.pacing.reset()
        self._answering.lose()
        if before is Phase.RACING:
            self.view.race_event(EngineLost(message))
        if before is Phase.EXPLAINING:
            self.view.explain_event(EngineLost(message))
        self.view.engine_lost(message)

    def _tell_dropped(self, count: int) -> None:
        if count > self._dropped:
            messages = "message no longer fits" if count == 1 else f"{count} messages no longer fit"
            self.view.notice(f"The oldest {messages} and {'was' if count == 1 else 'were'} left out.")
        self._dropped = count

    def _ready(self) -> None:
        self.phase = Phase.READY
        self.stopping = False
        self.pacing.reset()
        self.view.settled()
        call, self._when_ready = self._when_ready, None
        if call is not None:
            call()
        self._ask_next()

    def _ask_next(self) -> None:
        """Ask what waits, if that can be asked now."""
        if not self._queue or not self._can_ask:
            return
        asked = self._queue.popleft()
        self.phase = Phase.REPLYING
        others = self.conversation.other_replies(asked)
        options = self._drawing.wished(self.options, seeds_of(others))
        self._send(Reply(self.conversation.messages_for(asked), options))
        self._answering.begin(asked, self._loads.kept)
        if others:
            self._tell_of_repeating(others, options)

    def _tell_of_repeating(self, others: Sequence[Turn], options: DecodingOptions) -> None:
        """Say with which seed a question is asked again, or that its answer can only be the same."""
        if not self._drawing.is_greedy(options):
            if options.sampling is not None and options.sampling.seed is not None:
                self.view.hint(f"Asked again with seed {options.sampling.seed}.")
        elif any(turn.ending == "eos" and turn.model == self._loads.kept for turn in others):
            self.view.notice(SAME_TEXT)

    def close(self) -> None:
        """The chat ends: what came of a running reply is kept, and a question without any stays unanswered."""
        if self.phase is Phase.REPLYING and self._answering.reply.text:
            self.conversation.break_off("", lambda: None)
        self._keeper.close()

    def tick(self) -> None:
        """Once a second: what came of a running reply goes to the disk, and what could not be written before."""
        if self.phase is Phase.REPLYING or self._keeper.store.unsaved:
            self.conversation.save()

    # --- sampling ----------------------------------------------------------------------------------------------

    def _wished(self) -> DecodingOptions:
        return self._drawing.wished(self.options)

    def _learn_sampling(self, statistics: Statistics) -> None:
        if self._drawing.learn(statistics):
            self.view.sampling_changed()
