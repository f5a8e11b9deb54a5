"""What ships beside the code: the bundled model, and the recipe that made it."""
