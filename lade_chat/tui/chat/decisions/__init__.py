"""Decisions: pure functions from the state and an intent or event to the next state and its effects."""
