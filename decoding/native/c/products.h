/* Products of rows by weights in float32, bfloat16, float16, packed or, with matrix tiles, int8. */
#pragma once

#include "products_by_tiles.h"
#include "packed_tiles.h"
#include "prepared_rows.h"
#include "products_by_vectors.h"

/* Bytes of rows multiplied at a time: half of the second-level cache of processors with tiles, and of others. */
enum { CACHED_BY_TILES = 1 << 20, CACHED_ROWS = 1 << 19 };

/* Products of the same rows, each into its own place. */
typedef struct {
    const linear *const *by;
    void *const *outs;
    int count, tiled, terms;
    const activations *a;
    enum dtype weight_dtype;
    const char *packed; /* the rows in one of three forms */
    const float *wide;
    const float *scales;
    rounded_rows rounded;    /* for packed weights */
    long step, block, apart; /* outputs and rows multiplied at a time; bytes between terms */
    long groups[4];          /* of outputs, before those of each product */
} products;

/* Each dtype in a function of its own: GCC then allocates registers better. */
#define OUTPUTS_BY(dtype)                                                                                                \
    static __attribute__((noinline)) void outputs_by_##dtype(const linear *by, const products *w, void *out, long n,     \
                                                             long first, long last) {                                    \
        outputs_by_vectors(by, w->a, w->wide, out, n, first, last, dtype);                                               \
    }
OUTPUTS_BY(FLOAT32)
OUTPUTS_BY(BFLOAT16)
OUTPUTS_BY(FLOAT16)
OUTPUTS_BY(PAIRS)

inlined void multiply_group(const products *w, int i, long n, long first, long last) {
    const linear *by = w->by[i];
    void *out = w->outs[i];
    if (by->packing)
        all_rows_of_group(by, w->a, &w->rounded, out, n / OUTPUTS, first, last, w->tiled);
    else if (w->scales && w->tiled)
        outputs_by_tiles(by, w->a, w->packed, w->scales, 1, 0, out, n, first, last);
    else if (w->tiled && w->terms > 1)
        outputs_by_tiles(by, w->a, w->packed, 0, 3, w->apart, out, n, first, last);
    else if (w->tiled)
        outputs_by_tiles(by, w->a, w->packed, 0, 1, 0, out, n, first, last);
    else if (w->weight_dtype == BFLOAT16)
        outputs_by_BFLOAT16(by, w, out, n, first, last);
    else if (w->weight_dtype == FLOAT16)
        outputs_by_FLOAT16(by, w, out, n, first, last);
    else if (w->weight_dtype == PAIRS)
        outputs_by_PAIRS(by, w, out, n, first, last);
    else
        outputs_by_FLOAT32(by, w, out, n, first, last);
}

static void multiply_groups(const void *work, long first, long last) {
    const products *w = work;
    const long all = w->groups[w->count];
    tile_layout before;
    if (w->tiled) (w->by[0]->packing ? load_packed_layout : load_layout)(&before);
    for (long at = first; at < last; at++) {
        const long group = at % all, row = at / all * w->block;
        const long rows_end = row + w->block < w->a->T ? row + w->block : w->a->T;
        const int i = (w->count > 1 && group >= w->groups[1]) + (w->count > 2 && group >= w->groups[2]);
        multiply_group(w, i, (group - w->groups[i]) * w->step, row, rows_end);
    }
    if (w->tiled) restore_layout(&before);
}

/* Several products of the same rows, each into its own place. */
static void multiply_all(const linear *const *by, void *const *outs, int count, const void *rows,
                         const activations *a) {
    const long K = by[0]->K, T = a->T;
    if (!T) return;
    for (int i = 1; i < count; i++)
        if (!by[i]->packing != !by[0]->packing || !by[i]->scales != !by[0]->scales || by[i]->narrow != by[0]->narrow ||
            by[i]->rounds != by[0]->rounds) {
            /* Rows are prepared in different ways. */
            multiply_all(by, outs, i, rows, a);
            multiply_all(by + i, outs + i, count - i, rows, a);
            return;
        }
    products w = {.by = by, .outs = outs, .count = count, .a = a, .wide = rows, .block = T};
    const int packed = by[0]->packing != NOT_PACKED;
    w.weight_dtype = by[0]->scales ? INT8 : by[0]->narrow ? (enum dtype)by[0]->narrow : a->dtype;
    const int rounds = MULTIPLIES_PAIRS && by[0]->rounds && by[0]->narrow == BFLOAT16 && K % 2 == 0;
    if (rounds) w.wide = rows = narrowed_rows(rows, a, K);
    if (!rows) {
        atomic_store(a->no_memory, 1);
        return;
    }
    w.terms = by[0]->narrow == BFLOAT16 && !rounds ? 3 : 1;
    w.tiled = a->tiles && (packed ? T >= FEWEST_TILE_ROWS : w.weight_dtype == INT8 || (w.weight_dtype == BFLOAT16 && K % 32 == 0));
    for (int i = 0; i < count; i++) w.tiled &= packed || by[i]->N >= 2 * TILE;
    if (MULTIPLIES_PAIRS && !packed && !w.tiled && w.weight_dtype == BFLOAT16 && (a->dtype == BFLOAT16 || rounds) && K % 2 == 0)
        w.weight_dtype = PAIRS;
    const long in_row = words_in_row(by[0], w.weight_dtype);
    float *scales = 0;
    const void *prepared = rows;
    if (packed) {
        int finely = 0, any_signed = 0;
        for (int i = 0; i < count; i++) finely |= by[i]->is_fine, any_signed |= format_of(by[i]->packing).is_signed;
        w.rounded = rounded_rows_of(rows, a, K, finely, any_signed);
        prepared = w.rounded.elements;
    } else if (w.tiled) {
        prepared = w.packed = packed_rows(by[0], rows, a, &scales, w.terms);
    } else if (w.weight_dtype == BFLOAT16) {
        prepared = w.wide = separated_rows(rows, a, K);
    }
    if (!prepared) {
        atomic_store(a->no_memory, 1);
        return;
    }
    w.scales = scales;
    w.step = packed ? OUTPUTS : w.tiled ? 2 * TILE : OUTPUTS_AT_ONCE;
    w.apart = (T + TILE - 1) / TILE * TILE * 2 * K;
    for (int i = 0; i < count; i++) w.groups[i + 1] = w.groups[i] + (by[i]->N + w.step - 1) / w.step;
    /* As many rows at a time as stay in a processor's cache. */
    if (T > 2 * TILE) {
        const long bytes = packed ? 1 : w.tiled ? (scales ? 1 : 2) * w.terms : 4;
        const long cached = w.tiled ? CACHED_BY_TILES : CACHED_ROWS;
        const long most = cached / (in_row * bytes) / (2 * TILE) * (2 * TILE);
        w.block = most < 2 * TILE ? 2 * TILE : most;
    }
    const long all = w.groups[count], items = (T + w.block - 1) / w.block * all;
    const int threads = all * w.step * K > SMALL ? a->threads : 1;
#ifdef _OPENMP
    if (a->between_pytorch) {
        /* Use PyTorch's OpenMP threads: they spin after its operations, and other threads would find no free core. */
        const long part = items / (PARTS_PER_THREAD * threads) + 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
        for (long first = 0; first < items; first += part)
            multiply_groups(&w, first, first + part < items ? first + part : items);
        return;
    }
#endif
    parallel_for(multiply_groups, &w, items, threads);
}

static void multiply_one(const linear *by, void *out, const void *rows, const activations *a) {
    multiply_all(&by, &out, 1, rows, a);
}

/* The product of a linear layer. With scales, which need tiles, K is a multiple of 64 and N at least 32. Returns 0 without a product if there is no memory. */
int multiply(const linear *by, const void *rows, void *out, int dtype, long T, int threads, int tiles) {
    atomic_int no_memory = 0;
    const activations a = {dtype, T, threads, tiles, 1, &no_memory};
    multiply_one(by, out, rows, &a);
    return !no_memory;
}
