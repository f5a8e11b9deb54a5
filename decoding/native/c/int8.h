/* Products in int8 by vectors, for processors without tiles and for products too small for tiles. */
#pragma once

#include "vectors.h"

#define INT8_BLOCK 64 /* elements of an int8 row with one scale: the bytes of a tile's row */

#ifdef UNSIGNED_LEFT
/* The rows are the left factor: see add_dots. */
#define RAISED (128 * UNSIGNED_LEFT)
#define INT8_PARTS (INT8_BLOCK / (4 * LANES))
typedef uint8_t row_element;
typedef struct { quads weight[INT8_PARTS]; } int8_block;

inlined int8_block loaded_block(const int8_t *weight) {
    int8_block block;
    for (int part = 0; part < INT8_PARTS; part++) block.weight[part] = ((const quads *)weight)[part];
    return block;
}

inlined integers with_products(integers sums, const int8_block *block, const row_element *row) {
    for (int part = 0; part < INT8_PARTS; part++)
        sums = add_dots(sums, ((const quads *)row)[part], block->weight[part]);
    return sums;
}
#else
#define RAISED 0
#define INT8_PARTS (INT8_BLOCK / (2 * LANES))
typedef int16_t row_element;
typedef int8_t bytes __attribute__((vector_size(2 * LANES), aligned(1)));
typedef int16_t shorts __attribute__((vector_size(4 * LANES), aligned(2)));
typedef struct { shorts weight[INT8_PARTS]; } int8_block;

inlined int8_block loaded_block(const int8_t *weight) {
    int8_block block;
    for (int part = 0; part < INT8_PARTS; part++)
        block.weight[part] = __builtin_convertvector(((const bytes *)weight)[part], shorts);
    return block;
}

inlined integers with_products(integers sums, const int8_block *block, const row_element *row) {
    for (int part = 0; part < INT8_PARTS; part++) {
        const shorts these = ((const shorts *)row)[part], those = block->weight[part];
#if defined(__AVX512BW__) && LANES == 16
        sums += (integers)_mm512_madd_epi16((__m512i)these, (__m512i)those);
#elif defined(__AVX2__) && LANES == 8
        sums += (integers)_mm256_madd_epi16((__m256i)these, (__m256i)those);
#else
        for (int i = 0; i < LANES; i++) sums[i] += these[2 * i] * those[2 * i] + these[2 * i + 1] * those[2 * i + 1];
#endif
    }
    return sums;
}
#endif

/* True if these products are faster than PyTorch's kernel. */
EXPORTED int multiplies_int8(void) {
#ifdef __AVX2__
    return 1;
#else
    return 0;
#endif
}

/* Rows in int8, as `with_products` takes them, and the scale of each block of each row (T, K / INT8_BLOCK). */
typedef struct { const row_element *elements; const float *scales; } int8_rows;

/* Rows t … t + count by outputs n … n + outputs. Both numbers are constants where this is called: the loops unroll. */
inlined void int8_outputs(const linear *by, const activations *a, int8_rows rows, void *out, long t, long n, int count,
                          int outputs, fetching next) {
    const long K = by->K, blocks = K / INT8_BLOCK;
    row_element raised[INT8_BLOCK];
    for (int i = 0; i < INT8_BLOCK; i++) raised[i] = RAISED;
    vector sums[4][8];
    memset(sums, 0, sizeof sums);
    for (long at = 0; at < blocks; at++) {
        int8_block of_weight[4];
        fetch_share(&next);
        integers less[4]; /* initial accumulators: minus RAISED times the weight's sum */
        UNROLL(4)
        for (int j = 0; j < outputs; j++) {
            of_weight[j] = loaded_block((const int8_t *)by->weight + (n + j) * K + at * INT8_BLOCK);
            less[j] = (integers){0};
            if (RAISED) less[j] -= with_products(less[j], &of_weight[j], raised);
        }
        UNROLL(8)
        for (int i = 0; i < count; i++) {
            const row_element *row = rows.elements + (t + i) * K + at * INT8_BLOCK;
            const float scale = rows.scales[(t + i) * blocks + at];
            UNROLL(4)
            for (int j = 0; j < outputs; j++)
                sums[j][i] += __builtin_convertvector(with_products(less[j], &of_weight[j], row), vector) * scale;
        }
    }
    for (int i = 0; i < count; i++) {
        float values[4];
        for (int j = 0; j < outputs; j++) values[j] = sum_of(sums[j][i]) * by->scales[n + j];
        store(by, a, out, t + i, n, outputs, values);
    }
}
