"""A conversation in use: a tree of turns in memory, saved to disk as it changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Message, Piece, Statistics
from lade_chat.store import tree
from lade_chat.store.errors import GONE_ON, StoreError
from lade_chat.store.records import Ending, Model, Record, Turn
from lade_chat.store.reply_saver import ReplySaver
from lade_chat.store.search import index_new
from lade_chat.store.sqlite import conversation_rows, successor_rows
from lade_chat.store.sqlite.database import Database, Statement, storable
from lade_chat.store.tree import Snapshot


class Conversation:
    """Made by ``Store.begin`` and ``Store.resume``; nothing is on disk before the first question.

    Verbs change it in memory, then on disk. StoreError means that the second has not happened yet: the conversation
    goes on, and every later save tries again. ``finish`` and ``break_off`` return when the turn is on the disk itself.
    Any method may be called from any thread; verbs wait for one another, and what is only looked up never waits, so a
    screen may ask while a worker saves.
    """

    def __init__(self, database: Database, stored: Snapshot, *, remembers: bool = True) -> None:
        """``remembers``: keep what was learnt in replies, for later ones to be guessed from."""
        self._database, self._remembers = database, remembers
        turns, leaf = tree.without_empty_continuations(stored.turns, stored.about.leaf)
        self._state = Snapshot(msgspec.structs.replace(stored.about, leaf=leaf), turns)
        self._running: ReplySaver | None = None
        self._left: tuple[Turn, ...] = ()
        self._generation, self._lock = database.generation, threading.RLock()

    @property
    def snapshot(self) -> Snapshot:
        """The conversation as it is now."""
        return self._state

    @property
    def about(self) -> Record:
        """The attributes of the conversation as a whole."""
        return self._state.about

    @property
    def id(self) -> str:
        return self.about.id

    @property
    def title(self) -> str:
        """The name that the user gave it, else the first line of the first question; empty before there is one."""
        return self.about.title

    @property
    def path(self) -> tuple[Turn, ...]:
        """The turns that led here, alternatives left out. A running reply's text is not among them yet."""
        return self._state.path

    @property
    def last(self) -> Turn | None:
        """The turn that the next question follows."""
        return self.path[-1] if self.path else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages for the model: system prompt and ``path``."""
        state = self._state
        return tree.messages(state.path, state.about.system)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, alternatives included, oldest first."""
        return tree.in_order(self._state.turns.values())

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def ask(self, question: str, model: Model | None = None) -> None:
        """A new turn after the last one; its reply is now running. Raises StoreError."""
        with self._lock:
            self._replace_left()
            self._begin(question, self.about.leaf, model)

    def enqueue(self, question: str, turn: int) -> None:
        """A new turn after the last one, whose reply begins later (``answer``). Raises StoreError.

        ``turn``: its id, from ``tree.new_turn_id``. A reply that is running goes on meanwhile.
        """
        with self._lock:
            self._replace_left()
            self._add(Turn(turn, self.about.leaf, self._now(), storable(question)))

    def answer(self, turn: int, model: Model | None = None) -> None:
        """Begin the reply of a turn that was waiting. Raises KeyError and StoreError."""
        with self._lock:
            self._break_off_running()
            waiting = msgspec.structs.replace(self._state.turns[turn], model=model or self.about.model)
            self._running = ReplySaver(waiting)
            self._put(waiting, updated=time.time(), model=waiting.model)

    def go_on(self, model: Model | None = None) -> None:
        """Have the last reply continued, after a length stop or a kill. Raises StoreError; without a turn, nothing.

        As soon as that says something, it follows a copy of the reply, which itself stays as an alternative.
        """
        with self._lock:
            self._break_off_running()
            if (last := self.last) is not None and last.reply:
                self._begin(None, last.id, model)
            else:
                self.retry(model)

    def retry(self, model: Model | None = None, turn: int | None = None) -> None:
        """Ask the question of ``turn`` (else of the last one) again, beside it. Raises KeyError and StoreError."""
        with self._lock:
            again = self.last if turn is None else self._state.turns[turn]
            if again is not None:
                self._begin(again.question, again.parent, model)

    def edit(self, turn: int, question: str, model: Model | None = None) -> None:
        """Ask another question in place of that turn's, beside it. Raises KeyError and StoreError."""
        with self._lock:
            self._replace_left()
            self._begin(question, self._state.turns[turn].parent, model)

    def revise(self, turn: int, pieces: Sequence[Piece], ending: Ending, model: Model | None = None) -> None:
        """Put another reply beside that of a turn, which has ended so. Raises KeyError and StoreError."""
        with self._lock:
            self._add(tree.revised(self._state.turns[turn], self._now(), pieces, ending, model or self.about.model))

    def branch(self, turn: int | None) -> None:
        """Have the next question follow this turn, or none at all. Raises KeyError and StoreError."""
        with self._lock:
            self._break_off_running()
            self._change(leaf=None if turn is None else self._state.turns[turn].id)

    def switch(self, turn: int) -> None:
        """Go to the branch of this turn, and there to what was said last. Raises KeyError and StoreError."""
        with self._lock:
            self.branch(tree.newest_leaf(self._state.turns, self._state.turns[turn].id))

    def switch_beside(self, turn: int, direction: int) -> bool:
        """Go to the alternative before (-1) or after (1) that of ``turn`` on the path; False if there is none."""
        with self._lock:
            if (beside := tree.beside(self._state.turns, self.path, turn, direction)) is not None:
                self.switch(beside)
            return beside is not None

    def grow(self, tokens: Tokens) -> None:
        """Append to the running reply; saved every ``SAVE_SECONDS``. Raises StoreError; without a reply, nothing."""
        with self._lock:
            if (running := self._running) is None:
                return
            had_begun, is_due = running.has_begun, running.take(tokens)
            if running.has_begun and not had_begun:
                *copies, running.turn = tree.behind_copy(self._state.turns, running.turn, self._now())
                if copies:
                    self._put(*copies, running.turn)
            if is_due:
                self._save_chunk()

    def finish(self, finished: ReplyFinished, why: str = "") -> None:
        """The running reply ended, ``why`` in one line. Raises StoreError; without a running reply, nothing."""
        self._end(finished.finish_reason, why, finished.statistics, finished.successors if self._remembers else b"")

    def break_off(self, error: str = "") -> None:
        """The running reply ends here: failed, with ``error`` in one line, or else stopped. Raises StoreError."""
        self._end("failed" if error else "cancelled", error, None)

    def withdraw(self, turn: int | None = None, back_to: int | None = None, on_disk: bool = True) -> str | None:
        """Take back a question whose reply is running, or never came; returns it. Raises StoreError.

        An answered turn, and one that answered ones follow, stays: then None is returned. ``turn`` None is the one
        whose reply is running, else the last. What waits behind it, and the next question, then follow ``back_to``,
        by default its parent. ``on_disk`` False leaves it on the disk until another is asked in its place.
        """
        with self._lock:
            running = self._running.turn if self._running is not None else None
            gone = (running or self.last) if turn is None else self._state.turns.get(turn)
            if gone is None or not tree.is_unanswered(self._state.turns, gone):
                return None
            if running is not None and running.id == gone.id:
                self._running = None
            before = gone.parent if back_to is None else back_to
            turns, followers = tree.without(self._state.turns, gone, before)
            leaf, opening = before if self.about.leaf == gone.id else self.about.leaf, tree.opening_of(turns)
            self._state = Snapshot(msgspec.structs.replace(self.about, leaf=leaf, opening=opening), turns)
            statements = [statement for each in followers for statement in conversation_rows.put_turn(self.id, each)]
            if on_disk:
                about = conversation_rows.change(self.id, leaf=leaf, opening=opening)
                statements = [conversation_rows.remove_turn(gone.id), *statements, about]
                statements.append(conversation_rows.remove_if_empty(self.id))
            else:
                self._left = (gone,)
            self._write(statements, turn=gone.id, withdraws=on_disk)
            return gone.question

    def save(self) -> None:
        """Save what is not saved; every ``SAVE_SECONDS`` while a reply runs, for its last words. Raises StoreError."""
        with self._lock:
            self._save_chunk()
            self._database.save()

    def rename(self, title: str) -> None:
        """Give it a title; a blank one brings the first question back. Raises StoreError."""
        with self._lock:
            self._change(name=" ".join(title.split()) or None)

    def instruct(self, system: str | None) -> None:
        """Change the system prompt from here on. Raises StoreError."""
        with self._lock:
            self._change(system=storable(system or "") or None)

    def _begin(self, question: str | None, parent: int | None, model: Model | None) -> None:
        self._break_off_running()
        question = None if question is None else storable(question)
        turn = Turn(tree.new_turn_id(), parent, self._now(), question, model or self.about.model)
        self._running = ReplySaver(turn)
        self._add(turn)

    def _now(self) -> float:
        """The time for a new turn: later than every turn's, although the clock may have been set back."""
        return max([time.time(), *(each.created + 1e-6 for each in self._state.turns.values())])

    def _add(self, turn: Turn) -> None:
        """Keep a new turn, which the next one follows."""
        opening, model = self.about.opening or tree.opening(turn.question or ""), turn.model or self.about.model
        with suppress(StoreError):
            known = {None, *self._state.turns, *(each.id for each in self._left)}
            if self._database.run(lambda each: conversation_rows.has_more(each, self.about, known)):
                self._database.notices += (GONE_ON,)
        self._put(turn, updated=turn.created, opening=opening, model=model, leaf=turn.id, deleted=None)

    def _end(self, ending: Ending, error: str, statistics: Statistics | None, successors: bytes = b"") -> None:
        with self._lock:
            running, self._running = self._running, None
            if running is None:
                return
            self._put(running.ended(ending, error, statistics), updated=time.time(), flush=True)
            with suppress(StoreError):  # all that matters is saved
                self._database.run(index_new)
                if successors:
                    self._database.run(lambda connection: successor_rows.put(connection, running.turn.id, successors))

    def _break_off_running(self) -> None:
        """End a reply that is still running, since something new is asked."""
        with suppress(StoreError):  # it stays in the queue; the next save reports the problem
            self.break_off()

    def _replace_left(self) -> None:
        """Remove from the disk what was taken back in memory alone: another question is asked in its place."""
        left, self._left = self._left, ()
        with suppress(StoreError):  # it stays in the queue; the next save reports the problem
            for turn in left:
                self._write([conversation_rows.remove_turn(turn.id)], turn=turn.id, withdraws=True)

    def _change(self, **values: str | int | None) -> None:
        """Change the record, on disk too once a question was asked."""
        self._state = self._state._replace(about=msgspec.structs.replace(self.about, **values))
        if self._state.turns or self._left:
            self._write([conversation_rows.change(self.id, **values)])

    def _save_chunk(self) -> None:
        if self._running is not None and self._running.save(self._database):
            self._rewrite_if_lost()

    def _put(self, *turns: Turn, updated: float = 0.0, flush: bool = False, **about: object) -> None:
        """Keep turns, parents first, and attributes of the conversation that change with them."""
        about["updated"] = max(updated, self.about.updated)  # as on disk: a clock may have been set back
        together = {**self._state.turns, **{turn.id: turn for turn in turns}}
        self._state = Snapshot(msgspec.structs.replace(self.about, **about), together)
        written = (each for turn in turns for each in conversation_rows.put_turn(self.id, turn))
        only = turns[0].id if len(turns) == 1 else None
        record = conversation_rows.put_record(self.about, revive="deleted" in about)
        self._write([record, *written], flush=flush, turn=only)

    def _write(
        self, statements: Sequence[Statement], *, flush: bool = False, turn: int | None = None, withdraws: bool = False
    ) -> None:
        self._database.write(statements, flush=flush, turn=turn, withdraws=withdraws)
        self._rewrite_if_lost()

    def _rewrite_if_lost(self) -> None:
        """A file that was set aside or taken away held earlier turns: write all of them into the new one."""
        if self._generation == self._database.generation:
            return
        self._generation = self._database.generation
        self._database.write(conversation_rows.put(self.about, (*self.turns, *self._left)))
        if self._running is not None:
            self._running.mark_lost()
            self._save_chunk()
