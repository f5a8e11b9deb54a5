"""Flags shared by several commands, and their validation."""
