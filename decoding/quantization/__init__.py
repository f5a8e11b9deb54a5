"""Quantised weights for steps on a CPU."""
