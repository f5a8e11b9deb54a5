"""Settings: a file, overridden by the environment, overridden by flags."""
