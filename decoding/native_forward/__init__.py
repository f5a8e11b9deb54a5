"""Native forward: the forward pass of a model whose steps run in C, by the kernels of :mod:`decoding.native`."""
