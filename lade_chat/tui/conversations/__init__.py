"""Conversations: list, navigation and storage from the screen."""
