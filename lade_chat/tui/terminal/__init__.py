"""Terminal input and output: drivers, paste handling, clipboard."""
