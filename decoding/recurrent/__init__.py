"""Models with a recurrent state, in transformers: decoded plainly, or with one chain of candidates a step."""
