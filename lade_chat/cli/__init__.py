"""The command line: flags, and what runs without a screen."""
