"""Key order: keys take effect in the order in which they were pressed, however fast they arrive.

Textual 8.2 puts a key into the queue of the focused widget. A letter is inserted there at once, while a key that is
bound goes up through the queue of every ancestor first and acts when it has come to the application; and one that is
bound with priority acts in the application at once, before letters that still wait in the widget's queue. So of
``abc``, Backspace and ``d`` in one read of the terminal, ``d`` comes before Backspace. A screen that a key opens does
not get the keys behind it either: it has no focused widget yet. Nor do keys that are typed before the first frame
find one, and a key that is held goes on repeating on the screen below the one that it closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.screen import Screen
from textual.widgets import TextArea

LAPS, MAX_LAPS = 3, 8
"""Number of marker passes after a key: one behind the key event, one behind the messages that it posted, and one behind
the callbacks that those deferred."""
PATIENCE_SECONDS = 2.0
"""Timeout after which the next key is dispatched in any case, so that a hanging widget cannot block Ctrl+Q."""

REPEAT_SECONDS = 0.6
"""Maximum time between repeats of a held key; the first repeat usually comes after half a second."""

MANY_LETTERS = 16
"""Number of consecutive queued letters that are inserted at once: each alone takes milliseconds, and a terminal without
bracketed paste sends thousands."""


class KeyOrder:
    """Dispatches one key or paste at a time: the next only once all messages caused by the previous one are handled.

    To find out, a marker is sent along the key's path, from the focused widget through its ancestors' message queues
    to the application. The queues are FIFO, so when it arrives, all messages queued before it have been handled.
    """

    def __init__(self, app: App[None], hand_out: Callable[[Event], Awaitable[None]]) -> None:
        """``hand_out`` passes a key to its handler; called in the application's own message loop."""
        self._app = app
        self._hand_out = hand_out
        self._waiting: deque[Event] = deque()
        self._number = 0
        """Of the key that is under way, so that a marker that comes too late is not taken for its own."""
        self._patience: asyncio.TimerHandle | None = None
        """Set while a key is under way."""
        self._begun = False
        self._latest: Event | None = None
        """The one that was handed out last."""
        self._held: tuple[str, float] | None = None
        """The key whose repeats are dropped, and the time of the last of them."""

    @property
    def is_idle(self) -> bool:
        """True once every key has taken effect."""
        return self._patience is None

    def begin(self) -> None:
        """Hand out keys, first those typed so far, once the first screen has focused its input."""
        self._pass(self._app.screen, self._begin)

    async def _begin(self) -> None:
        self._begun = True
        await self._next(self._number)

    def drop_repeats(self) -> None:
        """Drop further presses of the key that is being handled, until it is let go or another one is pressed."""
        if isinstance(self._latest, Key):
            self._held = self._latest.key, self._latest.time

    def _is_repeat(self, event: Event) -> bool:
        held, self._held = self._held, None
        if held is None or not isinstance(event, Key) or event.key != held[0]:
            return False
        if event.time - held[1] >= REPEAT_SECONDS:
            return False
        self._held = event.key, event.time
        return True

    async def take(self, event: Key | Paste) -> None:
        """Have the key handled after all that were taken before."""
        self._waiting.append(event)
        if self.is_idle and self._begun:
            await self._next(self._number)

    async def _next(self, number: int) -> None:
        if number != self._number:
            return
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        while self._waiting and self._is_repeat(self._waiting[0]):
            self._waiting.popleft()
        if not self._waiting:
            return
        event = self._latest = self._many_letters() or self._waiting.popleft()
        self._number += 1
        again = partial(self._app.call_later, self._next, self._number)
        self._patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, again)
        start = self._focused
        await self._hand_out(event)
        self._lap(start if event.is_forwarded else self._focused, 1, self._app.screen)

    def _many_letters(self) -> Paste | None:
        """Take the letters that wait for an editor before any other key; None if there are but few."""
        editor = self._app.focused
        if len(self._waiting) < MANY_LETTERS or not isinstance(editor, TextArea):
            return None
        letters = []
        for event in self._waiting:
            if not isinstance(event, Key) or not event.is_printable or event.key.startswith("alt+"):
                break
            if not editor.check_consume_key(event.key, event.character):
                break
            letters.append(event.character or "")
        if len(letters) < MANY_LETTERS:
            return None
        for _ in letters:
            self._waiting.popleft()
        return Paste("".join(letters))

    @property
    def _focused(self) -> DOMNode:
        return self._app.focused or self._app.screen

    def _lap(self, start: DOMNode, lap: int, screen: Screen[object]) -> None:
        self._pass(start, partial(self._came_round, self._number, lap, screen))

    def _pass(self, node: DOMNode | None, then: Callable[[], Awaitable[None]]) -> None:
        """Call ``then`` from the application's queue, after a wait in that of ``node`` and of each of its ancestors."""
        while node is not None and node is not self._app:
            # One that is closing takes nothing more.
            if node.call_later(self._pass, node.parent, then):
                return
            node = node.parent
        self._app.call_later(then)

    async def _came_round(self, number: int, lap: int, before: Screen[object]) -> None:
        if number != self._number:
            return
        screen = self._app.screen
        # A screen that has come up, or back, gets time to focus its input.
        if lap < LAPS or (screen is not before and lap < MAX_LAPS):
            self._lap(self._focused, lap + 1, screen)
        elif self._waiting and self._app.focused is not None and not self._app.focused.size:
            # A list that has just come up cannot tell its lines before it is laid out.
            screen.call_after_refresh(self._app.call_later, self._next, number)
        else:
            await self._next(number)


class OrderedApp(App[None]):
    """An application whose keys and pastes act in order."""

    def __init__(self) -> None:
        super().__init__()
        self.key_order = KeyOrder(self, self.hand_out)

    def on_mount(self) -> None:
        self.call_after_refresh(self.key_order.begin)

    async def hand_out(self, event: Event) -> None:
        """Pass a key or paste, whose turn has come, to its handler."""
        await super().on_event(event)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | Paste) and not self.screen_stack:
            return  # the application is ending
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            await self.key_order.take(event)
        else:
            await super().on_event(event)
