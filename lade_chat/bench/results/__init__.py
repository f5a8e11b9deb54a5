"""Benchmark results: values, summary statistics, tables and JSON."""
