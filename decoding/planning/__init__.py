"""What a step verifies: measured step cost, candidate budget and window size."""
