"""The chat in a browser: textual-serve shows it, and the tabs share one engine."""
