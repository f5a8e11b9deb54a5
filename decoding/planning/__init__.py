"""The branches of each step: measured step cost, candidate budget and window size."""
