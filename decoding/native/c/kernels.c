/* Products of a few rows by a weight, and whole steps of Llama-like models, where PyTorch's kernels take too long.
 *
 * A product is out (T, N) = rows (T, K) · weight (N, K)ᵀ + bias (N), with the weight as a linear layer holds it. Every
 * element is summed in an order that does not depend on T, and attention sums over the visible tokens in their order:
 * what a token yields is the same, bit for bit, whatever else is in the step. For few rows a step takes about as long
 * as the weights take to be read. Values are rounded where transformers rounds them.
 *
 * Compiled as one unit for the processor it runs on (see build.py): matrix tiles (AMX) where there are some, else vectors.
 */
#include "attention.h"
#include "draw.h"
#include "largest.h"
#include "products.h"

/* rows / √(mean of squares + eps) · weight; `out` may be `rows`. */
inlined void rms_norm(const void *rows, const void *weight, void *out, float eps, long count, long K, int threads,
                     enum dtype dtype) {
#pragma omp parallel for schedule(static) num_threads(threads) if (count * K > 4 * SMALL)
    for (long t = 0; t < count; t++) {
        const long row = t * K;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (long k = 0; k < K; k++) squares += read_from(rows, row + k, dtype) * read_from(rows, row + k, dtype);
        const float inverse = 1 / sqrtf(squares / K + eps);
#pragma omp simd
        for (long k = 0; k < K; k++) {
            const float normed = rounded(read_from(rows, row + k, dtype) * inverse, dtype);
            write_to(out, row + k, normed * read_from(weight, k, dtype), dtype);
        }
    }
}

inlined void add(void *restrict to, const void *restrict what, long count, int threads, enum dtype dtype) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (count > 4 * SMALL)
    for (long at = 0; at < count; at++)
        write_to(to, at, read_from(to, at, dtype) + read_from(what, at, dtype), dtype);
}

/* Rotate a head of size D by its position, into `out`: halves, not neighbours, are paired. */
inlined void rotate(const void *restrict head, const void *restrict cos, const void *restrict sin, void *restrict out,
                    long D, enum dtype dtype) {
    for (long d = 0; d < D / 2; d++) {
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
        const vector e = exponential(choose(x < 0.0f, x, -x)), one = (vector){0} + 1.0f;
        vector y = x * choose(x < 0.0f, e, one) / (one + e);
        if (dtype == BFLOAT16) y = (vector)(narrowed_lanes(y) << 16);
        y *= other;
        if (some == LANES)
            put(gate, at, y, dtype);
        else
            for (long i = 0; i < some; i++) write_to(gate, at + i, y[i], dtype);
    }
}

static void activate_all(void *gate, const void *up, long count, const activations *a) {
    const long part = 1024;
#pragma omp parallel for schedule(dynamic) num_threads(a->threads) if (count > SMALL)
    for (long at = 0; at < count; at += part) {
        const long some = count - at < part ? count - at : part;
        WITH_DTYPE(a->dtype, activate(offset(gate, at, is), offset(up, at, is), some, is));
    }
}

/* Rotate the queries in place; write the rotated keys, and the values, behind the cached ones. */
inlined void place(const transformer *m, const layer *l, void *queries, void *keys, const void *values,
                   const long *depths, long T, long cached, enum dtype dtype) {
    const long D = m->head_size, H = m->heads, G = m->kv_heads;
    const long size = dtype == BFLOAT16 ? 2 : 4;
    if (l->query_norm) rms_norm(queries, l->query_norm, queries, m->eps, T * H, D, m->threads, dtype);
    if (l->key_norm) rms_norm(keys, l->key_norm, keys, m->eps, T * G, D, m->threads, dtype);
#pragma omp parallel for schedule(static) num_threads(m->threads) if (T * (H + G) * D > 4 * SMALL)
    for (long t = 0; t < T; t++) {
        char turned[4 * MAX_VECTORS * LANES];
        const long at = (cached + depths[t]) * D;
        const void *c = offset(m->cos, at, dtype), *s = offset(m->sin, at, dtype);
        for (long h = 0; h < H; h++) {
            void *query = offset(queries, (t * H + h) * D, dtype);
            rotate(query, c, s, turned, D, dtype);
            memcpy(query, turned, D * size);
        }
        for (long g = 0; g < G; g++) {
            const long from = (t * G + g) * D, to = (g * m->capacity + cached + t) * D;
            rotate(offset(keys, from, dtype), c, s, offset(l->keys, to, dtype), D, dtype);
            memcpy(offset(l->values, to, dtype), offset(values, from, dtype), D * size);
        }
    }
}

/* One forward pass over T tokens.
 *
 * tokens (T): their ids; embedded (T, width): their embeddings, overwritten, if the model has no table of them.
 * visible (T, T): which of the step's tokens each one sees; all see the cached ones. depths (T): their positions behind
 * the cached ones. logits (reads, vocabulary): of the rows `read`. Returns 0 without a step if an id is unknown.
 */
int run_step(const transformer *m, const long *tokens, void *embedded, long T, long cached, const uint8_t *visible,
             const long *depths, const long *read, long reads, void *logits) {
    const enum dtype dtype = m->dtype;
    const activations a = {dtype, T, m->threads, m->tiles};
    const long W = m->width, Q = m->heads * m->head_size, V = m->kv_heads * m->head_size;
    void *normed = scratch(NORMED, 4 * T * W), *attended = scratch(ATTENDED, 4 * T * Q);
    void *queries = scratch(QUERIES, 4 * T * (Q + 2 * V)), *keys = (char *)queries + 4 * T * Q;
    void *values = (char *)keys + 4 * T * V, *gate = scratch(GATES, 4 * T * m->inner), *up = scratch(UPS, 4 * T * m->inner);
    void *hidden = m->embedding.weight ? scratch(HIDDEN, 4 * T * W) : embedded;
    for (long t = 0; t < T && m->embedding.weight; t++) {
        if (tokens[t] < 0 || tokens[t] >= m->embedding.N) return 0;
        WITH_DTYPE(dtype, memcpy(offset(hidden, t * W, is), offset(m->embedding.weight, tokens[t] * W, is),
                                 W * (is == BFLOAT16 ? 2 : 4)));
    }
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        WITH_DTYPE(dtype, rms_norm(hidden, l->attention_norm, normed, m->eps, T, W, m->threads, is));
        multiply_all((const linear *const[]){&l->query, &l->key, &l->value}, (void *const[]){queries, keys, values}, 3,
                     normed, &a);
        WITH_DTYPE(dtype, place(m, l, queries, keys, values, depths, T, cached, is));
        attend_all(m, l, queries, attended, T, cached, visible);
        multiply_one(&l->output, normed, attended, &a);
        WITH_DTYPE(dtype, add(hidden, normed, T * W, m->threads, is));
        WITH_DTYPE(dtype, rms_norm(hidden, l->mlp_norm, normed, m->eps, T, W, m->threads, is));
        multiply_all((const linear *const[]){&l->gate, &l->up}, (void *const[]){gate, up}, 2, normed, &a);
        activate_all(gate, up, T * m->inner, &a);
        multiply_one(&l->down, normed, gate, &a);
        WITH_DTYPE(dtype, add(hidden, normed, T * W, m->threads, is));
    }
    for (long i = 0; i < reads; i++)
        WITH_DTYPE(dtype, rms_norm(offset(hidden, read[i] * W, is), m->norm, offset(normed, i * W, is), m->eps, 1, W, 1, is));
    const activations of_head = {dtype, reads, m->threads, m->tiles};
    multiply_one(&m->head, logits, normed, &of_head);
    return 1;
}

/* Move tokens of the cache to consecutive places from `to` on. from (count): rising, none before its new place. */
void move_tokens(const transformer *m, const long *from, long count, long to) {
    const long bytes = m->head_size * (m->dtype == BFLOAT16 ? 2 : 4);
    for (long i = 0; i < m->layers; i++)
        for (long head = 0; head < m->kv_heads; head++)
            for (long j = 0; j < count; j++) {
                const long old = (head * m->capacity + from[j]) * bytes, new = (head * m->capacity + to + j) * bytes;
                memmove((char *)m->layer[i].keys + new, (const char *)m->layer[i].keys + old, bytes);
                memmove((char *)m->layer[i].values + new, (const char *)m->layer[i].values + old, bytes);
            }
}
