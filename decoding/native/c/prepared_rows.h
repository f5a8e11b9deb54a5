/* Rows prepared for products: rounded to int8 or bfloat16, separated for bfloat16, split into terms, packed for tiles. */
#pragma once

#include "lanes.h"
#include "products_by_tiles.h"
#include "thread_pool.h"

/* The largest absolute value of elements first … last, a little at least; NaN if one of them is. Compared as integers,
 * of which those of NaN are above all others: a scale of NaN makes the product NaN, which the rounded elements cannot. */
inlined float largest_size(const void *row, long first, long last, enum dtype dtype) {
    const float least = 1e-30f;
    int32_t most;
    memcpy(&most, &least, sizeof most);
#pragma omp simd reduction(max : most)
    for (long k = first; k < last; k++) {
        const float value = read_from(row, k, dtype);
        int32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    float largest;
    memcpy(&largest, &most, sizeof largest);
    return largest;
}

/* Round a row to int8, block by block; an outlier spoils its own block alone. scales: TILE elements apart. */
inlined void quantize(const void *row, int8_t *whole, float *scales, long K, enum dtype dtype) {
    for (long at = 0; at < K; at += INT8_BLOCK) {
        const float largest = largest_size(row, at, at + INT8_BLOCK, dtype), inverse = 127 / largest;
        for (long k = at; k < at + INT8_BLOCK; k++) whole[k] = (int8_t)rintf(read_from(row, k, dtype) * inverse);
        scales[at / INT8_BLOCK * TILE] = largest / 127;
    }
}

inlined float round_row(const void *row, long K, int most, int8_t *restrict whole, enum dtype dtype) {
    const float scale = largest_size(row, 0, K, dtype) / most;
#pragma omp simd
    for (long k = 0; k < K; k++) whole[k] = (int8_t)rintf(read_from(row, k, dtype) / scale);
    return scale;
}

typedef struct {
    const void *weight;
    enum dtype dtype;
    long K;
    int most;
    int8_t *whole;
    float *scales;
} weight_rounding;

static void round_outputs(const void *work, long first, long last) {
    const weight_rounding *w = work;
    for (long n = first; n < last; n++)
        WITH_DTYPE(w->dtype, w->scales[n] = round_row(offset(w->weight, n * w->K, is), w->K, w->most, w->whole + n * w->K, is));
}

/* Round a weight (N, K) to int8 between -most and most, with a scale for each row. */
void round_weight(const void *weight, int dtype, long N, long K, int most, int8_t *whole, float *scales, int threads) {
    const weight_rounding w = {weight, dtype, K, most, whole, scales};
    parallel_for(round_outputs, &w, N, N * K > SMALL ? threads : 1);
}

typedef struct {
    const void *rows;
    enum dtype dtype;
    long K;
    int8_t *whole;
    float *scales;
} quantizing;

static void quantize_rows(const void *work, long first, long last) {
    const quantizing *w = work;
    const long blocks = w->K / INT8_BLOCK;
    for (long t = first; t < last; t++) {
        float *of_row = w->scales + t / TILE * TILE * blocks + t % TILE;
        WITH_DTYPE(w->dtype, quantize(offset(w->rows, t * w->K, is), w->whole + t * w->K, of_row, w->K, is));
    }
}

/* Returns the rows, or null; writes the scales as int8_tiles takes them. */
static const int8_t *quantize_all(const void *rows, const activations *a, long K, float *scales) {
    const quantizing w = {rows, a->dtype, K, scratch(WHOLE, a->T * K), scales};
    if (!w.whole || !scales) return 0;
    parallel_for(quantize_rows, &w, a->T, a->T * K > SMALL ? a->threads : 1);
    return w.whole;
}

typedef struct {
    const float *rows;
    bfloat16 *narrow;
    long K;
} narrowing;

static void narrow_rows(const void *work, long first, long last) {
    const narrowing *w = work;
    long at = first * w->K;
    for (; at + LANES <= last * w->K; at += LANES) put(w->narrow, at, loaded(w->rows, at, FLOAT32), BFLOAT16);
    for (; at < last * w->K; at++) w->narrow[at] = narrowed(w->rows[at]);
}

/* Rows in float32 rounded to bfloat16; null if there is no memory. */
static const bfloat16 *narrowed_rows(const float *rows, const activations *a, long K) {
    const narrowing w = {rows, scratch(WHOLE, 2 * a->T * K), K};
    if (w.narrow) parallel_for(narrow_rows, &w, a->T, a->T * K > SMALL / 8 ? a->threads : 1);
    return w.narrow;
}

/* The even and the odd elements of two vectors: a word of a weight in bfloat16 holds one of each. */
inlined void separate(vector *one, vector *other) {
#if LANES == 16
    const vector even = shuffled(*one, *other, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *other = shuffled(*one, *other, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
    const vector even = shuffled(*one, *other, 0, 2, 4, 6, 8, 10, 12, 14);
    *other = shuffled(*one, *other, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
    *one = even;
}

typedef struct {
    const void *rows;
    enum dtype dtype;
    long K;
    float *wide;
} separating;

inlined void separate_row(const void *row, float *to, long K, enum dtype dtype) {
    long k = 0;
    for (; k + 2 * LANES <= K; k += 2 * LANES) {
        vector one = loaded(row, k, dtype), other = loaded(row, k + LANES, dtype);
        separate(&one, &other);
        *(unaligned_vector *)(to + k) = one;
        *(unaligned_vector *)(to + k + LANES) = other;
    }
    for (; k < K; k++) to[k] = read_from(row, k, dtype);
}

static void separate_rows(const void *work, long first, long last) {
    const separating *w = work;
    for (long t = first; t < last; t++)
        WITH_DTYPE(w->dtype, separate_row(offset(w->rows, t * w->K, is), w->wide + t * w->K, w->K, is));
}

/* Rows in float32 as products by bfloat16 take them, each two vectors separated; null if there is no memory. */
static const float *separated_rows(const void *rows, const activations *a, long K) {
    const separating w = {rows, a->dtype, K, scratch(WIDE, 4 * a->T * K)};
    if (w.wide) parallel_for(separate_rows, &w, a->T, a->T * K > SMALL ? a->threads : 1);
    return w.wide;
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

typedef struct {
    const char *narrow;
    long T, row_words, groups;
    uint32_t *packed;
} packing;

static void pack_groups(const void *work, long first, long last) {
    const packing *w = work;
    for (long group = first; group < last; group++) {
        const long t = group % w->groups * TILE, term = group / w->groups;
        pack((const uint32_t *)w->narrow + (term * w->T + t) * w->row_words, w->T - t < TILE ? w->T - t : TILE,
             w->row_words, w->packed + group * TILE * w->row_words);
    }
}

/* The rows as tiles take them: int8 (with scales), bfloat16, or the three terms of float32, a group after another; null
 * if there is no memory. */
static const char *packed_rows(const linear *by, const void *rows, const activations *a, float **scales, int terms) {
    const long K = by->K, T = a->T, groups = (T + TILE - 1) / TILE;
    const void *narrow = rows;
    if (by->scales) {
        *scales = scratch(WIDE, 4 * groups * TILE * (K / INT8_BLOCK));
        narrow = quantize_all(rows, a, K, *scales);
    } else if (terms > 1) {
        narrow = scratch(WHOLE, 2 * terms * T * K);
        if (narrow) split(rows, (bfloat16 *)narrow, T * K, T * K);
    }
    char *packed = scratch(PACKED, groups * TILE * K * 2 * terms);
    if (!narrow || !packed) return 0;
    const packing w = {narrow, T, by->scales ? K / 4 : K / 2, groups, (uint32_t *)packed};
    parallel_for(pack_groups, &w, groups * terms, T * K > SMALL ? a->threads : 1);
    return packed;
}
