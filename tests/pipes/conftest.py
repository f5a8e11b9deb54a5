"""Fixtures for the tests of pipes and batches: an engine that answers in capitals, and folders of their own."""

from tests.echoing import data, engine  # noqa: F401
