"""Films of a screen, as asciinema casts and animated GIFs."""
