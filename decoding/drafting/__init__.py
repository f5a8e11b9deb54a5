"""Sources of candidates, and estimates of acceptance."""
