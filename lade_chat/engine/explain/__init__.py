"""The tutorial over real steps of the model, and over a race that was run."""
