"""The decoding methods that the benchmark measures."""
