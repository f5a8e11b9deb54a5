"""The scrolling transcript of a conversation."""
