"""Measures ways to decode against one another on one model: suites of prompts, fair runs, figures, plots."""
