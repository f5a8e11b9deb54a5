"""The Textual application: start-up, settings, keys, command palette."""
