"""What a user has settled once for all: a file, the environment over it, flags over both."""
