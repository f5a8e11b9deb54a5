"""The text of a reply: where it ends, and its thought."""
