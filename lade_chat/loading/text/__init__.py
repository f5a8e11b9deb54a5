"""A model's text: its tokenizer, its chat template and the marks of its thoughts."""
