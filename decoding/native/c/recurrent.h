/* Layers with a recurrent state in the place of attention: short convolutions (LFM2), gated delta rules (Qwen3.5).
 *
 * Tokens are read one after another, however many a step has, so that it is plain steps bit for bit. What a token adds to
 * a state is kept beside it until the step after: to go back to any token of the last step costs nothing.
 */
#pragma once

#include "elementwise.h"
#include "products.h"

enum { BLOCK_OF_STATE = 16 }; /* columns of a state updated at a time, and channels of a convolution */

typedef struct {
    const transformer *m;
    const layer *l;
    long T;
    const void *rows; /* (T, …), what the convolution reads */
    float *columns;   /* (taps - 1 + T, channels), with the inputs before the step first */
    void *out;
} convolving;

/* The columns of a step, of which the first are the last ones before it; null if there is no memory. */
static float *gathered_columns(const transformer *m, const layer *l, long T) {
    float *columns = scratch(COLUMNS, 4 * (m->taps - 1 + T) * m->channels);
    if (columns)
        memcpy(columns, l->recurrence.columns + m->pending * m->channels, 4 * (m->taps - 1) * m->channels);
    return columns;
}

/* Keep the columns that the next step may need. */
static void keep_columns(const transformer *m, const layer *l, const float *columns, long T) {
    memcpy(l->recurrence.columns, columns + m->settled * m->channels, 4 * (m->taps - 1 + T - m->settled) * m->channels);
}

/* Channels c … c + LANES of the convolution at row t. */
inlined vector convolved(const convolving *w, long t, long c, enum dtype dtype) {
    const recurrence *r = &w->l->recurrence;
    const long channels = w->m->channels;
    vector sum = {0};
    for (long tap = 0; tap < w->m->taps; tap++)
        sum += loaded(w->columns, (t + tap) * channels + c, FLOAT32) * loaded(r->taps, tap * channels + c, FLOAT32);
    return rounded_lanes(r->taps_bias ? sum + loaded(r->taps_bias, c, FLOAT32) : sum, dtype);
}

/* Blocks of channels of rows (T, 3 · channels): a gate of the input, a gate of the output, the input. */
inlined void convolve_gated(const convolving *w, long first, long last, enum dtype dtype) {
    const long channels = w->m->channels, before = w->m->taps - 1;
    for (long c = first * BLOCK_OF_STATE; c < last * BLOCK_OF_STATE; c += LANES)
        for (long t = 0; t < w->T; t++) {
            const long at = 3 * t * channels + c;
            const vector input = loaded(w->rows, at, dtype) * loaded(w->rows, at + 2 * channels, dtype);
            put(w->columns, (before + t) * channels + c, rounded_lanes(input, dtype), FLOAT32);
            put(w->out, t * channels + c, loaded(w->rows, at + channels, dtype) * convolved(w, t, c, dtype), dtype);
        }
}

static void convolve_some_gated(const void *work, long first, long last) {
    const convolving *w = work;
    WITH_DTYPE(w->m->dtype, convolve_gated(w, first, last, is));
}

/* out (T, channels) of a short convolution; rows (T, 3 · channels) is room for its inputs. */
static void short_convolution(const transformer *m, const layer *l, const void *input, void *rows, void *out,
                              const activations *a) {
    multiply_one(&l->query, rows, input, a);
    float *columns = gathered_columns(m, l, a->T);
    if (!columns) {
        atomic_store(a->no_memory, 1);
        return;
    }
    const convolving w = {m, l, a->T, rows, columns, out};
    parallel_for(convolve_some_gated, &w, m->channels / BLOCK_OF_STATE, a->T * m->channels > SMALL ? m->threads : 1);
    keep_columns(m, l, columns, a->T);
}
