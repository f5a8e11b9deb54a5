/* Products by vectors: any processor, any size. */
#pragma once

#include "lanes.h"

typedef uint32_t unaligned_words __attribute__((vector_size(4 * LANES), aligned(1)));

/* A vector's worth of a weight's bytes; of halves, their values. */
inlined words words_of(const void *weight, long at, enum dtype dtype) {
    if (dtype == FLOAT16) return (words)loaded(weight, at, FLOAT16);
    return *(const unaligned_words *)offset(weight, at, dtype);
}

/* Elements of a row, as products by vectors take them. */
inlined long words_in_row(const linear *by, enum dtype dtype) { return dtype == PAIRS ? by->K / 2 : by->K; }

inlined float product_at(const void *rows, long at, const void *weight, long there, enum dtype dtype) {
    if (dtype != PAIRS) return read_from(rows, at, FLOAT32) * read_from(weight, there, dtype);
    return read_from(rows, 2 * at, BFLOAT16) * read_from(weight, 2 * there, BFLOAT16) +
           read_from(rows, 2 * at + 1, BFLOAT16) * read_from(weight, 2 * there + 1, BFLOAT16);
}

/* As store, of rows t … t + count: a lane each. */
inlined void store_lanes(const linear *by, const activations *a, void *out, long t, long n, int count, int outputs, vector of) {
    float rounded[LANES] ALIGNED;
    if (by->bias) {
        for (int at = 0; at < LANES; at++)
            WITH_DTYPE(a->dtype, rounded[at] = read_from(by->bias, n + at % outputs, is));
        of += *(vector *)rounded;
    }
    WITH_DTYPE(a->dtype, {
        put(rounded, 0, of, is);
        for (int i = 0; i < count; i++)
            memcpy(offset(out, (t + i) * by->N + n, is), offset(rounded, i * outputs, is), outputs * bytes_of(is));
    });
}

/* Rows by outputs multiplied at once: as many sums as fit into registers. */
enum { ROWS_AT_ONCE = LANES / 4, OUTPUTS_AT_ONCE = 4 };

/* Rows t … t + count by outputs n … n + outputs. Both numbers are constants where this is called: the loops unroll. */
inlined void block(const linear *by, const activations *a, const float *rows, void *out, long t, long n, int count,
                   int outputs, fetching next, enum dtype dtype) {
    const long at_once = 2 * LANES, K = words_in_row(by, dtype), whole = K - K % at_once;
    vector sums[OUTPUTS_AT_ONCE][ROWS_AT_ONCE];
    UNROLL(4) /* no more than is used: they stay in registers */
    for (int i = 0; i < count; i++)
        UNROLL(4)
        for (int j = 0; j < outputs; j++) sums[j][i] = (vector){0};
    for (long k = 0; k < whole; k += at_once) {
        fetch_share(&next);
        UNROLL(2)
        for (int odd = 0; odd < 2; odd++) {
            const void *weight = by->weight;
            /* Loaded again in the second turn: kept, GCC would store sums on the stack. */
            if (dtype == BFLOAT16) __asm__ volatile("" : "+r"(weight));
            vector factors[OUTPUTS_AT_ONCE];
            UNROLL(4)
            for (int j = 0; j < outputs; j++) {
                const long at = (n + j) * K + k + (dtype == BFLOAT16 ? 0 : odd * LANES);
                const words of_weight = words_of(weight, at, dtype);
                factors[j] = (vector)(dtype != BFLOAT16 ? of_weight : odd ? of_weight & 0xffff0000 : of_weight << 16);
                IN_REGISTER(factors[j]); /* for all rows */
            }
            UNROLL(4)
            for (int i = 0; i < count; i++) {
                vector of_row = loaded(rows, (t + i) * K + k + odd * LANES, FLOAT32);
                IN_REGISTER(of_row);
                UNROLL(4)
                for (int j = 0; j < outputs; j++) sums[j][i] = add_products(sums[j][i], of_row, factors[j], dtype);
            }
        }
    }
    float values[OUTPUTS_AT_ONCE * ROWS_AT_ONCE] ALIGNED;
    if (count * outputs == LANES) {
        vector each[LANES];
        UNROLL(16)
        for (int at = 0; at < LANES; at++) each[at] = sums[at % outputs][at / outputs];
        *(vector *)values = sums_of(each);
    } else {
        for (int at = 0; at < count * outputs; at++) values[at] = sum_of(sums[at % outputs][at / outputs]);
    }
    for (int i = 0; i < count; i++) {
        float *of_row = values + i * outputs;
        for (int j = 0; j < outputs; j++)
            for (long k = whole; k < K; k++)
                of_row[j] += product_at(rows, (t + i) * K + k, by->weight, (n + j) * K + k, dtype);
        if (count * outputs != LANES) store(by, a, out, t + i, n, outputs, of_row);
    }
    if (count * outputs == LANES) store_lanes(by, a, out, t, n, count, outputs, *(vector *)values);
}

enum { FETCHED_AHEAD = 8192 }; /* bytes at least: 4 outputs of 576 inputs are read before those behind them have come */

/* The outputs n … n + 4 for rows first … last. */
inlined void outputs_by_vectors(const linear *by, const activations *a, const float *rows, void *out, long n, long first,
                                long last, enum dtype dtype) {
    const long K = words_in_row(by, dtype), bytes = OUTPUTS_AT_ONCE * K * bytes_of(dtype), steps = K / (2 * LANES), count_of = last - first;
    const long passes = count_of / ROWS_AT_ONCE + count_of % ROWS_AT_ONCE / 2 + count_of % ROWS_AT_ONCE % 2;
    long t = first;
    /* The hardware's prefetcher stops at a row's end: fetch the weights of outputs to come. */
    const long ahead = (FETCHED_AHEAD + bytes - 1) / bytes;
    fetching next = {(const char *)by->weight + n * (bytes / OUTPUTS_AT_ONCE) + ahead * bytes, bytes / passes / (steps ? steps : 1) + 1};
#define OUTPUTS(n, count, outputs)                                     \
    do {                                                               \
        block(by, a, rows, out, t, n, count, outputs, next, dtype);    \
        next.at += bytes / passes;                                     \
    } while (0)
    if (n + OUTPUTS_AT_ONCE > by->N) {
        for (; n < by->N; n++)
            for (t = first; t < last; t++) OUTPUTS(n, 1, 1);
        return;
    }
    for (; t + ROWS_AT_ONCE <= last; t += ROWS_AT_ONCE) OUTPUTS(n, ROWS_AT_ONCE, OUTPUTS_AT_ONCE);
    for (; ROWS_AT_ONCE > 2 && t + 2 <= last; t += 2) OUTPUTS(n, 2, OUTPUTS_AT_ONCE);
    if (t < last) OUTPUTS(n, 1, OUTPUTS_AT_ONCE);
#undef OUTPUTS
}
