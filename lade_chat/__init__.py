"""A terminal chat with any Hugging Face causal language model, decoded by exact lookahead decoding."""

__version__ = "0.1.0"
