"""Native: kernels in C for a few rows, compiled for this processor where a C compiler is installed."""
