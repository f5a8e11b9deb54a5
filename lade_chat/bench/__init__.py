"""Compares decoding methods on one model: prompt suites, fair runs, metrics."""
