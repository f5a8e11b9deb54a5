"""The model's own words: talk, stories and poems."""
