"""The user's own text: copied, cut, edited, put in another case, looked at letter by letter."""
