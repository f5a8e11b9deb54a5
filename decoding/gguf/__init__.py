"""GGUF files, the format of llama.cpp: header, tensors, tokenizer, and the model that they make up."""
