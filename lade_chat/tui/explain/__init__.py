"""The method explained on the screen: three short walks over steps that the model has just taken."""
