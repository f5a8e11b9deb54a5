/* Rows rounded to int8 by blocks of 32, as ggml does, for products by packed weights. */
#pragma once

#include "elementwise.h"
#include "lanes.h"
#include "packed_formats.h"
#include "thread_pool.h"

enum { PASS = 16 }; /* rows that one pass over weights takes at most */

/* Rows in int8 with the scale of each 32 elements, and scale times the sum of each 32 and of each 16. They lie as products
 * read them: PASS rows after another, of these block by block, of a block row by row. What rounding left of the rows may
 * stand `rest` blocks behind, in the same form. */
typedef struct {
    const int8_t *elements;
    const int16_t *in_16_bits; /* the same as put_pairs writes them, for signed weights where these are multiplied so */
    const float *scales, *sums, *half_sums;
    const int32_t *whole_sums; /* of the elements of each half of 32, then of all of them: four places to a block */
    long rest;
} rounded_rows;

/* The rows that stand side by side with row t of T. */
inlined long rows_beside(long t, long T) {
    const long first = t / PASS * PASS;
    return T - first < PASS ? T - first : PASS;
}

/* Where a block of row t of T stands, in blocks. */
inlined long place_of(long t, long block, long T, long blocks) {
    return t / PASS * PASS * blocks + block * rows_beside(t, T) + t % PASS;
}

typedef struct {
    const void *rows;
    enum dtype dtype;
    long T, K;
    int8_t *elements;
    int16_t *in_16_bits;
    float *scales, *sums, *half_sums;
    int32_t *whole_sums;
    long rest;   /* 0 for none */
    long shares; /* among which the blocks of PASS rows are divided */
} rounding;

enum { EACH = INPUTS / LANES }; /* vectors of a block */

/* Write blocks of a row in int8 to their places, `apart` blocks apart, and leave in `of` what that does not hold. */
inlined void put_blocks(const rounding *w, vector (*of)[EACH], long count, vector scale, vector inverse, long place, long apart) {
    const float to_whole = 12582912; /* 1.5 · 2²³: a sum with it is rounded to a whole number */
    vector sums[2][LANES];
    float scales[LANES], halves[2][LANES], inverses[LANES];
    *(unaligned_vector *)scales = scale, *(unaligned_vector *)inverses = inverse;
    for (long block = 0; block < count; block++)
        UNROLL(4)
        for (int i = 0; i < EACH; i++) {
            const integers whole = (integers)(of[block][i] * inverses[block] + to_whole) - (integers)((vector){0} + to_whole);
            const vector numbers = __builtin_convertvector(whole, vector);
            const long at = (place + block * apart) * INPUTS + i * LANES;
            put_bytes(w->elements + at, whole);
            if (MULTIPLIES_IN_16_BITS && w->in_16_bits) put_pairs(w->in_16_bits + at, whole);
            vector *half = &sums[i * LANES / 16][block];
            *half = i * LANES % 16 ? *half + numbers : numbers;
            of[block][i] -= scales[block] * numbers;
        }
    for (int half = 0; half < 2; half++) *(unaligned_vector *)halves[half] = sums_of(sums[half]);
    for (long block = 0; block < count; block++, place += apart) {
        const float here = scales[block];
        w->scales[place] = here;
        w->half_sums[2 * place] = here * halves[0][block], w->half_sums[2 * place + 1] = here * halves[1][block];
        w->sums[place] = here * (halves[0][block] + halves[1][block]);
        const int32_t low = (int32_t)halves[0][block], high = (int32_t)halves[1][block];
        w->whole_sums[4 * place] = low, w->whole_sums[4 * place + 1] = high, w->whole_sums[4 * place + 2] = low + high;
    }
}

/* Blocks from … to of a row. */
inlined void round_to_int8(const rounding *w, long t, long from, long to, enum dtype dtype) {
    const long apart = rows_beside(t, w->T);
    for (long first = from; first < to; first += LANES) {
        const long count = to - first < LANES ? to - first : LANES, place = place_of(t, first, w->T, w->K / INPUTS);
        vector of[LANES][EACH], sizes[LANES] = {{0}};
        for (long block = 0; block < count; block++)
            UNROLL(4)
            for (int i = 0; i < EACH; i++) {
                of[block][i] = loaded(w->rows, t * w->K + (first + block) * INPUTS + i * LANES, dtype);
                sizes[block] = larger_bits((vector)((integers)of[block][i] & 0x7fffffff), sizes[block]);
            }
        /* Infinity, too, makes the scale no number, and that the product. */
        const vector largest = most_of(sizes), scale = largest / 127 + (largest - largest);
        const vector inverse = select_lanes(largest > 0, 127 / largest, (vector){0});
        put_blocks(w, of, count, scale, inverse, place, apart);
        /* What is left is at most half a unit. */
        if (w->rest) put_blocks(w, of, count, scale / 254, inverse * 254, place + w->rest, apart);
    }
}

/* A share is blocks of PASS rows, not rows: these write into the same cache lines, for which threads would wait. */
static void round_shares(const void *work, long first, long last) {
    const rounding *w = work;
    const long blocks = w->K / INPUTS;
    for (long at = first; at < last; at++) {
        const long row = at / w->shares * PASS, end = row + rows_beside(row, w->T), share = at % w->shares;
        const long from = share * blocks / w->shares, to = (share + 1) * blocks / w->shares;
        for (long t = row; t < end; t++) WITH_DTYPE(w->dtype, round_to_int8(w, t, from, to, is));
    }
}

/* The rows in int8, and twice where they are wanted finely; no elements if there is no memory. */
static rounded_rows rounded_rows_of(const void *rows, const activations *a, long K, int finely, int for_signed) {
    const long each = a->T * (K / INPUTS), rest = finely ? each : 0;
    const long blocks = each + rest + PASS; /* those behind the last row are read with it, and count for nothing */
    const int twice = MULTIPLIES_IN_16_BITS && for_signed, threads = a->T * K > SMALL / 8 ? a->threads : 1;
    int8_t *elements = scratch(WHOLE, (twice ? 3 : 1) * blocks * INPUTS);
    float *scales = scratch(WIDE, 32 * blocks), *sums = scales + blocks, *half_sums = scales + 2 * blocks;
    if (!elements || !scales) return (rounded_rows){0};
    int16_t *in_16_bits = twice ? (int16_t *)(elements + blocks * INPUTS) : 0;
    int32_t *whole_sums = (int32_t *)(scales + 4 * blocks);
    const rounding w = {rows,  a->dtype, a->T,      K,          elements, in_16_bits,
                        scales, sums,    half_sums, whole_sums, rest,     threads};
    parallel_for(round_shares, &w, (a->T + PASS - 1) / PASS * threads, threads);
    return (rounded_rows){elements, in_16_bits, scales, sums, half_sums, whole_sums, rest};
}
