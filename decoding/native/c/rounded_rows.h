/* Rows rounded to int8 by blocks of 32, as ggml does, for products by packed weights. */
#pragma once

#include "elementwise.h"
#include "packed_formats.h"
#include "team.h"

/* Rows in int8 with the scale of each 32 elements, and scale times the sum of each 32 and of each 16. What rounding left
 * of a row may stand `rest` rows behind it, in the same form. */
typedef struct {
    const int8_t *elements;
    const float *scales, *sums, *half_sums;
    long rest;
} rounded_rows;

typedef struct {
    const void *rows;
    enum dtype dtype;
    long K;
    int8_t *elements;
    float *scales, *sums, *half_sums;
    long rest; /* 0 for none */
} rounding;

inlined float most_of(vector of) {
#if LANES == 16
    of = larger(of, shuffled(of, of, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    of = larger(of, shuffled(of, of, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    of = larger(of, shuffled(of, of, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#else
    of = larger(of, shuffled(of, of, 4, 5, 6, 7, 0, 1, 2, 3));
    of = larger(of, shuffled(of, of, 2, 3, 0, 1, 6, 7, 4, 5));
#endif
    return of[0] > of[1] ? of[0] : of[1];
}

/* Write a block in int8, and leave in `of` what that does not hold. */
inlined void round_block(const rounding *w, vector *of, float scale, float inverse, long at) {
    const float to_whole = 12582912; /* 1.5 · 2²³: a sum with it is rounded to a whole number */
    const long block = at / INPUTS;
    float sums[2] = {0};
    for (int i = 0; i < INPUTS / LANES; i++) {
        const integers whole = (integers)(of[i] * inverse + to_whole) - (integers)((vector){0} + to_whole);
        const vector numbers = __builtin_convertvector(whole, vector);
        put_bytes(w->elements + at + i * LANES, whole);
        sums[i * LANES / 16] += sum_of(numbers);
        of[i] -= scale * numbers;
    }
    w->scales[block] = scale;
    w->half_sums[2 * block] = scale * sums[0], w->half_sums[2 * block + 1] = scale * sums[1];
    w->sums[block] = scale * (sums[0] + sums[1]);
}

inlined void round_to_int8(const rounding *w, long t, enum dtype dtype) {
    for (long at = t * w->K; at < (t + 1) * w->K; at += INPUTS) {
        vector of[INPUTS / LANES], most = {0}, not_numbers = {0};
        for (int i = 0; i < INPUTS / LANES; i++) {
            of[i] = loaded(w->rows, at + i * LANES, dtype);
            most = larger((vector)((integers)of[i] & 0x7fffffff), most);
            not_numbers += of[i] - of[i]; /* 0, or not a number if one of them is none or infinite */
        }
        const float largest = most_of(most), inverse = largest > 0 ? 127 / largest : 0;
        const float scale = largest / 127 + sum_of(not_numbers);
        round_block(w, of, scale, inverse, at);
        /* What is left is at most half a unit. */
        if (w->rest) round_block(w, of, scale / 254, inverse * 254, at + w->rest * w->K);
    }
}

static void round_rows(const void *work, long first, long last) {
    const rounding *w = work;
    for (long t = first; t < last; t++) WITH_DTYPE(w->dtype, round_to_int8(w, t, is));
}

/* The rows in int8, and twice where they are wanted finely; no elements if there is no memory. */
static rounded_rows rounded_rows_of(const void *rows, const activations *a, long K, int finely) {
    const long rest = finely ? a->T : 0, blocks = (a->T + rest) * (K / INPUTS);
    int8_t *elements = scratch(WHOLE, (a->T + rest) * K);
    float *scales = scratch(WIDE, 16 * blocks);
    if (!elements || !scales) return (rounded_rows){0};
    const rounding w = {rows, a->dtype, K, elements, scales, scales + blocks, scales + 2 * blocks, rest};
    parallel_for(round_rows, &w, a->T, a->T * K > SMALL ? a->threads : 1);
    return (rounded_rows){elements, scales, scales + blocks, scales + 2 * blocks, rest};
}
