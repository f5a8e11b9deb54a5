/* Attention: each token sees the cached tokens, and those of the step that a mask shows. */
#pragma once

#include "vectors.h"

#define QUERIES_AT_ONCE 16 /* that share keys and values */

/* Softmax, but for the division: returns the sum. The scores have room for a whole vector behind the last. */
inlined float exponentiate(float *scores, long count) {
    vector largest = (vector){0} - INFINITY, sum = {0};
    for (long j = count; j % LANES; j++) scores[j] = -INFINITY;
    for (long j = 0; j < count; j += LANES) {
        const vector these = *(vector *)(scores + j);
        largest = choose(these > largest, these, largest);
    }
    float most = largest[0];
    for (long lane = 1; lane < LANES; lane++) most = largest[lane] > most ? largest[lane] : most;
    for (long j = 0; j < count; j += LANES) {
        const vector these = *(vector *)(scores + j);
        *(vector *)(scores + j) = choose(these < -1e30f, (vector){0}, exponential(these - most));
        sum += *(vector *)(scores + j);
    }
    return sum_of(sum);
}

/* Queries `first` … `last` of those that share a head of keys and values: `shared` for each of the step's tokens.
 *
 * The keys that all of them see are read in blocks; the few behind those, and the step's own, one by one. Either
 * way a query's sums run over its visible keys in their order.
 */
inlined void attend(const transformer *m, const layer *l, const void *queries, void *out, long head, long first, long last,
                    long T, long cached, const uint8_t *visible, enum dtype dtype) {
    const long D = m->head_size, shared = m->heads / m->kv_heads, blocks = cached - cached % LANES;
    const long room = (cached + T + 2 * LANES) / LANES * LANES;
    const void *keys = offset(l->keys, head * m->capacity * D, dtype);
    const void *values = offset(l->values, head * m->capacity * D, dtype);
    float *scores = scratch(SCORES, 4 * room * QUERIES_AT_ONCE), block[LANES * MAX_VECTORS * LANES] ALIGNED;
    float query[QUERIES_AT_ONCE][MAX_VECTORS * LANES] ALIGNED, sums[QUERIES_AT_ONCE][MAX_VECTORS * LANES] ALIGNED;
    for (long q = first; q < last; q++) {
        widen(offset(queries, (q / shared * m->heads + head * shared + q % shared) * D, dtype), query[q - first], D, dtype);
        for (long d = 0; d < D; d++) query[q - first][d] *= m->scaling, sums[q - first][d] = 0;
    }
    for (long j = 0; j < blocks; j += LANES) {
        widen(offset(keys, j * D, dtype), block, LANES * D, dtype);
        for (long q = 0; q < last - first; q++) {
            vector products[LANES];
            for (long lane = 0; lane < LANES; lane++) products[lane] = partial_products(query[q], block + lane * D, D);
            *(vector *)(scores + q * room + j) = sums_of(products);
        }
    }
    float totals[QUERIES_AT_ONCE];
    for (long q = 0; q < last - first; q++) {
        float *of_query = scores + q * room;
        long count = blocks;
        for (long j = blocks; j < cached + T; j++)
            if (j < cached || visible[(q + first) / shared * T + j - cached]) {
                widen(offset(keys, j * D, dtype), block, D, dtype);
                of_query[count++] = sum_of(partial_products(query[q], block, D));
            }
        totals[q] = exponentiate(of_query, count);
    }
    for (long j = 0; j < blocks; j += LANES) {
        widen(offset(values, j * D, dtype), block, LANES * D, dtype);
        for (long q = 0; q < last - first; q++)
            for (long d = 0; d < D; d += LANES) {
                vector sum = *(vector *)(sums[q] + d);
                for (long lane = 0; lane < LANES; lane++)
                    sum += scores[q * room + j + lane] * *(const vector *)(block + lane * D + d);
                *(vector *)(sums[q] + d) = sum;
            }
    }
    for (long q = 0; q < last - first; q++) {
        const float *weight = scores + q * room + blocks;
        for (long j = blocks; j < cached + T; j++)
            if (j < cached || visible[(q + first) / shared * T + j - cached]) {
                widen(offset(values, j * D, dtype), block, D, dtype);
                for (long d = 0; d < D; d += LANES) *(vector *)(sums[q] + d) += *weight * *(vector *)(block + d);
                weight++;
            }
        const long to = ((q + first) / shared * m->heads + head * shared + (q + first) % shared) * D;
        for (long d = 0; d < D; d++) write_to(out, to + d, sums[q][d] / totals[q], dtype);
    }
}

/* queries (T, heads, head_size), rotated; the new keys and values stand in the cache behind the `cached` ones. */
static void attend_all(const transformer *m, const layer *l, const void *queries, void *out, long T, long cached,
                       const uint8_t *visible) {
    const long each = T * m->heads / m->kv_heads, groups = (each + QUERIES_AT_ONCE - 1) / QUERIES_AT_ONCE;
#pragma omp parallel for schedule(dynamic) num_threads(m->threads) collapse(2) if (each * cached * m->head_size > SMALL)
    for (long head = 0; head < m->kv_heads; head++)
        for (long group = 0; group < groups; group++) {
            const long first = group * QUERIES_AT_ONCE;
            const long last = first + QUERIES_AT_ONCE < each ? first + QUERIES_AT_ONCE : each;
            WITH_DTYPE(m->dtype, attend(m, l, queries, out, head, first, last, T, cached, visible, is));
        }
}
