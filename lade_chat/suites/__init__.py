"""Prompts in suites: those that come along, and readers of those that people have."""
