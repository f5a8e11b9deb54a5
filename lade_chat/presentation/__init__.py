"""Metrics, names and colours shared by the screen, the command line and pictures."""
