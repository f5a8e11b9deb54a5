"""What each intent and event leads to: pure functions of the state."""
