"""Benchmark results: values, summary statistics, tables, JSON and plots."""
