"""Films of a screen, as animated GIFs."""
