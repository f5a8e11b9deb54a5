"""Two methods run against each other on one model."""
