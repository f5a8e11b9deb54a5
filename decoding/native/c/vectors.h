/* Vectors of float32, as wide as the processor has them. */
#pragma once

#include "types.h"

#ifdef __AVX512F__
#define LANES 16
#define ROWS_AT_ONCE 8 /* by two outputs: as many sums as fit into registers */
#else
#define LANES 8
#define ROWS_AT_ONCE 4
#endif
#define MAX_VECTORS (256 / LANES) /* of a head */
#define SMALL 16384 /* elements not worth a second thread */
#define ALIGNED __attribute__((aligned(4 * LANES)))
#define CONST(...) {__VA_ARGS__}
typedef float vector __attribute__((vector_size(4 * LANES)));
typedef float unaligned_vector __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef bfloat16 halves __attribute__((vector_size(2 * LANES), aligned(2)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

inlined vector loaded(const void *from, long at, enum dtype dtype) {
    if (dtype == FLOAT32) return *(const unaligned_vector *)((const float *)from + at);
    return (vector)(__builtin_convertvector(*(const halves *)((const bfloat16 *)from + at), words) << 16);
}

/* The sum of the lanes: halves are added until two lanes are left. */
inlined float sum_of(vector of) {
#if LANES == 16
    of += __builtin_shuffle(of, (integers){8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
    of += __builtin_shuffle(of, (integers){4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
    of += __builtin_shuffle(of, (integers){2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13});
#else
    of += __builtin_shuffle(of, (integers){4, 5, 6, 7, 0, 1, 2, 3});
    of += __builtin_shuffle(of, (integers){2, 3, 0, 1, 6, 7, 4, 5});
#endif
    return of[0] + of[1];
}

inlined vector choose(integers where, vector that, vector other) {
    return (vector)((where & (integers)that) | (~where & (integers)other));
}

/* eˣ for x ≤ 0, to about two units in the last place: 2ⁿ · e^r with r within ± ln 2 / 2. */
inlined vector exponential(vector x) {
    x = choose(x < -87.0f, (vector){0} - 87.0f, x);
    const vector n = __builtin_convertvector(__builtin_convertvector(x * 1.44269504f - 0.5f, integers), vector);
    const vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vector sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * r + 8.3334519073e-3f;
    sum = sum * r + 4.1665795894e-2f;
    sum = sum * r + 1.6666665459e-1f;
    sum = sum * r + 5.0000001201e-1f;
    sum = sum * r * r + r + 1.0f;
    return (vector)((integers)sum + (__builtin_convertvector(n, integers) << 23));
}

inlined void widen(const void *rows, float *wide, long count, enum dtype dtype) {
    for (long at = 0; at < count; at += LANES) *(vector *)(wide + at) = loaded(rows, at, dtype);
}

inlined vector partial_products(const float *left, const float *right, long D) {
    vector sum = *(const vector *)left * *(const vector *)right;
    for (long d = LANES; d < D; d += LANES) sum += *(const vector *)(left + d) * *(const vector *)(right + d);
    return sum;
}

/* The sums over the lanes of as many vectors, each added up as sum_of does. */
inlined vector sums_of(vector *of) {
#define HALVE(count, low, high)                                                                                      \
    for (int i = 0; i < count; i++)                                                                                  \
        of[i] = __builtin_shuffle(of[i], of[i + count], (integers)low) +                                             \
                __builtin_shuffle(of[i], of[i + count], (integers)high);
#if LANES == 16
    HALVE(8, CONST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
          CONST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    HALVE(4, CONST(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
          CONST(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
    HALVE(2, CONST(0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29),
          CONST(2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31))
    HALVE(1, CONST(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
          CONST(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31))
    return __builtin_shuffle(of[0], (integers)CONST(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15));
#else
    HALVE(4, CONST(0, 1, 2, 3, 8, 9, 10, 11), CONST(4, 5, 6, 7, 12, 13, 14, 15))
    HALVE(2, CONST(0, 1, 4, 5, 8, 9, 12, 13), CONST(2, 3, 6, 7, 10, 11, 14, 15))
    HALVE(1, CONST(0, 2, 4, 6, 8, 10, 12, 14), CONST(1, 3, 5, 7, 9, 11, 13, 15))
    return __builtin_shuffle(of[0], (integers)CONST(0, 4, 2, 6, 1, 5, 3, 7));
#endif
#undef HALVE
}
