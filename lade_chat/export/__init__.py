"""Pictures of a reply or a race: HTML, SVG, asciinema cast, GIF and PNG. No screen and no model here."""
