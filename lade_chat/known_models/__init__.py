"""Models that can be opened: those at hand, those on the hub, and what a typed name asks for."""
