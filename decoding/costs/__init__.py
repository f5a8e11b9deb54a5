"""Costs of steps with a model on this machine: probed (by the room above, `planning/cost_probe.py`), then learnt from
live steps; and the balance of guessing."""
