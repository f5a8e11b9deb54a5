"""Themes, token tints and their legend."""
