"""Lists: the user's own, those that the model names, and patterns to be gone on with."""
