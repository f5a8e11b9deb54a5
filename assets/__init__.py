"""The bundled model, and the recipe that made it."""
