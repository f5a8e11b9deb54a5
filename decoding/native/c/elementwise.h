/* Elementwise operations of a layer: norms, rotary embeddings, residual sums, activations. */
#pragma once

#include "thread_pool.h"
#include "vectors.h"

typedef struct {
    const transformer *m;
    const norm *by;
    const void *rows;
    void *out;
    long K;
} norming;

inlined void scale_row(const void *row, float mean, float inverse, const norm *by, void *out, long K, int early,
                       int biased, enum dtype dtype) {
#pragma omp simd
    for (long k = 0; k < K; k++) {
        const float exact = (read_from(row, k, dtype) - mean) * inverse;
        const float scaled = (early ? rounded(exact, dtype) : exact) * by->weight[k];
        write_to(out, k, biased ? scaled + by->bias[k] : scaled, dtype);
    }
}

inlined void norm_row(const transformer *m, const norm *by, const void *row, void *out, long K, enum dtype dtype) {
    float mean = 0, squares = 0;
    if (m->centred) {
#pragma omp simd reduction(+ : mean)
        for (long k = 0; k < K; k++) mean += read_from(row, k, dtype);
        mean /= K;
    }
#pragma omp simd reduction(+ : squares)
    for (long k = 0; k < K; k++) {
        const float from_mean = read_from(row, k, dtype) - mean;
        squares += from_mean * from_mean;
    }
    const float inverse = 1 / sqrtf(squares / K + m->eps);
    if (by->bias)
        scale_row(row, mean, inverse, by, out, K, 0, 1, dtype);
    else if (m->rounded_norms)
        scale_row(row, mean, inverse, by, out, K, 1, 0, dtype);
    else
        scale_row(row, mean, inverse, by, out, K, 0, 0, dtype);
}

static void norm_rows(const void *work, long first, long last) {
    const norming *w = work;
    for (long at = first * w->K; at < last * w->K; at += w->K)
        WITH_DTYPE(w->m->dtype, norm_row(w->m, w->by, offset(w->rows, at, is), offset(w->out, at, is), w->K, is));
}

/* (rows - their mean, if centred) / √(mean of squares + eps) · weight + bias; `out` may be `rows`. Returns `out`, or the
 * rows where there is no norm. */
static const void *normed_rows(const transformer *m, const norm *by, const void *rows, void *out, long count, long K) {
    if (!by->weight) return rows;
    const norming w = {m, by, rows, out, K};
    parallel_for(norm_rows, &w, count, count * K > 4 * SMALL ? m->threads : 1);
    return out;
}

typedef struct {
    const transformer *m;
    void *to;
    const void *what;
} pair;

inlined void add(const pair *w, long first, long last, enum dtype dtype) {
    void *restrict to = w->to;
    const void *restrict what = w->what;
    const float scale = w->m->residual_scale;
#pragma omp simd
    for (long at = first; at < last; at++)
        write_to(to, at, read_from(to, at, dtype) + rounded(read_from(what, at, dtype) * scale, dtype), dtype);
}

static void add_some(const void *work, long first, long last) {
    const pair *w = work;
    WITH_DTYPE(w->m->dtype, add(w, first, last, is));
}

/* to += what · the residual's multiplier */
static void add_all(const transformer *m, void *to, const void *what, long count) {
    const pair w = {m, to, what};
    parallel_for(add_some, &w, count, count > 4 * SMALL ? m->threads : 1);
}

/* Multiply in place. */
static void scale_all(void *what, float by, long count, enum dtype dtype) {
    if (by != 1) WITH_DTYPE(dtype, for (long at = 0; at < count; at++) write_to(what, at, read_from(what, at, is) * by, is));
}

/* The same where element 2i is paired with 2i + 1; the first half of the tables has a value for each pair. */
inlined void rotate_adjacent(const void *head, const void *cos, const void *sin, void *out, long D, enum dtype dtype) {
    for (long d = 0; d < D / 2; d++) {
        const float low = read_from(head, 2 * d, dtype), high = read_from(head, 2 * d + 1, dtype);
        const float c = read_from(cos, d, dtype), s = read_from(sin, d, dtype);
        write_to(out, 2 * d, rounded(low * c, dtype) + rounded(-high * s, dtype), dtype);
        write_to(out, 2 * d + 1, rounded(high * c, dtype) + rounded(low * s, dtype), dtype);
    }
}

/* Apply the rotary embedding to a head of size D; `out` may be the head. Element i is paired with i + D / 2. */
inlined void rotate(const void *head, const void *cos, const void *sin, void *out, long D, enum dtype dtype) {
    long d = 0;
    for (; d + LANES <= D / 2; d += LANES) {
        const long e = d + D / 2;
        const vector low = loaded(head, d, dtype), high = loaded(head, e, dtype);
        const vector turned_low = rounded_lanes(-high * loaded(sin, d, dtype), dtype);
        const vector turned_high = rounded_lanes(low * loaded(sin, e, dtype), dtype);
        put(out, d, rounded_lanes(low * loaded(cos, d, dtype), dtype) + turned_low, dtype);
        put(out, e, rounded_lanes(high * loaded(cos, e, dtype), dtype) + turned_high, dtype);
    }
    for (; d < D / 2; d++) {
        const long e = d + D / 2;
        const float low = read_from(head, d, dtype), high = read_from(head, e, dtype);
        const float turned_low = rounded(-high * read_from(sin, d, dtype), dtype);
        const float turned_high = rounded(low * read_from(sin, e, dtype), dtype);
        write_to(out, d, rounded(low * read_from(cos, d, dtype), dtype) + turned_low, dtype);
        write_to(out, e, rounded(high * read_from(cos, e, dtype), dtype) + turned_high, dtype);
    }
}

/* tanh(x), by its series where 1 - e⁻²ˣ would lose digits. */
inlined vector hyperbolic_tangent(vector x) {
    const vector one = (vector){0} + 1.0f, size = select_lanes(x < 0.0f, -x, x), square = x * x;
    const vector e = exponential(size * -2.0f), far = (one - e) / (one + e);
    const vector near = size * (one - square * (0.333333333f - square * (0.133333333f - square * 0.053968254f)));
    const vector y = select_lanes(size < 0.125f, near, far);
    return select_lanes(x == x, select_lanes(x < 0.0f, -y, y), x);
}

/* cap · tanh(x / cap) */
inlined vector capped(vector x, float cap, enum dtype dtype) {
    return rounded_lanes(hyperbolic_tangent(rounded_lanes(x / cap, dtype)), dtype) * cap;
}

inlined vector activated(vector x, enum activation by) {
    if (by == GELU_TANH) return 0.5f * x * (1.0f + hyperbolic_tangent(0.79788456f * (x + 0.044715f * x * x * x)));
    const vector e = exponential(select_lanes(x < 0.0f, x, -x)), one = (vector){0} + 1.0f;
    return x * select_lanes(x < 0.0f, e, one) / (one + e);
}

/* Multiply heads (count, D) by the sigmoids of their gates, each behind a query of its size. */
inlined void gate_heads(void *heads, const void *gated, long count, long D, enum dtype dtype) {
    for (long i = 0; i < count; i++)
        for (long d = 0; d < D; d += LANES) {
            const vector gate = loaded(gated, (2 * i + 1) * D + d, dtype), one = (vector){0} + 1.0f;
            const vector e = exponential(select_lanes(gate < 0.0f, gate, -gate));
            const vector open = rounded_lanes(select_lanes(gate < 0.0f, e, one) / (one + e), dtype);
            put(heads, i * D + d, loaded(heads, i * D + d, dtype) * open, dtype);
        }
}

/* Up to as many elements as there are lanes, and where they go. */
inlined vector loaded_some(const void *from, long at, long some, enum dtype dtype) {
    if (some >= LANES) return loaded(from, at, dtype);
    vector x = {0};
    for (long i = 0; i < some; i++) x[i] = read_from(from, at + i, dtype);
    return x;
}

inlined void put_some(void *to, long at, long some, vector x, enum dtype dtype) {
    if (some >= LANES)
        put(to, at, x, dtype);
    else
        for (long i = 0; i < some; i++) write_to(to, at + i, x[i], dtype);
}

inlined void activate(const pair *w, long first, long last, enum activation by, enum dtype dtype) {
    void *restrict gate = w->to;
    const void *restrict up = w->what;
    for (long at = first; at < last; at += LANES) {
        vector y = rounded_lanes(activated(loaded_some(gate, at, last - at, dtype), by), dtype);
        if (up) y *= loaded_some(up, at, last - at, dtype);
        put_some(gate, at, last - at, y, dtype);
    }
}

static void activate_some(const void *work, long first, long last) {
    const pair *w = work;
    if (w->m->activation == GELU_TANH)
        WITH_DTYPE(w->m->dtype, activate(w, first, last, GELU_TANH, is));
    else
        WITH_DTYPE(w->m->dtype, activate(w, first, last, SILU, is));
}

/* gate = activation(gate) · up, without up where it is null */
static void activate_all(const transformer *m, void *gate, const void *up, long count) {
    const pair w = {m, gate, up};
    parallel_for(activate_some, &w, count, count > SMALL / 4 ? m->threads : 1);
}

static void scale_some_logits(const void *work, long first, long last) {
    const pair *w = work;
    const float by = w->m->logit_scale, cap = w->m->logit_cap;
    for (long at = first; at < last; at += LANES)
        WITH_DTYPE(w->m->dtype, {
            const vector x = rounded_lanes(loaded_some(w->to, at, last - at, is) * by, is);
            put_some(w->to, at, last - at, cap ? capped(x, cap, is) : x, is);
        });
}

static void scale_logits(const transformer *m, void *logits, long count) {
    const pair w = {m, logits, 0};
    if (m->logit_scale != 1 || m->logit_cap) parallel_for(scale_some_logits, &w, count, count > SMALL ? m->threads : 1);
}
