"""A model's reply: tinted text, thoughts, rendered Markdown."""
