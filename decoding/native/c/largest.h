/* The largest logits of each row. */
#pragma once

#include "thread_pool.h"
#include "vectors.h"

#define CHUNK 128

inlined float largest_of(const void *row, long at, enum dtype dtype) {
    vector most = (vector){0} - INFINITY; /* NaN is ignored: it compares as not larger */
    for (long k = 0; k < CHUNK; k += LANES) {
        const vector these = loaded(row, at + k, dtype);
        most = select_lanes(these > most, these, most);
    }
    float largest = most[0];
    for (long lane = 1; lane < LANES; lane++) largest = most[lane] > largest ? most[lane] : largest;
    return largest;
}

inlined void largest_of_row(const void *row, long V, long count, float *values, long *places, enum dtype dtype) {
    /* First the maximum of each chunk: the count-th largest of these is a lower bound of the values sought. */
    float largest[V / CHUNK + 1];
    for (long i = 0; i < count; i++) values[i] = -INFINITY;
    for (long chunk = 0; chunk < V / CHUNK; chunk++) {
        const float value = largest[chunk] = largest_of(row, chunk * CHUNK, dtype);
        if (!(value > values[count - 1])) continue;
        long i = count - 1;
        for (; i > 0 && value > values[i - 1]; i--) values[i] = values[i - 1];
        values[i] = value;
    }
    const float least = values[count - 1];
    long found = 0;
    for (long i = 0; i < count; i++) values[i] = -INFINITY;
    for (long at = 0; at < V; at += CHUNK) {
        const int whole = at + CHUNK <= V;
        const long end = whole ? at + CHUNK : V;
        if (whole && (largest[at / CHUNK] < least || !(largest[at / CHUNK] > values[count - 1]))) continue;
        for (long k = at; k < end; k++) {
            const float value = read_from(row, k, dtype);
            if (!(value > values[count - 1])) continue;
            long i = count - 1;
            for (; i > 0 && value > values[i - 1]; i--) values[i] = values[i - 1], places[i] = places[i - 1];
            values[i] = value, places[i] = k;
            found += found < count;
        }
    }
    for (long k = 0; found < count; k++) { /* the first of those that are -inf or NaN */
        long i = 0;
        while (i < found && places[i] != k) i++;
        if (i == found) places[found++] = k;
    }
}

typedef struct {
    const void *rows;
    enum dtype dtype;
    long V, count;
    float *values;
    long *places;
} searching;

static void search_rows(const void *work, long first, long last) {
    const searching *w = work;
    for (long t = first; t < last; t++) {
        float only, *found = w->values ? w->values + t * w->count : &only;
        long *places = w->places + t * w->count;
        WITH_DTYPE(w->dtype, largest_of_row(offset(w->rows, t * w->V, is), w->V, w->count, found, places, is));
    }
}

/* The `count` largest of each row (V), the largest first, of equal ones the first. values, places (T, count).
 * Without values, for a count of one, only the places. */
void largest(const void *rows, int dtype, long T, long V, long count, float *values, long *places, int threads) {
    const searching w = {rows, dtype, V, count, values, places};
    parallel_for(search_rows, &w, T, T * V > 4 * SMALL ? threads : 1);
}
