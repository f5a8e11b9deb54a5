"""Plain serialisable values exchanged between the engine and its screens."""
