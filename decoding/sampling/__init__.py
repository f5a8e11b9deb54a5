"""Choosing tokens from logits: greedy, logits processors, seeded Gumbel noise."""
