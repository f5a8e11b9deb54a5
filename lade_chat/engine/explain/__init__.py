"""The tutorial over real steps of the model, and over a comparison that was run."""
