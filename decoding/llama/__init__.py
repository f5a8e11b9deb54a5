"""Llama-like models, whose steps run in C: see :mod:`decoding.native`."""
