"""Branches: the candidates and the window that a step reads beside the last token, and what is accepted of them."""
