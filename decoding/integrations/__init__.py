"""Lookahead decoding through transformers' `generate`, streamers included."""
