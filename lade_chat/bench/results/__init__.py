"""Benchmark results: values and summary statistics."""
