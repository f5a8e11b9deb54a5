"""The chat screen, its controller and its commands."""
