"""Chains: lookahead for models with a recurrent state, one chain of candidates a step."""
