"""Decisions: functions that change the chat's state, and ask for effects, on a user's wish or an event."""
