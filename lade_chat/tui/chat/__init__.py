"""The chat screen, its views and its commands."""
