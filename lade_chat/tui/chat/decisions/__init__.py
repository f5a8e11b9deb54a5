"""Decisions: what may be wanted, and what the store and the engine tell; each changes the state, and has effects."""
