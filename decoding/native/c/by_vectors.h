/* Products by vectors: any processor, any size. */
#pragma once

#include "int8.h"

/* Rows t … t + count by outputs n … n + outputs. Both numbers are constants where this is called: the loops unroll. */
inlined void block(const linear *by, const activations *a, const float *rows, void *out, long t, long n, int count,
                   int outputs, enum dtype dtype) {
    const long K = by->K, whole = K - K % LANES, bytes = dtype == BFLOAT16 ? 2 : 4;
    const int fetches = !t && n % 4 == 0;
    const char *next = (const char *)by->weight + (n + 4) * K * bytes;
    vector sums[4][8];
    memset(sums, 0, sizeof sums);
    for (long k = 0; k < whole; k += LANES) {
        vector of_weight[4];
        /* The hardware's prefetcher stops at a row's end: fetch the same place of the next outputs. */
        if (fetches && k % (64 / bytes) == 0)
            for (int j = 0; j < 4; j++) __builtin_prefetch(next + (j * K + k) * bytes, 0, 2);
#pragma GCC unroll 4
        for (int j = 0; j < outputs; j++) of_weight[j] = loaded(by->weight, (n + j) * K + k, dtype);
#pragma GCC unroll 8
        for (int i = 0; i < count; i++) {
            const vector of_row = loaded(rows, (t + i) * K + k, FLOAT32);
#pragma GCC unroll 4
            for (int j = 0; j < outputs; j++) sums[j][i] += of_weight[j] * of_row;
        }
    }
    for (int i = 0; i < count; i++) {
        float values[4];
        for (int j = 0; j < outputs; j++) {
            values[j] = sum_of(sums[j][i]);
            for (long k = whole; k < K; k++)
                values[j] += rows[(t + i) * K + k] * read_from(by->weight, (n + j) * K + k, dtype);
        }
        store(by, a, out, t + i, n, outputs, values);
    }
}

/* The outputs n … n + 4 for rows first … last, of `rows` in float32 or, by a weight in int8, of `whole`. */
inlined void outputs_by_vectors(const linear *by, const activations *a, const float *rows, int8_rows whole, void *out,
                                long n, long first, long last, enum dtype dtype) {
    const long T = last;
    long t = first;
#define OUTPUTS(n, count, outputs)                                     \
    do {                                                               \
        if (dtype == INT8)                                             \
            int8_outputs(by, a, whole, out, t, n, count, outputs);     \
        else                                                           \
            block(by, a, rows, out, t, n, count, outputs, dtype);      \
    } while (0)
    if (n + 4 > by->N) {
        for (; n < by->N; n++)
            for (t = first; t < T; t++) OUTPUTS(n, 1, 1);
        return;
    }
    for (; t + ROWS_AT_ONCE <= T; t += ROWS_AT_ONCE) {
        OUTPUTS(n, ROWS_AT_ONCE, 2);
        OUTPUTS(n + 2, ROWS_AT_ONCE, 2);
    }
    for (; ROWS_AT_ONCE > 4 && t + 4 <= T; t += 4) OUTPUTS(n, 4, 4);
    for (; t + 2 <= T; t += 2) OUTPUTS(n, 2, 4);
    if (t < T) OUTPUTS(n, 1, 4);
#undef OUTPUTS
}
