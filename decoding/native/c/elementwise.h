/* Elementwise operations of a layer: norms, rotary embeddings, residual sums, activations. */
#pragma once

#include "team.h"
#include "vectors.h"

typedef struct {
    const void *rows, *weight;
    void *out;
    float eps;
    long K;
    enum dtype dtype;
} norming;

inlined void norm_row(const void *row, const void *weight, void *out, float eps, long K, enum dtype dtype) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (long k = 0; k < K; k++) squares += read_from(row, k, dtype) * read_from(row, k, dtype);
    const float inverse = 1 / sqrtf(squares / K + eps);
#pragma omp simd
    for (long k = 0; k < K; k++) {
        const float normed = rounded(read_from(row, k, dtype) * inverse, dtype);
        write_to(out, k, normed * read_from(weight, k, dtype), dtype);
    }
}

static void norm_rows(const void *work, long first, long last) {
    const norming *w = work;
    for (long at = first * w->K; at < last * w->K; at += w->K)
        WITH_DTYPE(w->dtype, norm_row(offset(w->rows, at, is), w->weight, offset(w->out, at, is), w->eps, w->K, is));
}

/* rows / √(mean of squares + eps) · weight; `out` may be `rows`. */
static void rms_norm(const void *rows, const void *weight, void *out, float eps, long count, long K, enum dtype dtype,
                     int threads) {
    const norming w = {rows, weight, out, eps, K, dtype};
    parallel_for(norm_rows, &w, count, count * K > 4 * SMALL ? threads : 1);
}

typedef struct {
    void *to;
    const void *what;
    enum dtype dtype;
} pair;

inlined void add(void *restrict to, const void *restrict what, long first, long last, enum dtype dtype) {
#pragma omp simd
    for (long at = first; at < last; at++)
        write_to(to, at, read_from(to, at, dtype) + read_from(what, at, dtype), dtype);
}

static void add_some(const void *work, long first, long last) {
    const pair *w = work;
    WITH_DTYPE(w->dtype, add(w->to, w->what, first, last, is));
}

static void add_all(void *to, const void *what, long count, const activations *a) {
    const pair w = {to, what, a->dtype};
    parallel_for(add_some, &w, count, count > 4 * SMALL ? a->threads : 1);
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

/* gate = silu(gate) · up */
inlined void activate(void *restrict gate, const void *restrict up, long count, enum dtype dtype) {
    for (long at = 0; at < count; at += LANES) {
        vector x = {0}, other = {0};
        const long some = count - at < LANES ? count - at : LANES;
        if (some == LANES)
            x = loaded(gate, at, dtype), other = loaded(up, at, dtype);
        else
            for (long i = 0; i < some; i++) x[i] = read_from(gate, at + i, dtype), other[i] = read_from(up, at + i, dtype);
        const vector e = exponential(select_lanes(x < 0.0f, x, -x)), one = (vector){0} + 1.0f;
        vector y = x * select_lanes(x < 0.0f, e, one) / (one + e);
        y = rounded_lanes(y, dtype);
        y *= other;
        if (some == LANES)
            put(gate, at, y, dtype);
        else
            for (long i = 0; i < some; i++) write_to(gate, at + i, y[i], dtype);
    }
}

static void activate_some(const void *work, long first, long last) {
    const pair *w = work;
    WITH_DTYPE(w->dtype, activate(offset(w->to, first, is), offset(w->what, first, is), last - first, is));
}

static void activate_all(void *gate, const void *up, long count, const activations *a) {
    const pair w = {gate, up, a->dtype};
    parallel_for(activate_some, &w, count, count > SMALL / 4 ? a->threads : 1);
}
