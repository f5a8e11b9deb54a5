"""A `custom_generate` folder: who has it decodes by lookahead, without importing anything.

>>> model.generate(**inputs, custom_generate="path/to/custom_generate_folder", trust_remote_code=True)

The path may be an id of the Hugging Face Hub, where this folder stands beside a model's files or alone. transformers
runs the folder's code, which is why it asks for `trust_remote_code`, and takes the function `generate` from this file.
"""

from decoding import generate

__all__ = ["generate"]
