"""The debug panel: the details of a decoding step."""
