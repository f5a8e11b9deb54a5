/* Products of a few rows by weights in float32, bfloat16 or int8. */
#pragma once

#include "by_tiles.h"
#include "by_vectors.h"

#define CACHED_ROWS (1 << 20) /* bytes of packed rows multiplied at a time: half of a usual second-level cache */

/* Round a row to int8, block by block; an outlier spoils its own block alone. scales: so many elements apart. */
inlined void quantize(const void *row, int8_t *whole, float *scales, long apart, long K, enum dtype dtype) {
    for (long at = 0; at < K; at += INT8_BLOCK) {
        float largest = 1e-30f;
#pragma omp simd reduction(max : largest)
        for (long k = at; k < at + INT8_BLOCK; k++) {
            const float size = fabsf(read_from(row, k, dtype));
            largest = size > largest ? size : largest;
        }
        const float inverse = 127 / largest;
        for (long k = at; k < at + INT8_BLOCK; k++) whole[k] = (int8_t)rintf(read_from(row, k, dtype) * inverse);
        scales[at / INT8_BLOCK * apart] = largest / 127;
    }
}

inlined float round_row(const void *row, long K, int most, int8_t *restrict whole, enum dtype dtype) {
    float largest = 1e-30f;
#pragma omp simd reduction(max : largest)
    for (long k = 0; k < K; k++) {
        const float size = fabsf(read_from(row, k, dtype));
        largest = size > largest ? size : largest;
    }
    const float scale = largest / most;
#pragma omp simd
    for (long k = 0; k < K; k++) whole[k] = (int8_t)rintf(read_from(row, k, dtype) / scale);
    return scale;
}

/* Round a weight (N, K) to int8 between -most and most, with a scale for each row. */
void round_weight(const void *weight, int dtype, long N, long K, int most, int8_t *whole, float *scales, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (N * K > SMALL)
    for (long n = 0; n < N; n++)
        WITH_DTYPE(dtype, scales[n] = round_row(offset(weight, n * K, is), K, most, whole + n * K, is));
}

/* Returns the rows; writes the scales as int8_tiles takes them or, row by row, as int8_outputs does. */
static const int8_t *quantize_all(const void *rows, const activations *a, long K, float *scales, int tiled) {
    int8_t *whole = scratch(WHOLE, a->T * K);
    const long blocks = K / INT8_BLOCK;
#pragma omp parallel for schedule(static) num_threads(a->threads) if (a->T * K > SMALL)
    for (long t = 0; t < a->T; t++) {
        float *of_row = scales + (tiled ? t / TILE * TILE * blocks + t % TILE : t * blocks);
        WITH_DTYPE(a->dtype, quantize(offset(rows, t * K, is), whole + t * K, of_row, tiled ? TILE : 1, K, is));
    }
    return whole;
}

/* The rows as int8_outputs takes them. */
static int8_rows int8_rows_of(const void *rows, const activations *a, long K) {
    float *scales = scratch(WIDE, 4 * a->T * (K / INT8_BLOCK));
    row_element *elements = scratch(PACKED, a->T * K * sizeof *elements);
    const int8_t *whole = quantize_all(rows, a, K, scales, 0);
    for (long at = 0; at < a->T * K; at++) elements[at] = (row_element)(whole[at] + RAISED);
    return (int8_rows){elements, scales};
}

/* Split float32 into the sum of three bfloat16, whose products with bfloat16 are exact; `apart` elements apart. */
static void split(const float *rows, bfloat16 *terms, long count, long apart) {
    for (long at = 0; at < count; at++) {
        const bfloat16 high = narrowed(rows[at]);
        const float rest = rows[at] - widened(high);
        const bfloat16 middle = narrowed(rest);
        terms[at] = high;
        terms[at + apart] = middle;
        terms[at + 2 * apart] = narrowed(rest - widened(middle));
    }
}

/* The rows as tiles take them: int8 (with scales), bfloat16, or the three terms of float32, a group after another. */
static const char *packed_rows(const linear *by, const void *rows, const activations *a, float **scales, int terms) {
    const long K = by->K, T = a->T, groups = (T + TILE - 1) / TILE, words_of_row = by->scales ? K / 4 : K / 2;
    char *packed = scratch(PACKED, groups * TILE * K * 2 * terms);
    const void *narrow = rows;
    if (by->scales) {
        *scales = scratch(WIDE, 4 * groups * TILE * (K / INT8_BLOCK));
        narrow = quantize_all(rows, a, K, *scales, 1);
    } else if (terms > 1) {
        narrow = scratch(WHOLE, 2 * terms * T * K);
        split(rows, (bfloat16 *)narrow, T * K, T * K);
    }
#pragma omp parallel for schedule(static) num_threads(a->threads) if (T * K > SMALL)
    for (long group = 0; group < groups * terms; group++) {
        const long t = group % groups * TILE, term = group / groups;
        pack((const uint32_t *)narrow + (term * T + t) * words_of_row, T - t < TILE ? T - t : TILE, words_of_row,
             (uint32_t *)packed + group * TILE * words_of_row);
    }
    return packed;
}

/* Several products of the same rows, each into its own place. */
static void multiply_all(const linear *const *by, void *const *outs, int count, const void *rows,
                         const activations *a) {
    const long K = by[0]->K, T = a->T;
    const enum dtype weight_dtype = by[0]->scales ? INT8 : by[0]->narrow ? BFLOAT16 : a->dtype;
    const int terms = by[0]->narrow ? 3 : 1;
    int tiled = a->tiles && (weight_dtype == INT8 || (weight_dtype == BFLOAT16 && K % 32 == 0));
    for (int i = 0; i < count; i++) tiled &= by[i]->N >= 2 * TILE;
    float *scales = 0;
    const char *packed = tiled ? packed_rows(by[0], rows, a, &scales, terms) : 0;
    const float *wide = rows;
    int8_rows whole = {0};
    if (!tiled && weight_dtype == INT8) {
        whole = int8_rows_of(rows, a, K);
    } else if (!tiled && a->dtype == BFLOAT16) {
        float *copy = scratch(WIDE, 4 * T * K);
        for (long at = 0; at < T * K; at++) copy[at] = widened(((const bfloat16 *)rows)[at]);
        wide = copy;
    }
    const long step = tiled ? 2 * TILE : 4, apart = (T + TILE - 1) / TILE * TILE * 2 * K;
    long groups[4] = {0};
    for (int i = 0; i < count; i++) groups[i + 1] = groups[i] + (by[i]->N + step - 1) / step;
    /* As many rows at a time as stay in a processor's cache. */
    long block = T;
    if (tiled && T > 2 * TILE) {
        const long most = CACHED_ROWS / (K * (scales ? 1 : 2) * terms) / (2 * TILE) * (2 * TILE);
        block = most < 2 * TILE ? 2 * TILE : most;
    }
    /* Small parts, so that a thread that is held up leaves the rest to the others; small products take one thread. */
    const long part = groups[count] / (8 * a->threads) + 1;
#pragma omp parallel num_threads(a->threads) if (groups[count] * step * K > SMALL)
    {
        tile_layout before;
        if (tiled) load_layout(&before);
        for (long first = 0; first < T; first += block) {
            const long last = first + block < T ? first + block : T;
#pragma omp for schedule(dynamic, part) nowait
            for (long group = 0; group < groups[count]; group++) {
                const int i = (count > 1 && group >= groups[1]) + (count > 2 && group >= groups[2]);
                const long n = (group - groups[i]) * step;
                if (scales)
                    outputs_by_tiles(by[i], a, packed, scales, 1, 0, outs[i], n, first, last);
                else if (tiled && terms > 1)
                    outputs_by_tiles(by[i], a, packed, 0, 3, apart, outs[i], n, first, last);
                else if (tiled)
                    outputs_by_tiles(by[i], a, packed, 0, 1, 0, outs[i], n, first, last);
                else if (weight_dtype == INT8)
                    outputs_by_vectors(by[i], a, 0, whole, outs[i], n, INT8);
                else if (weight_dtype == BFLOAT16)
                    outputs_by_vectors(by[i], a, wide, whole, outs[i], n, BFLOAT16);
                else
                    outputs_by_vectors(by[i], a, wide, whole, outs[i], n, FLOAT32);
            }
        }
        if (tiled) restore_layout(&before);
    }
}

static void multiply_one(const linear *by, void *out, const void *rows, const activations *a) {
    multiply_all(&by, &out, 1, rows, a);
}

/* The product of a linear layer. With scales, K is a multiple of 64. */
void multiply(const linear *by, const void *rows, void *out, int dtype, long T, int threads, int tiles) {
    const activations a = {dtype, T, threads, tiles};
    multiply_one(by, out, rows, &a);
}
