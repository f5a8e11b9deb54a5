"""Python on request: small functions, known and composed, programs and classes."""
