"""Other engines as methods of the benchmark, on the same weights."""
