"""The recipe of the bundled model: a corpus that composes itself, a tokenizer, a trainer, an examiner.

Imports go one way: draw and words, the skills, corpus, tokenizer, training, evaluation, the command line.
"""
