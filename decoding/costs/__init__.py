"""Costs of steps with a model on this machine: probed, then learnt from live steps; and the balance of guessing."""
