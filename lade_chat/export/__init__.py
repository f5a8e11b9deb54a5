"""Pictures to keep: a reply or a race as HTML, SVG, asciinema cast, GIF or PNG. No screen and no model here."""
