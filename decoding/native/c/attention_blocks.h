/* Blocks of a text's keys and values, wherever they are stored, and the products of one with a group of queries, one
 * query per vector lane. */
#pragma once

#include "products_by_tiles.h"
#include "elementwise.h"

#define GROUP 16 /* queries in a group */
#define BLOCK 32   /* keys multiplied at a time: two tiles of keys, or the depth of one of values */
#define PARTS (GROUP / LANES)
#define MAX_HEAD (MAX_VECTORS * LANES)

enum { SECTION = 128, TILED_SECTION = 1024 }; /* keys scored before they are merged into the running softmax */

typedef float numbers[GROUP] ALIGNED; /* one for each query of a group */

#define EACH_PART(part) for (long part = 0; part < GROUP; part += LANES)
#define AT(of, part) (*(vector *)((float *)(of) + (part)))

typedef struct {
    const transformer *model;
    const void *keys, *values, *queries; /* of one head */
    void *out;
    long head, T, cached, window; /* of a sliding window, the tokens that a query sees; 0 for all */
    const uint8_t *visible;
    int causal; /* no branches: keys and values are stored in the order of the text */
    atomic_int *no_memory;
} attention;

inlined long text_length(const attention *a, long t) {
    long length = a->cached + t + 1;
    if (!a->causal) {
        length = a->cached;
        for (long j = 0; j < a->T; j++) length += a->visible[t * a->T + j];
    }
    return length;
}

/* The first section of keys that some token sees: what a window hides of a section weighs nothing, so that sums stay the
 * same, bit for bit, without sections of which it hides all. */
inlined long first_section(const attention *a, long section) {
    return a->window && a->cached + 1 > a->window ? (a->cached + 1 - a->window) / section : 0;
}

/* True if a block holds keys of the step itself, of which its tokens see different ones. */
inlined int is_own(const attention *a, long start) { return !a->causal && start + BLOCK > a->cached; }

/* Fetch a block of keys or values that is read soon; one that is not in the cache yet does no harm. */
inlined void fetch_block(const attention *a, const void *cache, long start, enum dtype dtype) {
    const long D = a->model->head_size;
    if (start + BLOCK <= a->model->capacity) prefetch(offset(cache, start * D, dtype), BLOCK * D * bytes_of(dtype));
}

/* A block of keys or values that is read soon, to be fetched in so many shares. */
inlined fetching block_ahead(const attention *a, const void *cache, long start, long shares, enum dtype dtype) {
    const long D = a->model->head_size, is_there = start + BLOCK <= a->model->capacity;
    return (fetching){offset(cache, start * D, dtype), is_there * (BLOCK * D * bytes_of(dtype) / shares)};
}

/* A block of a text's keys or values: in place if contiguous, else gathered into `copy` and padded with zeros. */
inlined const void *text_block(const attention *a, const void *cache, long start, long t, void *copy, enum dtype dtype) {
    const long D = a->model->head_size, size = bytes_of(dtype), end = a->cached + (a->causal ? a->T : 0);
    if (start + BLOCK <= end) return offset(cache, start * D, dtype);
    memset(copy, 0, BLOCK * D * size);
    for (long j = start; j < end; j++) memcpy(offset(copy, (j - start) * D, dtype), offset(cache, j * D, dtype), D * size);
    for (long j = 0, at = a->cached - start; !a->causal && j < a->T && at < BLOCK; j++)
        if (a->visible[t * a->T + j]) {
            if (at >= 0) memcpy(offset(copy, at * D, dtype), offset(cache, (a->cached + j) * D, dtype), D * size);
            at++;
        }
    return copy;
}

inlined vector scaled_scores(vector scores, const transformer *m) {
    return m->attention_cap ? capped(scores * m->scaling, m->attention_cap, FLOAT32) : scores;
}

/* A merged sum of two sections. One formula for all, so that it is contracted to the same multiplications and additions. */
inlined vector merged(vector before, vector old, vector here, vector new) { return before * old + here * new; }

/* Transpose GROUP rows of `count` elements to one lane per row, and back. */
inlined void interleave_rows(const void *const *rows, float *columns, long count, enum dtype dtype) {
#if LANES == GROUP
    for (long at = 0; at < count; at += LANES) {
        vector square[GROUP];
        for (long i = 0; i < GROUP; i++) square[i] = loaded(rows[i], at, dtype);
        transpose(square);
        memcpy(columns + at * GROUP, square, sizeof square);
    }
#else
    for (long at = 0; at < count; at++)
        for (long i = 0; i < GROUP; i++) columns[at * GROUP + i] = read_from(rows[i], at, dtype);
#endif
}

inlined void deinterleave_rows(const float *columns, float *rows, long count) {
#if LANES == GROUP
    for (long at = 0; at < count; at += LANES) {
        vector square[GROUP];
        memcpy(square, columns + at * GROUP, sizeof square);
        transpose(square);
        for (long i = 0; i < GROUP; i++) *(vector *)(rows + i * count + at) = square[i];
    }
#else
    for (long at = 0; at < count; at++)
        for (long i = 0; i < GROUP; i++) rows[i * count + at] = columns[at * GROUP + i];
#endif
}

/* scores (BLOCK) of keys (BLOCK, D) with queries (D). */
inlined void score_by_vectors(const void *keys, const numbers *queries, numbers *scores, long D, enum dtype dtype) {
    enum { AT_ONCE = 8 };
    float wide[AT_ONCE][MAX_HEAD] ALIGNED;
    for (long first = 0; first < BLOCK; first += AT_ONCE) {
        for (long k = 0; k < AT_ONCE; k++) widen(offset(keys, (first + k) * D, dtype), wide[k], D, dtype);
        EACH_PART(part) {
            vector sums[AT_ONCE] = {0};
            for (long d = 0; d < D; d++)
                UNROLL(8)
                for (int k = 0; k < AT_ONCE; k++) sums[k] += wide[k][d] * AT(queries[d], part);
            for (int k = 0; k < AT_ONCE; k++) AT(scores[first + k], part) = sums[k];
        }
    }
}

/* sums (D) += shares (BLOCK) of values (BLOCK, D). */
inlined void weigh_by_vectors(const void *values, const numbers *shares, numbers *sums, long D, enum dtype dtype) {
    enum { AT_ONCE = 8 };
    float wide[BLOCK * MAX_HEAD] ALIGNED;
    widen(values, wide, BLOCK * D, dtype);
    for (long first = 0; first < D; first += AT_ONCE)
        EACH_PART(part) {
            vector of[AT_ONCE];
            for (int d = 0; d < AT_ONCE; d++) of[d] = AT(sums[first + d], part);
            for (long k = 0; k < BLOCK; k++)
                UNROLL(8)
                for (int d = 0; d < AT_ONCE; d++) of[d] += wide[k * D + first + d] * AT(shares[k], part);
            for (int d = 0; d < AT_ONCE; d++) AT(sums[first + d], part) = of[d];
        }
}

#ifdef HAS_TILES
/* As score_by_vectors, by tiles; queries are the right factor, as pairs of bfloat16 (D / 2, GROUP). */
inlined void score_by_tiles(const void *keys, const void *queries, numbers *scores, long D) {
    _tile_zero(0);
    _tile_zero(1);
    for (long d = 0; d < D; d += BLOCK) {
        _tile_loadd(6, (const char *)queries + d / 2 * TILE_BYTES, TILE_BYTES);
        _tile_loadd(4, (const bfloat16 *)keys + d, 2 * D);
        _tile_loadd(5, (const bfloat16 *)keys + TILE * D + d, 2 * D);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 5, 6);
    }
    _tile_stored(0, scores[0], TILE_BYTES);
    _tile_stored(1, scores[TILE], TILE_BYTES);
}

/* Transpose values (BLOCK, D) to the tiles' left factor (D, BLOCK). */
inlined void transpose_values(const bfloat16 *values, words (*transposed)[TILE], long D) {
    for (long d = 0; d < D; d += TILE) {
        vector pairs[TILE];
        for (long i = 0; i < TILE; i++) {
            const words even = __builtin_convertvector(*(const halves *)(values + 2 * i * D + d), words);
            const words odd = __builtin_convertvector(*(const halves *)(values + (2 * i + 1) * D + d), words);
            pairs[i] = (vector)(even | odd << 16);
        }
        transpose(pairs);
        memcpy(transposed[d / TILE], pairs, sizeof pairs);
    }
}

/* Tiles 0 … 3, sums of 64 dimensions or what is left of them, += shares, pairs of bfloat16 (BLOCK / 2, GROUP). */
inlined void weigh_by_tiles(words (*transposed)[TILE], const words *shares, long tiles) {
    _tile_loadd(6, shares, TILE_BYTES);
#define OF_TILE(i)                                \
    if (tiles > i) {                              \
        _tile_loadd(4, transposed[i], TILE_BYTES);    \
        _tile_dpbf16ps(i, 4, 6);                  \
    }
    OF_TILE(0) OF_TILE(1) OF_TILE(2) OF_TILE(3)
#undef OF_TILE
}
#endif
