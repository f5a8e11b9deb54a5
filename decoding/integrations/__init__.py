"""Lookahead decoding through other interfaces: transformers' generate, streamers."""
