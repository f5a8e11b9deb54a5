"""Storage of conversations in an SQLite file."""
