"""Sources of candidates, the tree that they merge into, and estimates of acceptance."""
