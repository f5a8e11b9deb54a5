/* The attention of some heads, compiled beside kernels.c. */
#define OF_ATTENTION
#include "attention.h"
