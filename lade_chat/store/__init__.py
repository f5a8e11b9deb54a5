"""Conversations on disk: every turn with its colours and figures, found again by search. No model and no screen here."""
