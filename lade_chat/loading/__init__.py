"""From a path or a Hub id to a model that is ready to generate."""
