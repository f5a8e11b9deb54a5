"""Keys of the chat screen; all of them work while the prompt has the focus."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from lade_chat.tui.terminal.key_names import named

KEYS: list[BindingType] = named(
    [
        Binding("ctrl+l", "toggle_lookahead", "Lookahead", priority=True),
        Binding("ctrl+r", "race", "Race", priority=True),
        Binding("escape", "stop", "Stop", priority=True),
        Binding("f6", "restart", "Restart", priority=True),
        Binding("f1", "help", "Help", priority=True),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+d", "toggle_debug", "Debug", priority=True),
        Binding("f4", "turn_debug_page", "Debug page", priority=True, show=False),
        Binding("ctrl+n", "new_conversation", "New", priority=True),
        Binding("ctrl+t", "list_conversations", "Chats", priority=True),
        Binding("ctrl+o", "open_model", "Model", priority=True),
        Binding("ctrl+g", "edit_outside", "Editor", priority=True, show=False),
        Binding("f9", "pause", "Pause", priority=True, show=False),
        Binding("f10", "step_once", "Step", priority=True, show=False),
        Binding("left_square_bracket", "slower", "Slower", priority=True, show=False),
        Binding("right_square_bracket", "faster", "Faster", priority=True, show=False),
        Binding("f7", "toggle_view", "View", priority=True, show=False),
        Binding("f5", "toggle_thoughts", "Thoughts", priority=True, show=False),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
    ]
)
