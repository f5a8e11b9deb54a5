"""Steps of static shape for torch.compile and CUDA graphs."""
