"""Conversations as Markdown and JSON Lines documents."""
