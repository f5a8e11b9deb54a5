/* Products of a few rows by a weight, and whole steps of Llama-like models, where PyTorch's kernels take too long.
 *
 * A product is out (T, N) = rows (T, K) · weight (N, K)ᵀ + bias (N), with the weight as a linear layer holds it. The
 * kernels are batch-invariant: every element is summed in an order that does not depend on T, and attention sums over
 * the visible tokens in their order, so a token's output is the same, bit for bit, whatever else is in the step. For few
 * rows a step is bound by the time to read the weights. Values are rounded where transformers rounds them.
 *
 * Compiled as one unit for the processor it runs on (see build.py): matrix tiles (AMX) where there are some, else vectors.
 */
#include "attention.h"
#include "draw.h"
#include "largest.h"
#include "products.h"

typedef struct {
    const transformer *m;
    const layer *l;
    void *queries;
    const void *keys, *values;
    const long *depths;
    long cached;
} placing;

inlined void place_token(const placing *w, long t, enum dtype dtype) {
    const transformer *m = w->m;
    const long D = m->head_size, H = m->heads, G = m->kv_heads, at = (w->cached + w->depths[t]) * D;
    const void *c = offset(m->cos, at, dtype), *s = offset(m->sin, at, dtype);
    for (long h = 0; h < H; h++) {
        void *query = offset(w->queries, (t * H + h) * D, dtype);
        rotate(query, c, s, query, D, dtype);
    }
    for (long g = 0; g < G; g++) {
        const long from = (t * G + g) * D, to = (g * m->capacity + w->cached + t) * D;
        rotate(offset(w->keys, from, dtype), c, s, offset(w->l->keys, to, dtype), D, dtype);
        memcpy(offset(w->l->values, to, dtype), offset(w->values, from, dtype), D * (dtype == BFLOAT16 ? 2 : 4));
    }
}

static void place_tokens(const void *work, long first, long last) {
    const placing *w = work;
    for (long t = first; t < last; t++) WITH_DTYPE(w->m->dtype, place_token(w, t, is));
}

/* Rotate the queries in place; append the rotated keys, and the values, to the cache. */
static void place(const transformer *m, const layer *l, void *queries, void *keys, const void *values,
                  const long *depths, long T, long cached) {
    const long D = m->head_size, H = m->heads, G = m->kv_heads;
    if (l->query_norm) rms_norm(queries, l->query_norm, queries, m->eps, T * H, D, m->dtype, m->threads);
    if (l->key_norm) rms_norm(keys, l->key_norm, keys, m->eps, T * G, D, m->dtype, m->threads);
    const placing w = {m, l, queries, keys, values, depths, cached};
    parallel_for(place_tokens, &w, T, T * (H + G) * D > 4 * SMALL ? m->threads : 1);
}

/* One forward pass over T tokens.
 *
 * tokens (T): their ids; embedded (T, width): their embeddings, overwritten, if the model has no table of them.
 * visible (T, T): the mask among the step's tokens; all of them see the cached ones. depths (T): positions, counted from
 * the end of the cache. logits (reads, vocabulary): of the rows `read`. Returns 1; 0 if an id is unknown and nothing was
 * done; -1 if memory ran out, which leaves invalid logits, keys and values.
 */
int run_step(const transformer *m, const long *tokens, void *embedded, long T, long cached, const uint8_t *visible,
             const long *depths, const long *read, long reads, void *logits) {
    const enum dtype dtype = m->dtype;
    atomic_int no_memory = 0;
    const activations a = {dtype, T, m->threads, m->tiles, 0, &no_memory};
    const long W = m->width, Q = m->heads * m->head_size, V = m->kv_heads * m->head_size;
    void *normed = scratch(NORMED, 4 * T * W), *attended = scratch(ATTENDED, 4 * T * Q);
    void *queries = scratch(QUERIES, 4 * T * (Q + 2 * V));
    void *gate = scratch(GATES, 4 * T * m->inner), *up = scratch(UPS, 4 * T * m->inner);
    void *hidden = m->embedding.weight ? scratch(HIDDEN, 4 * T * W) : embedded;
    if (!normed || !attended || !queries || !gate || !up || !hidden) return -1;
    void *keys = (char *)queries + 4 * T * Q, *values = (char *)keys + 4 * T * V;
    for (long t = 0; t < T && m->embedding.weight; t++) {
        if (tokens[t] < 0 || tokens[t] >= m->embedding.N) return 0;
        if (m->embedding.packing)
            unpack_row(&m->embedding, tokens[t], (float *)hidden + t * W);
        else
            WITH_DTYPE(dtype, memcpy(offset(hidden, t * W, is), offset(m->embedding.weight, tokens[t] * W, is),
                                     W * (is == BFLOAT16 ? 2 : 4)));
    }
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        rms_norm(hidden, l->attention_norm, normed, m->eps, T, W, dtype, m->threads);
        multiply_all((const linear *const[]){&l->query, &l->key, &l->value}, (void *const[]){queries, keys, values}, 3,
                     normed, &a);
        place(m, l, queries, keys, values, depths, T, cached);
        attend_all(m, l, queries, attended, &a, cached, visible);
        multiply_one(&l->output, normed, attended, &a);
        add_all(hidden, normed, T * W, &a);
        rms_norm(hidden, l->mlp_norm, normed, m->eps, T, W, dtype, m->threads);
        multiply_all((const linear *const[]){&l->gate, &l->up}, (void *const[]){gate, up}, 2, normed, &a);
        activate_all(gate, up, T * m->inner, &a);
        multiply_one(&l->down, normed, gate, &a);
        add_all(hidden, normed, T * W, &a);
    }
    for (long i = 0; i < reads; i++)
        rms_norm(offset(hidden, read[i] * W, dtype), m->norm, offset(normed, i * W, dtype), m->eps, 1, W, dtype, 1);
    const activations of_head = {dtype, reads, m->threads, m->tiles, 0, &no_memory};
    multiply_one(&m->head, logits, normed, &of_head);
    return no_memory ? -1 : 1;
}

/* Move cached tokens to consecutive places from `to` on. from (count): ascending, none before its new place. */
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
