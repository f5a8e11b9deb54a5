"""The race: two methods side by side."""
