"""Costs of steps with a model on this machine: probed by `planning/cost_probe.py`, then learnt from live steps."""
