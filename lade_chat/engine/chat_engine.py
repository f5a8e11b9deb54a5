"""ChatEngine: runs jobs on one loaded model, and keeps its decoding session between turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from time import monotonic
from typing import TypeAlias

import msgspec

from decoding import Decoder, Session
from decoding.model.capabilities import vocabulary_size
from decoding.parallel import RankLostError
from lade_chat.engine.comparison.fair_comparison import check, compare
from lade_chat.engine.comparison.history import ComparisonRecord, SessionHistory
from lade_chat.engine.comparison.ties import first_difference
from lade_chat.engine.decoder_factory import reply_decoder
from lade_chat.engine.earlier_replies import encode_successors, learnt_in, without_answers
from lade_chat.engine.inspector import rank_tokens
from lade_chat.engine.job import Job, load_in_thread
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.ranks.group import RankGroup, load_on_all
from lade_chat.engine.reply import ReplyRun
from lade_chat.engine.sampling import with_seed
from lade_chat.engine.text.continued_reply import reply_prompt
from lade_chat.engine.tutorial import MAX_NEW_TOKENS, explain, explain_comparison
from lade_chat.errors import LadeChatError, check_window, is_out_of_memory, one_line
from lade_chat.loading.checkpoint_config import origin_of_nan
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.saved_step_cost import check_step_cost, keep_step_cost, save_step_cost, step_cost
from lade_chat.loading.weights import WeightCopies
from lade_chat.protocol.commands import Compare, Explain, Load, Prefill, RankTokens, Remember, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, ReplyFinished, ReplyStarted, TokensRanked
from lade_chat.protocol.values import DecodingOptions, EarlierReply, Message, ModelOptions, Sizes, Statistics

CHECK_SECONDS = 30.0
"""Minimum time between two checks of the step cost; replies of fewer than ``LONG_REPLY`` tokens trigger none."""
LONG_REPLY = 24
REMEMBER_SECONDS = 30.0
"""Minimum time between two writes of the refined step cost to disk."""
AHEAD_TOKENS = 32
"""Tokens read ahead in one forward pass, which takes about as long as a step and cannot be interrupted."""
TYPED_NEXT = (".", " a")
"""Two possible continuations of a draft. Only the ids that both encodings share are stable under further typing."""

Cached: TypeAlias = tuple[Session, SessionHistory]
"""The state of one conversation that is kept between turns."""


class ChatEngine:
    """One model, one job at a time; without a model there is no ``session``, the state of the open conversation."""

    def __init__(self) -> None:
        self.loaded: LoadedModel | None = None
        self.session: Session | None = None
        self._history = SessionHistory()
        self._comparison: ComparisonRecord | None = None
        """Of the last race, with the model that is loaded."""
        self._earlier: tuple[EarlierReply, ...] = ()
        """Replies of earlier conversations, of the model that is loaded."""
        self._checked = self._saved = -math.inf
        self._ranks = RankGroup()
        self._decoder: Callable[[Sizes | None, bool], Decoder] | None = None
        """Returns the decoder of a reply, made once: making one looks at the model."""
        self._copies: WeightCopies | None = None
        """Of the model that is loaded; None if its weights stay where they are."""

    def exchange(self, cached: Cached | None) -> Cached | None:
        """Continue, between jobs, with another state of this model (None: an empty one); returns the previous one."""
        if self.session is None:
            return None
        present = (self.session, self._history)
        self.session, self._history = cached or self._fresh(self._earlier)
        return present

    def handle(self, job: Job) -> Iterator[Event]:
        """Carry out a job; an error ends it with an event of one line."""
        try:
            match job.command:
                case Load(options):
                    yield from self._load(options, job)
                case Reply() as command:
                    yield from self._reply(with_seed(command), job)
                case Compare() as command:
                    yield from self._compare(with_seed(command), job)
                case Explain() as command:
                    yield from self._explain(command, job)
                case Remember() as command:
                    self._remember(command)
                case Prefill() as command:
                    self._prefill(command, job)
                case RankTokens() as command:
                    loaded, session, prompt = self._prepare(command)
                    yield TokensRanked(command.place, rank_tokens(loaded, session, prompt.ids, command.own))
        except (FloatingPointError, LadeChatError, MemoryError, RuntimeError) as error:
            if isinstance(job.command, Load):
                raise
            yield self._failed(error)

    def _failed(self, error: Exception) -> Failed:
        """Return an error as an event of one line; raise it unless a user can do something about it."""
        if isinstance(error, RankLostError):
            if self.loaded is not None:
                self._decoder = cache(partial(reply_decoder, self.loaded))
            return Failed(f"{error}{_remaining_ranks(self.loaded)}")
        if isinstance(error, FloatingPointError) and self.loaded is not None:
            return Failed(f"The model computes NaN: {origin_of_nan(self.loaded.model)}")
        if isinstance(error, LadeChatError) or is_out_of_memory(error):
            return Failed(one_line(error))
        raise error

    def _fresh(self, earlier: Sequence[EarlierReply]) -> Cached:
        """Return a new session whose draft tables have learnt only these replies."""
        assert self.session is not None
        session = Session(self.session.model, compiled=self.session.compiled)
        session.remember(*learnt_in(earlier, vocabulary_size(session.model)))
        return session, SessionHistory()

    def _remember(self, command: Remember) -> None:
        if self.loaded is None or self.session is None or self.loaded.info.fingerprint != command.fingerprint:
            return
        # A file that others wrote may hold anything.
        size = vocabulary_size(self.session.model)
        self._earlier = tuple(
            each for each in command.replies if each.ids and 0 <= min(each.ids) <= max(each.ids) < size
        )
        if command.forget:
            self.session, self._history = self._fresh(self._earlier)
        else:
            texts, successors = learnt_in(self._earlier, size)
            self.session.remember(texts, successors)
            self._history.remember(texts, successors)

    def _prefill(self, command: Prefill, job: Job) -> None:
        """Prefill the beginning of a prompt that is being typed, in small chunks until stopped; nobody asked for it.

        Chunked prefill gives the states of one forward pass but for rounding; models that need a single pass are
        skipped.
        """
        *before, last = command.messages
        with suppress(LadeChatError, MemoryError, FloatingPointError, RuntimeError):  # a full GPU is a RuntimeError
            (_, session, one), (_, _, other) = (
                self._prepare(Reply((*before, Message(last.role, last.content + more)), command.options))
                for more in TYPED_NEXT
            )
            ids = list(one.ids[: first_difference(one.ids, other.ids)])
            capabilities = session.capabilities
            if not capabilities.rewindable or capabilities.one_prefill or session.reusable(ids) >= len(ids) - 1:
                return
            session.sync(ids)
            while not job.stopped and (left := len(ids) - 1 - session.cached) > 0:
                session.read(min(AHEAD_TOKENS, left))

    def _load(self, options: ModelOptions, job: Job) -> Iterator[Event]:
        """Load a model in place of the present one.

        Two models may not fit in memory, so the old one is dropped; but not before the new one's weights are about to
        be read, so that a bad path or Hub id costs nothing.
        """
        result = yield from load_in_thread(
            job, lambda report: load_on_all(options, report, self._ranks), self._forget_model
        )
        if isinstance(result, LoadedModel):
            self._forget_model()
            self.loaded, self.session = result, Session(result.model, compiled=result.info.compiled)
            self._decoder = cache(partial(reply_decoder, result))
            self._ranks.use_threads()
            # Several processes map the files together; what is quantised or unpacked is read but once.
            if options.processes == 1 and not options.quantize and not result.info.tensor_types:
                self._copies = WeightCopies(result.model)
            yield Loaded(result.info)
        elif isinstance(result, LadeChatError):
            yield LoadFailed(str(result), kept=self.loaded is not None)
        else:
            self._forget_model()
            raise result

    def _forget_model(self) -> None:
        self._save_step_cost(after=0.0)
        if self._copies is not None:
            self._copies.cancel()
        self.loaded = self.session = self._comparison = self._copies = self._decoder = None
        self._history, self._earlier = SessionHistory(), ()

    def _reply(self, command: Reply, job: Job) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        reusable = session.reusable(prompt.ids)
        yield ReplyStarted(len(prompt.ids), reusable, prompt.dropped_messages)
        run = ReplyRun(loaded, session, prompt, command.options, job)
        yield from run.prefill()
        self._history.record(prompt.ids, session.tables, reusable)
        successors = session.tables.successors
        updates = successors.updates
        if session.unread == 1:  # else the first step is plain: it needs no cost, and its token must not wait for one
            _know_step_cost(loaded, command.options, job)
        assert self._decoder is not None
        for event in run.decode(partial(self._decoder, command.options.sizes)):
            if isinstance(event, ReplyFinished):
                yield msgspec.structs.replace(event, successors=encode_successors(successors.learnt_since(updates)))
                self._check_step_cost(event.statistics)
                if self._copies is not None:
                    self._copies.begin()
                continue
            if event is not None:
                yield event
            _know_step_cost(loaded, command.options, job)
        self._save_step_cost(after=REMEMBER_SECONDS)

    def _check_step_cost(self, reply: Statistics) -> None:
        """Check the step cost after a reply in which no candidate paid: the machine may have been busy at start-up.

        Such a cost would never be corrected, since only steps over several tokens refine it. Nobody waits for this.
        """
        guessed = reply.verified_tokens or reply.generated_tokens < LONG_REPLY or reply.sizes is not None
        if self.loaded is not None and reply.lookahead and not guessed and monotonic() - self._checked >= CHECK_SECONDS:
            check_step_cost(self.loaded)
            self._checked = monotonic()

    def _save_step_cost(self, after: float) -> None:
        """Save the step cost, unless it was saved less than ``after`` seconds ago."""
        if self.loaded is not None and monotonic() - self._saved >= after:
            save_step_cost(self.loaded)
            self._saved = monotonic()

    def _compare(self, command: Compare, job: Job) -> Iterator[Event]:
        loaded, session, prompt = self._prepare(command)
        check(command, loaded)
        yield ReplyStarted(len(prompt.ids), session.reusable(prompt.ids), prompt.dropped_messages)
        earlier = without_answers(self._earlier, command.messages[-1].content)
        if command.fresh:
            start = Session(session.model, compiled=session.compiled)
        else:
            # An earlier conversation may have seen the answer, and then the present session has.
            present = self._history.start(prompt.ids, session) if earlier == self._earlier else None
            start = present or self._fresh(earlier)[0]
        self._comparison = ComparisonRecord(command.messages, prompt)
        if step_cost(loaded) is None and loaded.info.lookahead_supported and command.options.sizes is None:
            keep_step_cost(loaded)  # outside both clocks
        yield from compare(loaded, start, self._comparison, command, job)

    def _explain(self, command: Explain, job: Job) -> Iterator[Event]:
        if command.raced:
            race = self._comparison
            if self.loaded is None or race is None or race.messages != command.messages:
                raise LadeChatError("The steps of this race are not kept any more: race again.")
            yield from explain_comparison(self.loaded, race)
            return
        options = DecodingOptions(max_new_tokens=MAX_NEW_TOKENS)
        loaded, _, prompt = self._prepare(Reply(command.messages, options))
        yield from explain(loaded, command.messages[-1].content, prompt, lambda: job.stopped)

    def _prepare(self, command: Reply | Compare | RankTokens) -> tuple[LoadedModel, Session, Prompt]:
        if self.loaded is None or self.session is None:
            raise LadeChatError("no model is loaded yet")
        if self._copies is not None:
            self._copies.settle()
        options, sizes = command.options, command.options.sizes
        if sizes is not None:
            check_window(sizes.window_size, sizes.ngram_size, self.loaded.info.context_window)
        written = () if isinstance(command, Compare) else command.written
        return self.loaded, self.session, reply_prompt(self.loaded, command.messages, options, written)


def _know_step_cost(loaded: LoadedModel, options: DecodingOptions, job: Job) -> None:
    """Measure the cost of steps, outside the reply's clock, if the next step is planned by it."""
    planned = job.lookahead and loaded.info.lookahead_supported and options.sizes is None and loaded.workers is None
    if planned and step_cost(loaded) is None:
        keep_step_cost(loaded)


def _remaining_ranks(loaded: LoadedModel | None) -> str:
    if loaded is not None and loaded.info.tensor_parallel > 1:
        return ", and a part of the model with it: load the model again"
    ranks = 1 if loaded is None or loaded.workers is None else loaded.workers.ranks
    return f": the chat goes on in {'one process' if ranks == 1 else f'{ranks} processes'}"
