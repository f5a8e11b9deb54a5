/* Layers with a recurrent state in the place of attention: short convolutions (LFM2), gated delta rules (Qwen3.5).
 *
 * Tokens are read one after another, so a step over several gives the results of plain steps bit for bit. What each adds
 * to a state is kept beside it until the next step, so that any of the last step's tokens can be undone at no cost.
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

/* Blocks of channels of rows (T, channels), activated; out (T, channels) is float32. */
inlined void convolve_activated(const convolving *w, long first, long last, enum dtype dtype) {
    const long channels = w->m->channels, before = w->m->taps - 1;
    for (long c = first * BLOCK_OF_STATE; c < last * BLOCK_OF_STATE; c += LANES)
        for (long t = 0; t < w->T; t++) {
            put(w->columns, (before + t) * channels + c, loaded(w->rows, t * channels + c, dtype), FLOAT32);
            put(w->out, t * channels + c, rounded_lanes(activated(convolved(w, t, c, dtype), SILU), dtype), FLOAT32);
        }
}

static void convolve_some_activated(const void *work, long first, long last) {
    const convolving *w = work;
    WITH_DTYPE(w->m->dtype, convolve_activated(w, first, last, is));
}

typedef struct {
    const transformer *m;
    const layer *l;
    long T;
    float *mixed;  /* (T, channels): queries, keys, values */
    float *rates;  /* (T, 2, value_heads): by how much a state decays, and how much of a new value it takes */
    float *values; /* (T, value_heads, value_size), as the state gives them, and their gates */
    const void *gates;
    void *out;
} mixing_by_delta;

/* Where the updates of a pending token are: keys (key_heads, key_size), their factors (value_heads, value_size), decays. */
inlined float *updates_of(const mixing_by_delta *w, long pending) {
    const transformer *m = w->m;
    return w->l->recurrence.updates + pending * (m->key_heads * m->key_size + m->value_heads * (m->value_size + 1));
}

/* Norm a query or key to a length. */
inlined void to_length(float *row, long size, float length) {
    vector squares = {0};
    for (long d = 0; d < size; d += LANES) squares += loaded(row, d, FLOAT32) * loaded(row, d, FLOAT32);
    const float by = length / sqrtf(sum_of(squares) + 1e-6f);
    for (long d = 0; d < size; d += LANES) put(row, d, loaded(row, d, FLOAT32) * by, FLOAT32);
}

/* Queries and keys of heads of rows, each number of item a row's query or key. */
static void norm_keys(const void *work, long first, long last) {
    const mixing_by_delta *w = work;
    const long heads = 2 * w->m->key_heads, size = w->m->key_size;
    for (long i = first; i < last; i++)
        to_length(w->mixed + i / heads * w->m->channels + i % heads * size, size, i % heads < heads / 2 ? 1 / sqrtf(size) : 1);
}

/* rates from products (2, T, value_heads) of the layers of decays and rates. */
inlined void make_rates(const mixing_by_delta *w, const void *products, enum dtype dtype) {
    const recurrence *r = &w->l->recurrence;
    const long heads = w->m->value_heads;
    for (long t = 0; t < w->T; t++)
        for (long h = 0; h < heads; h++) {
            const float x = read_from(products, t * heads + h, dtype) + r->decay_bias[h];
            const float beta = read_from(products, (w->T + t) * heads + h, dtype);
            const float softened = x > 20 ? x : log1pf(expf(x)); /* softplus */
            w->rates[2 * t * heads + h] = expf(r->log_decay[h] * softened);
            w->rates[(2 * t + 1) * heads + h] = rounded(1 / (1 + expf(-beta)), dtype);
        }
}

/* What a state's columns (key_size, BLOCK_OF_STATE) give a key: sums over its elements. */
inlined void recall(const float *state, const float *key, long size, float *sums) {
    enum { PARTS_OF_BLOCK = BLOCK_OF_STATE / LANES, AT_ONCE = 4 };
    vector of[AT_ONCE][PARTS_OF_BLOCK];
    memset(of, 0, sizeof of);
    for (long d = 0; d < size; d += AT_ONCE)
        UNROLL(4)
        for (int i = 0; i < AT_ONCE; i++)
            UNROLL(2)
            for (int part = 0; part < PARTS_OF_BLOCK; part++)
                of[i][part] += loaded(state, (d + i) * BLOCK_OF_STATE + part * LANES, FLOAT32) * key[d + i];
    for (int part = 0; part < PARTS_OF_BLOCK; part++)
        put(sums, part * LANES, (of[0][part] + of[1][part]) + (of[2][part] + of[3][part]), FLOAT32);
}

/* Let a block of a head's state decay, and add a key's outer product with its factors. */
inlined void renew(float *state, float decay, const float *key, const float *factors, long size) {
    for (long d = 0; d < size; d++)
        for (int part = 0; part < BLOCK_OF_STATE; part += LANES) {
            const vector old = loaded(state, d * BLOCK_OF_STATE + part, FLOAT32);
            put(state, d * BLOCK_OF_STATE + part, old * decay + loaded(factors, part, FLOAT32) * key[d], FLOAT32);
        }
}

/* A block of a head's state: first the tokens that are pending, then the step's, of which the last are left pending. One
 * loop for both, so that all are contracted to the same multiplications and additions. */
inlined void run_block(const mixing_by_delta *w, long head, long block) {
    const transformer *m = w->m;
    const long size = m->key_size, heads = m->value_heads, of_keys = m->key_heads * size, pending = m->pending;
    const long key_at = head / (heads / m->key_heads) * size, value_at = head * m->value_size + block * BLOCK_OF_STATE;
    float *kept = w->l->recurrence.state + value_at * size, factors[BLOCK_OF_STATE] ALIGNED, *stored;
    float state[MAX_HEAD * BLOCK_OF_STATE] ALIGNED;
    memcpy(state, kept, size * sizeof factors);
    for (long at = -pending; at <= w->T; at++) {
        if (at == m->settled && pending + at > 0) memcpy(kept, state, size * sizeof factors);
        if (at == w->T) break;
        const float *key, *decay;
        if (at < 0) {
            key = updates_of(w, pending + at) + key_at;
            stored = updates_of(w, pending + at) + of_keys + value_at;
            decay = updates_of(w, pending + at) + of_keys + heads * m->value_size + head;
        } else {
            key = w->mixed + at * m->channels + of_keys + key_at;
            decay = w->rates + 2 * at * heads + head;
            stored = at < m->settled ? factors : updates_of(w, at - m->settled) + of_keys + value_at;
            recall(state, key, size, stored);
            for (int part = 0; part < BLOCK_OF_STATE; part += LANES) {
                const vector value = loaded(w->mixed, at * m->channels + 2 * of_keys + value_at + part, FLOAT32);
                put(stored, part, (value - loaded(stored, part, FLOAT32) * *decay) * decay[heads], FLOAT32);
            }
        }
        renew(state, *decay, key, stored, size);
        if (at >= 0) recall(state, w->mixed + at * m->channels + key_at, size, w->values + at * heads * m->value_size + value_at);
    }
}

static void run_blocks(const void *work, long first, long last) {
    const mixing_by_delta *w = work;
    const long of_head = w->m->value_size / BLOCK_OF_STATE;
    for (long item = first; item < last; item++) run_block(w, item / of_head, item % of_head);
}

/* A head of a row: normed, by the norm's weight, and gated. */
inlined void gate_values(const mixing_by_delta *w, long at, enum dtype dtype) {
    const long size = w->m->value_size, heads = w->m->value_heads, keys = w->m->key_heads, head = at % heads;
    const long to = at - head + (w->l->recurrence.tiled ? head % (heads / keys) * keys + head / (heads / keys) : head);
    const float *values = w->values + at * size, *weight = w->l->recurrence.gated_norm.weight;
    vector squares = {0};
    for (long d = 0; d < size; d += LANES) {
        const vector value = rounded_lanes(loaded(values, d, FLOAT32), dtype);
        squares += value * value;
    }
    const float by = 1 / sqrtf(sum_of(squares) / size + w->m->eps);
    for (long d = 0; d < size; d += LANES) {
        const vector normed = rounded_lanes(rounded_lanes(loaded(values, d, FLOAT32), dtype) * by, dtype);
        const vector scaled = rounded_lanes(normed * loaded(weight, d, FLOAT32), dtype);
        put(w->out, to * size + d, scaled * activated(loaded(w->gates, at * size + d, dtype), SILU), dtype);
    }
}

static void gate_some_values(const void *work, long first, long last) {
    const mixing_by_delta *w = work;
    for (long at = first; at < last; at++) WITH_DTYPE(w->m->dtype, gate_values(w, at, is));
}

/* out (T, value_heads, value_size) of a gated delta rule; rows (T, 2 · channels) is room for its inputs and gates. */
static void delta_rule(const transformer *m, const layer *l, const void *input, void *rows, void *out,
                       const activations *a) {
    const recurrence *r = &l->recurrence;
    const long T = a->T, heads = m->value_heads, of_keys = m->key_heads * m->key_size, all = heads * m->value_size;
    float *columns = gathered_columns(m, l, T), *mixed = scratch(MIXED, 4 * T * (m->channels + all));
    float *rates = scratch(RATES, 4 * 4 * T * heads);
    if (!columns || !mixed || !rates) {
        atomic_store(a->no_memory, 1);
        return;
    }
    void *products = rates + 2 * T * heads, *gates = offset(rows, T * m->channels, a->dtype);
    multiply_all((const linear *const[]){&l->query, &l->key}, (void *const[]){rows, gates}, 2, input, a);
    multiply_all((const linear *const[]){&r->decay, &r->beta}, (void *const[]){products, offset(products, T * heads, a->dtype)},
                 2, input, a);
    const convolving c = {m, l, T, rows, columns, mixed};
    parallel_for(convolve_some_activated, &c, m->channels / BLOCK_OF_STATE, T * m->channels > SMALL / 4 ? m->threads : 1);
    keep_columns(m, l, columns, T);
    const mixing_by_delta w = {m, l, T, mixed, rates, mixed + T * m->channels, gates, out};
    parallel_for(norm_keys, &w, T * 2 * m->key_heads, T * of_keys > SMALL ? m->threads : 1);
    WITH_DTYPE(m->dtype, make_rates(&w, products, is));
    parallel_for(run_blocks, &w, all / BLOCK_OF_STATE, (m->pending + T) * all * m->key_size > SMALL ? m->threads : 1);
    for (long t = m->settled; t < T; t++) { /* the factors stand there already */
        float *updates = updates_of(&w, t - m->settled);
        memcpy(updates, mixed + t * m->channels + of_keys, 4 * of_keys);
        memcpy(updates + of_keys + all, rates + 2 * t * heads, 4 * heads);
    }
    parallel_for(gate_some_values, &w, T * heads, T * all > SMALL / 4 ? m->threads : 1);
}
