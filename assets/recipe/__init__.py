"""The recipe of the bundled model: a corpus that composes itself, a tokenizer, a trainer, an examiner.

Imports go one way: words and draw, the skills room by room, corpus, tokenizer, training, evaluation, the command line.
"""
