"""The method explained on the screen, on steps that the model has just taken."""
