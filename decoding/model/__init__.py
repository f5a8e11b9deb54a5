"""A model as decoding sees it: capabilities, inputs and masks, KV cache, linear layers."""
