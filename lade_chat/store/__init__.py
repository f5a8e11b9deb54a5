"""Conversations on disk: every turn with its origins and metrics, and search. No model and no screen here."""
