"""Conversations on disk: every turn with its colours and figures, found by search. No model and no screen here."""
