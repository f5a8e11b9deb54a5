/* Attention of a few queries: keys are the lanes of vectors for the scores, dimensions for the weighted values.
 *
 * Groups of queries would leave most lanes empty here. Every sum is made in the order of attention.h, so that results are
 * the same bit for bit. Sections of one head are computed side by side, and merged in their order.
 */
#pragma once

#include "attention_blocks.h"

enum { FEW = 48 }; /* queries of one key and value head: beyond them, groups are faster */

typedef struct {
    const attention *all;
    long queries, first, sections; /* of a head: the first section and the number of them */
    float *parts;           /* (heads, sections, queries): largest score, sum of weights, weighted values (D) */
} few_attending;

inlined long part_size(const transformer *m) { return m->head_size + 2; }

/* Keys (BLOCK, D) as (D, BLOCK). */
inlined void turn_keys(const void *keys, float *turned, long D, fetching next, enum dtype dtype) {
    for (long first = 0; first < BLOCK; first += LANES)
        for (long d = 0; d < D; d += LANES) {
            vector square[LANES];
            long at = first * D + d;
            UNROLL(16)
            for (long k = 0; k < LANES; k++) {
                square[k] = loaded(keys, at, dtype);
                at += D;
                __asm__("" : "+r"(at)); /* else GCC keeps, and spills, the address of every row */
            }
            transpose(square);
            fetch_share(&next);
            UNROLL(16)
            for (long k = 0; k < LANES; k++) *(unaligned_vector *)(turned + (d + k) * BLOCK + first) = square[k];
        }
}

/* Scores (count, SECTION) of a block of turned keys. The count is a constant where this is called. */
inlined void score_some(const float *turned, const float *queries, float *scores, long D, int count) {
    enum { OF_BLOCK = BLOCK / LANES };
    const int together = count * OF_BLOCK > 12 ? OF_BLOCK / 2 : OF_BLOCK; /* so that the sums stay in registers */
    for (int first = 0; first < OF_BLOCK; first += together, turned += together * LANES, scores += together * LANES) {
        vector sums[4][OF_BLOCK];
        memset(sums, 0, sizeof sums);
        for (long d = 0; d < D; d++)
            UNROLL(4)
            for (int part = 0; part < together; part++) {
                vector of_keys = *(const unaligned_vector *)(turned + d * BLOCK + part * LANES);
                IN_REGISTER(of_keys);
                UNROLL(4)
                for (int i = 0; i < count; i++) sums[i][part] += of_keys * queries[i * D + d];
            }
        for (int i = 0; i < count; i++)
            for (int part = 0; part < together; part++)
                *(unaligned_vector *)(scores + i * SECTION + part * LANES) = sums[i][part];
    }
}

/* sums (count, stride) of dimensions first … first + vectors += shares (count, SECTION) of so many keys' values. */
inlined void weigh_some(const void *values, long keys, const float *shares, float *sums, long D, long stride, int vectors,
                        int count, fetching next, enum dtype dtype) {
    vector of[4][2];
    for (int i = 0; i < count; i++)
        for (int part = 0; part < vectors; part++) of[i][part] = *(unaligned_vector *)(sums + i * stride + part * LANES);
    for (long k = 0; k < keys; k++) {
        fetch_share(&next);
        UNROLL(2)
        for (int part = 0; part < vectors; part++) {
            vector value = loaded(values, k * D + part * LANES, dtype);
            IN_REGISTER(value);
            UNROLL(4)
            for (int i = 0; i < count; i++) of[i][part] += value * shares[i * SECTION + k];
        }
    }
    for (int i = 0; i < count; i++)
        for (int part = 0; part < vectors; part++) *(unaligned_vector *)(sums + i * stride + part * LANES) = of[i][part];
}

/* Call with as many queries at a time as keep the processor's adders busy. */
#define SOME_AT_A_TIME(from, to, call)                       \
    do {                                                     \
        long i = from;                                       \
        for (; i + 4 <= to; i += 4) { enum { some = 4 }; call; } \
        for (; i + 3 <= to; i += 3) { enum { some = 3 }; call; } \
        for (; i + 2 <= to; i += 2) { enum { some = 2 }; call; } \
        for (; i < to; i++) { enum { some = 1 }; call; }     \
    } while (0)

/* sums (to, stride) of all dimensions += shares (to, SECTION) of so many keys' values, for queries from … to. */
inlined void weigh_keys(const void *values, long keys, const float *shares, float *sums, long D, long stride, long from,
                        long to, fetching next, enum dtype dtype) {
    long d = 0;
    for (; d + 2 * LANES <= D; d += 2 * LANES, next.at += BLOCK * next.each) {
        fetching here = next; /* read ahead with the first queries alone */
        SOME_AT_A_TIME(from, to, weigh_some(offset(values, d, dtype), keys, shares + i * SECTION, sums + i * stride + d, D,
                                            stride, 2, some, here, dtype);
                       here.each = 0);
    }
    for (; d < D; d += LANES)
        SOME_AT_A_TIME(from, to, weigh_some(offset(values, d, dtype), keys, shares + i * SECTION, sums + i * stride + d, D,
                                            stride, 1, some, (fetching){0}, dtype));
}

/* Softmax weights, not yet normalised, of keys hidden … seen of a section; 0 for the others. */
inlined void share_few(const transformer *m, float *scores, long hidden, long seen, long count, float *most) {
    vector largest = (vector){0} - INFINITY;
    const float scaling = m->attention_cap ? 1 : m->scaling;
    for (long k = 0; m->attention_cap && k < count; k += LANES)
        *(unaligned_vector *)(scores + k) = scaled_scores(*(unaligned_vector *)(scores + k), m);
    for (long k = 0; k < hidden && k < count; k++) scores[k] = -INFINITY;
    for (long k = seen < 0 ? 0 : seen; k < count; k++) scores[k] = -INFINITY;
    for (long k = 0; k < count; k += LANES) largest = larger(*(unaligned_vector *)(scores + k), largest);
    const float top = largest_lane(largest) * scaling;
    const vector above = (vector){0} + (top > -1e30f || top != top ? top : -1e30f); /* where nothing is visible */
    for (long k = 0; k < count; k += LANES)
        *(unaligned_vector *)(scores + k) = exponential(*(unaligned_vector *)(scores + k) * scaling - above);
    *most = top;
}

/* Sums of shares (some, SECTION), each in the order of its keys: several at once wait for one another's additions less. */
inlined void add_shares(const float *shares, long count, float *totals, long stride, int some) {
    float sums[8] = {0};
    for (long k = 0; k < count; k++)
        UNROLL(8)
        for (int i = 0; i < some; i++) sums[i] += shares[i * SECTION + k];
    for (int i = 0; i < some; i++) totals[i * stride] = sums[i];
}

/* The first of the step's keys, from j on, that token t sees; T if there is none. */
inlined long seen_from(const attention *a, long t, long j) {
    while (j < a->T && !a->visible[t * a->T + j]) j++;
    return j;
}

inlined void attend_section(const few_attending *w, long head, long section, enum dtype dtype) {
    const transformer *m = w->all->model;
    const long D = m->head_size, shared = m->heads / m->kv_heads, T = w->all->T, size = part_size(m);
    attention a = *w->all;
    a.head = head;
    a.keys = offset(a.keys, head * m->capacity * D, dtype), a.values = offset(a.values, head * m->capacity * D, dtype);
    attention stored = a; /* in the order in which keys are stored */
    stored.causal = 1;
    float queries[FEW * MAX_HEAD] ALIGNED, scores[FEW * SECTION] ALIGNED, turned[BLOCK * MAX_HEAD] ALIGNED;
    float copy[BLOCK * MAX_HEAD] ALIGNED, wide[BLOCK * MAX_HEAD] ALIGNED, own[FEW * SECTION] ALIGNED;
    float *parts = w->parts + (head * w->sections + section) * w->queries * size;
    long longest = 0;
    for (long q = 0; q < w->queries; q++) {
        const void *query = offset(a.queries, (q / shared * m->heads + head * shared + q % shared) * D, activations_of(dtype));
        widen(query, queries + q * D, D, activations_of(dtype));
        const long length = text_length(&a, q / shared);
        longest = length > longest ? length : longest;
    }
    const long start = (w->first + section) * SECTION, end = longest < start + SECTION ? longest : start + SECTION;
    const long common = a.causal || end < a.cached ? end : a.cached; /* from there on, texts hold different keys of the step */
    for (long at = start; at < common; at += BLOCK) {
        const fetching next = block_ahead(&a, a.values, at, BLOCK / LANES * (D / LANES), dtype);
        turn_keys(text_block(&stored, a.keys, at, 0, copy, dtype), turned, D, next, dtype);
        SOME_AT_A_TIME(0, w->queries, score_some(turned, queries + i * D, scores + i * SECTION + at - start, D, some));
    }
    for (long j = 0; common < end && j < T; j += BLOCK) {
        turn_keys(text_block(&stored, a.keys, a.cached + j, 0, copy, dtype), turned, D, (fetching){0}, dtype);
        SOME_AT_A_TIME(0, w->queries, score_some(turned, queries + i * D, own + i * SECTION + j, D, some));
    }
    for (long q = 0; common < end && q < w->queries; q++) {
        const long t = q / shared;
        for (long j = seen_from(&a, t, 0), at = a.cached; j < T && at < end; j = seen_from(&a, t, j + 1), at++)
            if (at >= start) scores[q * SECTION + at - start] = own[q * SECTION + j];
    }
    const long count = (end - start + BLOCK - 1) / BLOCK * BLOCK;
    for (long q = 0; q < w->queries; q++) {
        float *part = parts + q * size;
        const long seen = text_length(&a, q / shared) - start, hidden = a.window ? seen - a.window : 0;
        share_few(m, scores + q * SECTION, hidden, seen, count, part);
        memset(part + 2, 0, D * sizeof *part);
    }
    long added = 0;
    for (; added + 8 <= w->queries; added += 8) add_shares(scores + added * SECTION, count, parts + added * size + 1, size, 8);
    SOME_AT_A_TIME(added, w->queries, add_shares(scores + i * SECTION, count, parts + i * size + 1, size, some));
    for (long at = start; at < common; at += BLOCK) {
        const fetching next = block_ahead(&a, a.keys, at + SECTION, BLOCK * (D / LANES + 1) / 2, dtype);
        const long keys = common - at < BLOCK ? common - at : BLOCK;
        const void *values = offset(a.values, at * D, dtype);
        if (w->queries > 4) { /* widened once for all */
            widen(values, wide, keys * D, dtype);
            weigh_keys(wide, keys, scores + at - start, parts + 2, D, size, 0, w->queries, next, FLOAT32);
        } else
            weigh_keys(values, keys, scores + at - start, parts + 2, D, size, 0, w->queries, next, dtype);
    }
    for (long t = 0; common < end && t < T; t++)
        for (long j = seen_from(&a, t, 0), at = a.cached; j < T && at < end; j = seen_from(&a, t, j + 1), at++)
            if (at >= start)
                weigh_keys(offset(a.values, (a.cached + j) * D, dtype), 1, scores + at - start, parts + 2, D, size,
                           t * shared, (t + 1) * shared, (fetching){0}, dtype);
}

COMPILED_APART void attend_sections(const void *work, long first, long last)
#ifdef OF_ATTENTION
{
    const few_attending *w = work;
    for (long item = first; item < last; item++)
        WITH_FLOAT_DTYPE(w->all->model->cache_dtype, attend_section(w, item / w->sections, item % w->sections, is));
}
#else
    ;
#endif

/* Merge the sections of all queries, in their order, as attention.h does. */
static void merge_sections(const few_attending *w) {
    const transformer *m = w->all->model;
    const long D = m->head_size, shared = m->heads / m->kv_heads, size = part_size(m);
    for (long head = 0; head < m->kv_heads; head++)
        for (long q = 0; q < w->queries; q++) {
            vector most = (vector){0} - INFINITY, total = {0}, sums[MAX_VECTORS] = {0};
            for (long section = 0; section < w->sections; section++) {
                const float *part = w->parts + ((head * w->sections + section) * w->queries + q) * size;
                const vector here = (vector){0} + part[0], largest = larger(here, most);
                const vector old = exponential(most - largest), new = exponential(here - largest);
                most = largest;
                total = merged(total, old, (vector){0} + part[1], new);
                for (long d = 0; d < D; d += LANES)
                    sums[d / LANES] = merged(sums[d / LANES], old, *(const unaligned_vector *)(part + 2 + d), new);
            }
            void *to = offset(w->all->out, (q / shared * m->heads + head * shared + q % shared) * D, m->dtype);
            for (long d = 0; d < D; d += LANES) WITH_DTYPE(m->dtype, put(to, d, sums[d / LANES] / total, is));
        }
}

/* The attention of all heads; a section in which a query sees nothing weighs nothing. */
static void attend_few(const attention *all, int threads) {
    const transformer *m = all->model;
    const long queries = all->T * (m->heads / m->kv_heads), first = first_section(all, SECTION);
    const long sections = (all->cached + all->T + SECTION - 1) / SECTION - first;
    float *parts = scratch(GROUPS, sizeof(float) * m->kv_heads * sections * queries * part_size(m));
    if (!parts) {
        atomic_store(all->no_memory, 1);
        return;
    }
    const few_attending w = {all, queries, first, sections, parts};
    parallel_for(attend_sections, &w, m->kv_heads * sections, threads);
    merge_sections(&w);
}
