"""GGUF files on this machine: where programs keep them, what their names say, and what their headers tell."""
