/* The lanes of vectors: combined with one another, and exchanged between vectors. */
#pragma once

#include "vectors.h"

/* Combine the lanes: halves with one another, until two lanes are left. */
#if LANES == 16
#define FOLD_LANES(of, combine)                                                          \
    of = combine(shuffled(of, of, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7), of); \
    of = combine(shuffled(of, of, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11), of); \
    of = combine(shuffled(of, of, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13), of);
#else
#define FOLD_LANES(of, combine)                              \
    of = combine(shuffled(of, of, 4, 5, 6, 7, 0, 1, 2, 3), of); \
    of = combine(shuffled(of, of, 2, 3, 0, 1, 6, 7, 4, 5), of);
#endif

inlined vector sum(vector one, vector other) { return one + other; }

inlined float sum_of(vector of) {
    FOLD_LANES(of, sum)
    return of[0] + of[1];
}

inlined float largest_lane(vector of) {
    FOLD_LANES(of, larger)
    return of[0] > of[1] ? of[0] : of[1];
}

/* Of two vectors in turn: half of the blocks of so many lanes, the first, third … of each, and the other half. */
#if LANES == 16
#define LOW_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define LOW_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#else
#define LOW_4 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define LOW_2 0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_1 0, 8, 2, 10, 4, 12, 6, 14
#define HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
#endif

/* A square of as many vectors as they have lanes, with rows and columns exchanged: blocks of half the size first. */
inlined void transpose(vector *rows) {
#define EXCHANGE(by)                                                            \
    UNROLL(16)                                                                  \
    for (int i = 0; i < LANES; i++)                                             \
        if (!(i & by)) {                                                        \
            const vector upper = rows[i], lower = rows[i + by];                 \
            rows[i] = shuffled(upper, lower, LOW_##by);                         \
            rows[i + by] = shuffled(upper, lower, HIGH_##by);                   \
        }
#if LANES == 16
    EXCHANGE(8)
#endif
    EXCHANGE(4)
    EXCHANGE(2)
    EXCHANGE(1)
#undef EXCHANGE
}

/* One vector of as many as they have lanes: in lane i what `combine` makes of the lanes of the i-th, halves first. */
#define COMBINE_HALVES(each, by, combine)                                       \
    UNROLL(8)                                                                   \
    for (int i = 0; i < by; i++)                                                \
        each[i] = combine(shuffled(each[i], each[i + by], LOW_##by), shuffled(each[i], each[i + by], HIGH_##by));
#if LANES == 16
#define COMBINE_16(each, combine) COMBINE_HALVES(each, 8, combine)
#else
#define COMBINE_16(each, combine)
#endif
#define COMBINED_LANES(each, combine)                                           \
    COMBINE_16(each, combine)                                                   \
    COMBINE_HALVES(each, 4, combine)                                            \
    COMBINE_HALVES(each, 2, combine)                                            \
    COMBINE_HALVES(each, 1, combine)                                            \
    return each[0];

/* The larger of each two by their bits, so that what is not a number is the largest; neither is negative. */
inlined vector larger_bits(vector one, vector other) {
#if defined(__AVX512F__)
    return (vector)_mm512_max_epi32((__m512i)one, (__m512i)other);
#elif defined(__AVX2__)
    return (vector)_mm256_max_epi32((__m256i)one, (__m256i)other);
#else
    return select_lanes((integers)one > (integers)other, one, other);
#endif
}

/* The sums of the lanes of as many vectors as they have lanes, each as sum_of has it; the largest lanes by their bits. */
inlined vector sums_of(vector *each) { COMBINED_LANES(each, sum) }
inlined vector most_of(vector *each) { COMBINED_LANES(each, larger_bits) }
