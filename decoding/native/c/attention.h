/* Attention with an online softmax (as in FlashAttention) and a tree mask: each token attends to the cached tokens and to
 * those of the step that the mask shows.
 *
 * It is batch-invariant: keys are summed in blocks and sections by their position in the query's own text, wherever they
 * are stored. So a token's output depends neither on the other tokens of the step nor on how a text was divided into
 * steps.
 */
#pragma once

#include "attention_few.h"

#define MAX_GROUPS 16

/* Queries that share a key and value head (grouped-query attention). */
typedef struct {
    long first, count, first_token, last_token, longest, shortest;
    integers token[PARTS], length[PARTS]; /* the step's token and the text's length, of each query */
    numbers most, total, *sums;           /* running softmax: largest score, sum of weights, weighted values (D) */
    void *queries;                        /* (D), interleaved; for tiles, pairs of bfloat16 */
} group;

inlined void gather_queries(const attention *a, group *g, int tiles, enum dtype dtype) {
    const transformer *m = a->model;
    const long shared = m->heads / m->kv_heads, D = m->head_size;
    int32_t *token = (int32_t *)g->token, *length = (int32_t *)g->length;
    g->first_token = g->first / shared;
    g->last_token = (g->first + g->count - 1) / shared;
    g->longest = 0, g->shortest = INT32_MAX;
    const void *query[GROUP];
    for (long i = 0; i < GROUP; i++) {
        const long q = g->first + (i < g->count ? i : 0), t = q / shared;
        query[i] = offset(a->queries, (t * m->heads + a->head * shared + q % shared) * D, dtype);
        token[i] = t;
        length[i] = text_length(a, t);
        if (length[i] > g->longest) g->longest = length[i];
        if (length[i] < g->shortest) g->shortest = length[i];
    }
    interleave_rows(query, g->queries, tiles ? D / 2 : D, tiles ? FLOAT32 : dtype); /* two of bfloat16 as one word */
    for (long i = 0; i < GROUP; i++) g->most[i] = -INFINITY, g->total[i] = 0;
    memset(g->sums, 0, D * sizeof(numbers));
}

inlined vector only(const group *g, long part, long t, vector of) {
    return (vector)((g->token[part / LANES] == (int32_t)t) & (integers)of);
}

/* Scores of a section's keys. */
inlined void score(const attention *a, const group *g, long start, long end, numbers *scores, int tiles, enum dtype dtype) {
    const long D = a->model->head_size;
    float copy[BLOCK * MAX_HEAD] ALIGNED;
    numbers of_token[BLOCK];
    for (long at = start; at < end; at += BLOCK, scores += BLOCK) {
        const int own = is_own(a, at);
        for (long t = own ? g->first_token : g->last_token; t <= g->last_token; t++) {
            fetch_block(a, a->keys, at + 2 * BLOCK, dtype);
            const void *keys = text_block(a, a->keys, at, t, copy, dtype);
            numbers *to = own ? of_token : scores;
#ifdef HAS_TILES
            if (tiles) score_by_tiles(keys, g->queries, to, D);
#endif
            if (!tiles) score_by_vectors(keys, g->queries, to, D, dtype);
            for (long k = 0; own && k < BLOCK; k++)
                EACH_PART(part) {
                    const integers is_of_token = g->token[part / LANES] == (int32_t)t;
                    AT(scores[k], part) = select_lanes(is_of_token, AT(to[k], part), AT(scores[k], part));
                }
        }
    }
}

/* Replace the scores of visible keys by softmax weights, not yet normalised; for tiles as pairs of bfloat16. */
inlined void share(const attention *a, const group *g, long start, long end, numbers *scores, float *most, float *total,
                   int tiles) {
    const transformer *m = a->model;
    const long count = end - start, seen = g->shortest < end ? g->shortest - start : count;
    const long before = a->window ? g->longest - a->window - start : 0; /* keys that a window hides from some query */
    const float scaling = m->attention_cap ? 1 : m->scaling;
    EACH_PART(part) {
        vector largest = (vector){0} - INFINITY, sum = {0};
        for (long k = 0; m->attention_cap && k < count; k++) AT(scores[k], part) = scaled_scores(AT(scores[k], part), m);
        for (long k = 0; k < before && k < count; k++) {
            const integers is_visible = g->length[part / LANES] <= (int32_t)(start + k + a->window);
            AT(scores[k], part) = select_lanes(is_visible, AT(scores[k], part), (vector){0} - INFINITY);
        }
        for (long k = seen > 0 ? seen : 0; k < count; k++) {
            const integers is_visible = g->length[part / LANES] > (int32_t)(start + k);
            AT(scores[k], part) = select_lanes(is_visible, AT(scores[k], part), (vector){0} - INFINITY);
        }
        for (long k = 0; k < count; k++) largest = larger(AT(scores[k], part), largest);
        largest *= scaling;
        const vector above = larger(largest, (vector){0} - 1e30f); /* where nothing is visible */
        for (long k = 0; k < count; k += 2) {
            const vector even = exponential(AT(scores[k], part) * scaling - above);
            const vector odd = exponential(AT(scores[k + 1], part) * scaling - above);
            sum += even;
            sum += odd;
            if (tiles)
                AT(scores[k / 2], part) = (vector)(nearest(even) | (nearest(odd) << 16));
            else
                AT(scores[k], part) = even, AT(scores[k + 1], part) = odd;
        }
        AT(most, part) = largest;
        AT(total, part) = sum;
    }
}

inlined void weigh(const attention *a, const group *g, long start, long end, const numbers *shares, numbers *sums,
                   enum dtype dtype) {
    const long D = a->model->head_size;
    float copy[BLOCK * MAX_HEAD] ALIGNED;
    numbers of_token[BLOCK];
    memset(sums, 0, D * sizeof(numbers));
    for (long at = start; at < end; at += BLOCK, shares += BLOCK) {
        const int own = is_own(a, at);
        for (long t = own ? g->first_token : g->last_token; t <= g->last_token; t++) {
            for (long k = 0; own && k < BLOCK; k++)
                EACH_PART(part) AT(of_token[k], part) = only(g, part, t, AT(shares[k], part));
            fetch_block(a, a->values, at + 2 * BLOCK, dtype);
            const void *values = text_block(a, a->values, at, t, copy, dtype);
            weigh_by_vectors(values, own ? of_token : shares, sums, D, dtype);
        }
    }
}

#ifdef HAS_TILES
/* transposed: the values of the blocks that all tokens share, from `transpose_values`. */
inlined void weigh_with_tiles(const attention *a, const group *g, long start, long end, const numbers *shares,
                              words (*transposed)[TILE], numbers *sums) {
    const long D = a->model->head_size, each = D / TILE;
    for (long first = 0; first < each; first += 4) {
        bfloat16 copy[BLOCK * MAX_HEAD] ALIGNED;
        words of_token[TILE], own_turned[MAX_HEAD / TILE][TILE];
        const long tiles = each - first < 4 ? each - first : 4;
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (long at = start; at < end; at += BLOCK) {
            const words *pairs = (const words *)shares[(at - start) / 2];
            if (!is_own(a, at)) {
                weigh_by_tiles(transposed + (at - start) / BLOCK * each + first, pairs, tiles);
                continue;
            }
            for (long t = g->first_token; t <= g->last_token; t++) {
                transpose_values(text_block(a, a->values, at, t, copy, BFLOAT16), own_turned, D);
                for (long k = 0; k < TILE; k++) of_token[k] = (words)only(g, 0, t, (vector)pairs[k]);
                weigh_by_tiles(own_turned + first, of_token, tiles);
            }
        }
        _tile_stored(0, sums[first * TILE], TILE_BYTES);
        if (tiles > 1) _tile_stored(1, sums[(first + 1) * TILE], TILE_BYTES);
        if (tiles > 2) _tile_stored(2, sums[(first + 2) * TILE], TILE_BYTES);
        if (tiles > 3) _tile_stored(3, sums[(first + 3) * TILE], TILE_BYTES);
    }
}
#endif

/* Merge a section into the running softmax, rescaling by the new largest score. */
inlined void merge(group *g, const float *most, const float *total, const numbers *sums, long D) {
    EACH_PART(part) {
        const vector before = AT(g->most, part), here = AT(most, part), largest = larger(here, before);
        const vector old = exponential(before - largest), new = exponential(here - largest);
        AT(g->most, part) = largest;
        AT(g->total, part) = merged(AT(g->total, part), old, AT(total, part), new);
        for (long d = 0; d < D; d++) AT(g->sums[d], part) = merged(AT(g->sums[d], part), old, AT(sums[d], part), new);
    }
}

/* Attention of a head's query groups first … last, which share the reading of its keys and values, of this dtype. */
inlined void attend(const attention *a, long first, long last, int tiles, enum dtype dtype) {
    const transformer *m = a->model;
    const long D = m->head_size, each = a->T * (m->heads / m->kv_heads), of_group = 2 * D * sizeof(numbers);
    const long section = tiles ? TILED_SECTION : SECTION;
    char *memory = scratch(GROUPS, (last - first) * of_group + (D + section) * sizeof(numbers));
#ifdef HAS_TILES
    words(*const transposed)[TILE] = tiles ? scratch(TRANSPOSED, 2 * section * D) : 0;
    if (tiles && !transposed) memory = 0;
#endif
    if (!memory) {
        atomic_store(a->no_memory, 1);
        return;
    }
    numbers *scores = (numbers *)(memory + (last - first) * of_group), *sums = scores + section, most, total;
    group groups[MAX_GROUPS];
    long longest = 0;
    for (long i = 0; i < last - first; i++) {
        const long at = (first + i) * GROUP;
        groups[i].first = at;
        groups[i].count = each - at < GROUP ? each - at : GROUP;
        groups[i].sums = (numbers *)(memory + i * of_group);
        groups[i].queries = groups[i].sums + D;
        gather_queries(a, &groups[i], tiles, activations_of(dtype));
        if (groups[i].longest > longest) longest = groups[i].longest;
    }
    for (long start = first_section(a, section) * section; start < longest; start += section) {
#ifdef HAS_TILES
        bfloat16 copy[BLOCK * MAX_HEAD] ALIGNED;
        for (long at = start; tiles && at < longest && at < start + section && !is_own(a, at); at += BLOCK)
            transpose_values(text_block(a, a->values, at, 0, copy, BFLOAT16), transposed + (at - start) / BLOCK * D / TILE, D);
#endif
        for (group *g = groups; g < groups + (last - first) && start < longest; g++) {
            if (g->longest <= start || (a->window && g->shortest - a->window >= start + section)) continue;
            const long end = (g->longest < start + section ? g->longest : start + section) + BLOCK - 1;
            const long whole = end - (end - start) % BLOCK;
            score(a, g, start, whole, scores, tiles, dtype);
            share(a, g, start, whole, scores, most, total, tiles);
#ifdef HAS_TILES
            if (tiles) weigh_with_tiles(a, g, start, whole, scores, transposed, sums);
#endif
            if (!tiles) weigh(a, g, start, whole, scores, sums, dtype);
            merge(g, most, total, sums, D);
        }
    }
    float *means = (float *)scores;
    for (group *g = groups; g < groups + (last - first); g++) {
        for (long d = 0; d < D; d++)
            EACH_PART(part) AT(g->sums[d], part) /= AT(g->total, part);
        deinterleave_rows((const float *)g->sums, means, D);
        for (long i = 0; i < g->count; i++) {
            const long shared = m->heads / m->kv_heads, t = (g->first + i) / shared, h = (g->first + i) % shared;
            void *to = offset(a->out, (t * m->heads + a->head * shared + h) * D, activations_of(dtype));
            for (long d = 0; d < D; d += LANES) put(to, d, AT(means + i * D, d), activations_of(dtype));
        }
    }
}

typedef struct {
    attention all; /* of every head */
    long groups, together;
    int tiled;
} attending;

COMPILED_APART void attend_some(const void *work, long first, long last)
#ifdef OF_ATTENTION
{
    const attending *w = work;
    const transformer *m = w->all.model;
    const long of_head = (w->groups + w->together - 1) / w->together;
    tile_layout before;
    if (w->tiled) load_layout(&before);
    for (long item = first; item < last; item++) {
        attention a = w->all;
        a.head = item / of_head;
        const long apart = a.head * m->capacity * m->head_size, from = item % of_head * w->together;
        const long to = from + w->together < w->groups ? from + w->together : w->groups;
        a.keys = offset(a.keys, apart, m->cache_dtype);
        a.values = offset(a.values, apart, m->cache_dtype);
        if (w->tiled)
            attend(&a, from, to, 1, BFLOAT16);
        else
            WITH_FLOAT_DTYPE(m->cache_dtype, attend(&a, from, to, 0, is));
    }
    if (w->tiled) restore_layout(&before);
}
#else
    ;
#endif

/* queries (T, heads, head_size), rotated; the new keys and values stand in the cache behind the `cached` ones. */
static void attend_all(const transformer *m, const layer *l, const void *queries, void *out, const activations *a, long cached,
                       const uint8_t *visible) {
    const long T = a->T, D = m->head_size, groups = (T * (m->heads / m->kv_heads) + GROUP - 1) / GROUP;
    int causal = 1;
    for (long t = 0; t < T; t++)
        for (long j = 0; j < T; j++) causal &= visible[t * T + j] == (j <= t);
    const attention all = {m, l->keys, l->values, queries, out, 0, T, cached, l->window, visible, causal, a->no_memory};
    const int tiled = m->tiles && m->dtype == BFLOAT16 && D % BLOCK == 0;
    const int threads = T * m->heads * (cached + T) * D > SMALL ? m->threads : 1;
    if (!tiled && T * (m->heads / m->kv_heads) <= FEW) {
        attend_few(&all, threads);
        return;
    }
    /* Together they read values once; apart they keep all threads busy. */
    long together = groups * m->kv_heads / (2 * m->threads);
    together = together < 1 ? 1 : together > MAX_GROUPS ? MAX_GROUPS : together;
    const attending w = {all, groups, together, tiled};
    parallel_for(attend_some, &w, (groups + together - 1) / together * m->kv_heads, threads);
}
