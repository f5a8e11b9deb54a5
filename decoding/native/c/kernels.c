/* Products of a few rows by a weight, and whole steps of models whose forward pass is known, where PyTorch's kernels
 * take too long.
 *
 * A product is out (T, N) = rows (T, K) · weight (N, K)ᵀ + bias (N), with the weight as a linear layer holds it. The
 * kernels are batch-invariant: every element is summed in an order that does not depend on T, and attention sums over
 * the visible tokens in their order, so a token's output is the same, bit for bit, whatever else is in the step. For few
 * rows a step is bound by the time to read the weights. Values are rounded where transformers rounds them.
 *
 * Compiled for the processor it runs on (see build.py): matrix tiles (AMX) where there are some, else vectors.
 */
#include "attention.h"
#include "draw.h"
#include "experts.h"
#include "packed_head.h"
#include "products.h"
#include "recurrent.h"

typedef struct {
    const transformer *m;
    const layer *l;
    void *queries, *keys;
    const void *values;
    const long *depths;
    long cached;
} placing;

inlined void turn(const placing *w, long t, void *head, enum dtype dtype) {
    const transformer *m = w->m;
    const long rotary = w->l->rotary;
    if (rotary < 0) return;
    const long R = m->rotated[rotary], at = (w->cached + w->depths[t]) * R;
    const void *c = offset(m->cos[rotary], at, dtype), *s = offset(m->sin[rotary], at, dtype);
    if (m->adjacent)
        rotate_adjacent(head, c, s, head, R, dtype);
    else
        rotate(head, c, s, head, R, dtype);
}

inlined void place_token(const placing *w, long t, enum dtype dtype) {
    const transformer *m = w->m;
    const long D = m->head_size, H = m->heads, G = m->kv_heads;
    for (long h = 0; h < H; h++) {
        void *query = offset(w->queries, (t * H + h) * D, dtype);
        turn(w, t, query, dtype);
        if (m->norms_last) norm_row(m, &w->l->query_norm, query, query, D, dtype);
        if (m->query_scales) scale_all(query, m->query_scales[w->cached + w->depths[t]], D, dtype);
    }
    for (long g = 0; g < G && !w->l->shares; g++) {
        const long from = (t * G + g) * D, to = (g * m->capacity + w->cached + t) * D;
        void *key = offset(w->keys, from, dtype), *value = offset(w->values, from, dtype);
        turn(w, t, key, dtype);
        if (m->norms_last) norm_row(m, &w->l->key_norm, key, key, D, dtype);
        WITH_FLOAT_DTYPE(m->cache_dtype, {
            for (long d = 0; d < D; d += LANES) put(offset(w->l->keys, to, is), d, loaded(key, d, dtype), is);
            for (long d = 0; d < D; d += LANES) put(offset(w->l->values, to, is), d, loaded(value, d, dtype), is);
        });
    }
}

static void place_tokens(const void *work, long first, long last) {
    const placing *w = work;
    for (long t = first; t < last; t++) WITH_DTYPE(w->m->dtype, place_token(w, t, is));
}

/* Norm and rotate the queries in place; append the keys, likewise, and the values to the cache. */
static void place(const transformer *m, const layer *l, void *queries, void *keys, void *values,
                  const long *depths, long T, long cached) {
    const long D = m->head_size, H = m->heads, G = m->kv_heads;
    const long of_queries = m->whole_norms ? H : 1, of_keys = m->whole_norms ? G : 1; /* heads normed at once */
    if (!m->norms_last) {
        normed_rows(m, &l->query_norm, queries, queries, T * H / of_queries, D * of_queries);
        if (!l->shares) normed_rows(m, &l->key_norm, keys, keys, T * G / of_keys, D * of_keys);
    }
    if (!l->shares) normed_rows(m, &l->value_norm, values, values, T * G, D);
    const placing w = {m, l, queries, keys, values, depths, cached};
    parallel_for(place_tokens, &w, T, T * (H + G) * D > 4 * SMALL ? m->threads : 1);
}

/* attended (T, heads, head_size) from the rows that queries, keys and values are made of. */
static void attend_layer(const transformer *m, const layer *l, const void *input, void *queries, void *attended,
                         const activations *a, long cached, const uint8_t *visible, const long *depths) {
    const long T = a->T, D = m->head_size;
    void *keys = (char *)queries + 4 * T * m->heads * D, *values = (char *)keys + 4 * T * m->kv_heads * D;
    void *gated = m->gated ? scratch(MIXED, 4 * T * 2 * m->heads * D) : queries;
    if (!gated) {
        atomic_store(a->no_memory, 1);
        return;
    }
    const linear *const by[] = {&l->query, &l->key, &l->value};
    multiply_all(by, (void *const[]){gated, keys, values}, l->shares ? 1 : 3, input, a);
    if (m->gated)
        for (long i = 0; i < T * m->heads; i++)
            WITH_DTYPE(m->dtype, memcpy(offset(queries, i * D, is), offset(gated, 2 * i * D, is), D * (is == BFLOAT16 ? 2 : 4)));
    place(m, l, queries, keys, values, depths, T, cached);
    attend_all(m, l, queries, attended, a, cached, visible);
    if (m->gated) WITH_DTYPE(m->dtype, gate_heads(attended, gated, T * m->heads, D, is));
}

/* What each layer reads of each token beside what the layer before puts out, (T, layers, input_size), or null. */
static void *layer_inputs(const transformer *m, const void *hidden, const activations *a) {
    const long count = a->T * m->layers * m->input_size;
    void *inputs = scratch(LAYER_INPUTS, 4 * count);
    if (!inputs) {
        atomic_store(a->no_memory, 1);
        return 0;
    }
    multiply_one(&m->input_projection, inputs, hidden, a);
    scale_all(inputs, m->projection_scale, count, a->dtype);
    normed_rows(m, &m->projection_norm, inputs, inputs, a->T * m->layers, m->input_size);
    WITH_DTYPE(a->dtype, for (long i = 0; i < count; i++) {
        const float sum = rounded(read_from(inputs, i, is) + read_from(m->inputs, i, is), is);
        write_to(inputs, i, sum * m->input_scale, is);
    });
    return inputs;
}

/* Add to hidden what layer i makes of its own inputs. gate and up are room for T · input_size values, normed for hidden. */
static void add_inputs(const transformer *m, long i, const void *inputs, void *hidden, void *gate, void *up, void *normed,
                       const activations *a) {
    const layer *l = m->layer + i;
    const long T = a->T, S = m->input_size, bytes = S * bytes_of(a->dtype);
    for (long t = 0; t < T; t++)
        memcpy((char *)up + t * bytes, (const char *)inputs + (t * m->layers + i) * bytes, bytes);
    multiply_one(&l->input_gate, gate, hidden, a);
    activate_all(m, gate, up, T * S);
    multiply_one(&l->input_output, normed, gate, a);
    add_all(m, hidden, normed_rows(m, &l->input_norm, normed, normed, T, m->width), T * m->width);
}

/* One forward pass over T tokens.
 *
 * tokens (T): their ids; embedded (T, width): their embeddings, overwritten, if the model has no table of them.
 * visible (T, T): the mask among the step's tokens; all of them see the cached ones. depths (T): positions, counted from
 * the end of the cache. logits (reads, vocabulary): of the rows `read`. values, places (reads, ranked): the largest of each
 * row, as by largest(). Returns 1; 0 if an id is unknown and nothing was done; -1 if memory ran out, which leaves invalid
 * logits, keys and values.
 */
int run_step(const transformer *m, const long *tokens, void *embedded, long T, long cached, const uint8_t *visible,
             const long *depths, const long *read, long reads, void *logits, long ranked, float *values, long *places) {
    const enum dtype dtype = m->dtype;
    atomic_int no_memory = 0;
    const activations a = {dtype, T, m->threads, m->tiles, 0, &no_memory};
    long Q = m->heads * m->head_size, V = m->kv_heads * m->head_size;
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        if (m->heads * l->head_size > Q) Q = m->heads * l->head_size;
        if (l->kv_heads * l->head_size > V) V = l->kv_heads * l->head_size;
    }
    const long W = m->width;
    const long mixed = 3 * m->channels, widest = Q > m->channels ? Q : m->channels;
    void *normed = scratch(NORMED, 4 * T * W), *attended = scratch(ATTENDED, 4 * T * widest);
    void *queries = scratch(QUERIES, 4 * T * (Q + 2 * V > mixed ? Q + 2 * V : mixed));
    void *gate = scratch(GATES, 4 * T * m->inner), *up = scratch(UPS, 4 * T * m->inner);
    void *hidden = m->embedding.weight ? scratch(HIDDEN, 4 * T * W) : embedded;
    if (!normed || !attended || !queries || !gate || !up || !hidden) return -1;
    for (long t = 0; t < T && m->embedding.weight; t++) {
        if (tokens[t] < 0 || tokens[t] >= m->embedding.N) return 0;
        if (m->embedding.packing)
            unpack_row(&m->embedding, tokens[t], W, (float *)hidden + t * W);
        else
            WITH_DTYPE(dtype, memcpy(offset(hidden, t * W, is), offset(m->embedding.weight, tokens[t] * W, is),
                                     W * bytes_of(is)));
    }
    if (m->embedding.weight) scale_all(hidden, m->embedding_scale, T * W, dtype);
    void *inputs = m->inputs ? layer_inputs(m, hidden, &a) : 0;
    if (m->inputs && !inputs) return -1;
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        const linear *const of_mlp[] = {&l->gate, &l->up};
        const int gated = l->up.weight != 0;
        const void *input = normed_rows(m, &l->attention_norm, hidden, normed, T, W);
        if (m->parallel) multiply_all(of_mlp, (void *const[]){gate, up}, 1 + gated, input, &a);
        if (l->recurrence.mixing == SHORT_CONVOLUTION)
            short_convolution(m, l, input, queries, attended, &a);
        else if (l->recurrence.mixing == DELTA_RULE)
            delta_rule(m, l, input, queries, attended, &a);
        else {
            transformer of_layer = *m;
            if (l->head_size) of_layer.head_size = l->head_size, of_layer.kv_heads = l->kv_heads;
            attend_layer(&of_layer, l, input, queries, attended, &a, cached, visible, depths);
        }
        multiply_one(&l->output, normed, attended, &a);
        add_all(m, hidden, normed_rows(m, &l->attention_post_norm, normed, normed, T, W), T * W);
        if (!m->parallel) input = normed_rows(m, &l->mlp_norm, hidden, normed, T, W);
        const int beside = l->mixture.router_norm.weight != 0;
        if (l->mixture.router.weight && !beside) {
            mix_experts(m, l, input, input, gate, up, normed, &a);
        } else {
            if (!m->parallel) multiply_all(of_mlp, (void *const[]){gate, up}, 1 + gated, input, &a);
            activate_all(m, gate, gated ? up : 0, T * l->down.K);
            multiply_one(&l->down, normed, gate, &a);
            if (beside) mix_beside(m, l, hidden, gate, up, normed, &a);
        }
        add_all(m, hidden, normed_rows(m, &l->mlp_post_norm, normed, normed, T, W), T * W);
        if (inputs) add_inputs(m, i, inputs, hidden, gate, up, normed, &a);
        if (l->scale) scale_all(hidden, l->scale, T * W, dtype);
    }
    for (long i = 0; i < reads; i++)
        normed_rows(m, &m->norm, offset(hidden, read[i] * W, dtype), offset(normed, i * W, dtype), 1, W);
    const activations of_head = {dtype, reads, m->threads, m->tiles, 0, &no_memory};
    multiply_one(&m->head, logits, normed, &of_head);
    if (m->head.packing) compute_largest_anew(&m->head, normed, logits, &of_head);
    scale_logits(m, logits, reads * m->head.N);
    largest(logits, dtype, reads, m->head.N, ranked, values, places, m->threads); /* while they are in the caches */
    return no_memory ? -1 : 1;
}

/* Move cached tokens to consecutive places from `to` on. from (count): ascending, none before its new place. */
void move_tokens(const transformer *m, const long *from, long count, long to) {
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        const long bytes = (l->head_size ? l->head_size : m->head_size) * bytes_of(m->cache_dtype);
        for (long head = 0; head < (l->kv_heads ? l->kv_heads : m->kv_heads) && !l->shares; head++)
            for (long j = 0; j < count; j++) {
                const long old = (head * m->capacity + from[j]) * bytes, new = (head * m->capacity + to + j) * bytes;
                memmove((char *)l->keys + new, (const char *)l->keys + old, bytes);
                memmove((char *)l->values + new, (const char *)l->values + old, bytes);
            }
    }
}
