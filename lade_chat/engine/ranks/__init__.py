"""An engine spread over several ranks of torch.distributed."""
