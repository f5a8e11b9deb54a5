"""The terminal screen: it draws what the engine tells, and knows nothing of how a model is run."""
