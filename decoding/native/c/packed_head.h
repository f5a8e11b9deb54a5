/* The largest logits of a packed head, computed anew from rows as they are: products by packed weights round rows to int8,
 * and that alone made another token the likeliest in two of a hundred places of a real model's text. */
#pragma once

#include "lanes.h"
#include "largest.h"
#include "packed_products.h"

enum { ANEW = 4 /* of each row's logits: rounding moves hardly any other to the top */ };

typedef struct {
    const linear *head;
    const void *rows;
    void *logits;
    const activations *a;
} computing_anew;

inlined void compute_anew(const computing_anew *w, long t, enum dtype dtype) {
    const linear *by = w->head;
    const long K = by->K, count = by->N < ANEW ? by->N : ANEW;
    float values[ANEW], *weight = scratch(WIDE, 8 * K), *row = weight + K;
    long places[ANEW];
    if (!weight) {
        atomic_store(w->a->no_memory, 1);
        return;
    }
    largest_of_row(offset(w->logits, t * by->N, dtype), by->N, count, values, places, dtype);
    widen(offset(w->rows, t * K, dtype), row, K, dtype);
    for (long i = 0; i < count; i++) {
        vector sums = {0};
        unpack_row(by, places[i], K, weight);
        for (long k = 0; k < K; k += LANES) sums += *(const vector *)(row + k) * *(const vector *)(weight + k);
        values[i] = sum_of(sums);
        store(by, w->a, w->logits, t, places[i], 1, values + i);
    }
}

static void compute_rows_anew(const void *work, long first, long last) {
    const computing_anew *w = work;
    for (long t = first; t < last; t++) WITH_DTYPE(w->a->dtype, compute_anew(w, t, is));
}

/* Compute the largest logits of each row (T, N) anew, from the rows (T, K). */
static void compute_largest_anew(const linear *head, const void *rows, void *logits, const activations *a) {
    const computing_anew w = {head, rows, logits, a};
    parallel_for(compute_rows_anew, &w, a->T, a->threads);
}
