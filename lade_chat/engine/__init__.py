"""The engine: from a conversation to a stream of events, in this process or in one of its own."""
