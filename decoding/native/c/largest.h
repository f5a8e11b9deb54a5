/* The largest logits of each row. */
#pragma once

#include "vectors.h"

#define CHUNK 128

inlined float largest_of(const void *row, long at, enum dtype dtype) {
    vector most = (vector){0} - INFINITY; /* what is not a number is never larger */
    for (long k = 0; k < CHUNK; k += LANES) {
        const vector these = loaded(row, at + k, dtype);
        most = choose(these > most, these, most);
    }
    float largest = most[0];
    for (long lane = 1; lane < LANES; lane++) largest = most[lane] > largest ? most[lane] : largest;
    return largest;
}

inlined void largest_of_row(const void *row, long V, long count, float *values, long *places, enum dtype dtype) {
    for (long i = 0; i < count; i++) values[i] = -INFINITY, places[i] = i;
    for (long at = 0; at < V; at += CHUNK) {
        const long end = at + CHUNK < V ? at + CHUNK : V;
        if (end - at == CHUNK && !(largest_of(row, at, dtype) > values[count - 1])) continue;
        for (long k = at; k < end; k++) {
            const float value = read_from(row, k, dtype);
            if (!(value > values[count - 1])) continue;
            long i = count - 1;
            for (; i > 0 && value > values[i - 1]; i--) values[i] = values[i - 1], places[i] = places[i - 1];
            values[i] = value, places[i] = k;
        }
    }
}

/* The `count` largest of each row (V), the largest first, of equal ones the first. values, places (T, count).
 * Without values, for a count of one, only the places. */
void largest(const void *rows, int dtype, long T, long V, long count, float *values, long *places, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (T * V > 4 * SMALL)
    for (long t = 0; t < T; t++) {
        float only, *found = values ? values + t * count : &only;
        WITH_DTYPE(dtype, largest_of_row(offset(rows, t * V, is), V, count, found, places + t * count, is));
    }
}
