"""The self-running demo, on the chat's own screen."""
