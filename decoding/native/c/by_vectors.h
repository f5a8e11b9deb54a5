/* Products by vectors: any processor, any size. */
#pragma once

#include "vectors.h"

/* Rows t … t + count by outputs n … n + outputs. Both numbers are constants where this is called: the loops unroll. */
inlined void block(const linear *by, const activations *a, const float *rows, void *out, long t, long n, int count,
                   int outputs, enum dtype dtype) {
    const long K = by->K, whole = K - K % LANES;
    vector sums[4][8];
    memset(sums, 0, sizeof sums);
    for (long k = 0; k < whole; k += LANES) {
        vector of_weight[4];
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

inlined void outputs_by_vectors(const linear *by, const activations *a, const float *rows, void *out, long n,
                                enum dtype dtype) {
    const long T = a->T;
    long t = 0;
    if (n + 4 > by->N) {
        for (; n < by->N; n++)
            for (t = 0; t < T; t++) block(by, a, rows, out, t, n, 1, 1, dtype);
        return;
    }
    for (; t + ROWS_AT_ONCE <= T; t += ROWS_AT_ONCE) {
        block(by, a, rows, out, t, n, ROWS_AT_ONCE, 2, dtype);
        block(by, a, rows, out, t, n + 2, ROWS_AT_ONCE, 2, dtype);
    }
    for (; ROWS_AT_ONCE > 4 && t + 4 <= T; t += 4) block(by, a, rows, out, t, n, 4, 4, dtype);
    for (; t + 2 <= T; t += 2) block(by, a, rows, out, t, n, 2, 4, dtype);
    if (t < T) block(by, a, rows, out, t, n, 1, 4, dtype);
}
