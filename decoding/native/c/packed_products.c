/* The products by packed weights, compiled beside kernels.c. */
#define OF_PACKED_PRODUCTS
#include "packed_tiles.h"
