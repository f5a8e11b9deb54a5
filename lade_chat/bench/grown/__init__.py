"""Grows a checkpoint into the shape of a larger model that computes the same logits."""
