"""Examples of the library at work."""
