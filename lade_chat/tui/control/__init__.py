"""The chat's controller and its parts: what a key or command does to replies, races, models and conversations."""
