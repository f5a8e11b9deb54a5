/* Products by matrix tiles (AMX). The left factor is the weight, read in place; the right one the packed rows. */
#pragma once

#include "lanes.h"

#define INT8_BLOCK 64 /* elements of an int8 row with one scale: the bytes of a tile's row */

#if defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#define HAS_TILES
#define TILE 16
#define TILE_BYTES 64

EXPORTED int can_use_tiles(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Prefetch AHEAD bytes further in each of 32 rows, continuing in the next 32 rows: the hardware prefetcher does not follow
 * that many streams. */
inlined void prefetch_rows(const char *weight, long at, long bytes) {
    enum { AHEAD = 256 };
    const char *ahead = weight + at + AHEAD + (at + AHEAD < bytes ? 0 : (2 * TILE - 1) * bytes);
    UNROLL(32)
    for (int row = 0; row < 2 * TILE; row++) __builtin_prefetch(ahead + row * bytes);
}

/* The same in a weight laid out tile by tile, which is read in its order. */
inlined void prefetch_tiles(const char *tiles) {
    enum { AHEAD = 1024 };
    UNROLL(32)
    for (int row = 0; row < 2 * TILE; row++) __builtin_prefetch(tiles + AHEAD + row * TILE_BYTES, 0, 2);
}

/* The share of 32 rows that is prefetched into the second-level cache, `distance` bytes ahead, during other products. */
typedef struct {
    const char *weight;
    long bytes, distance;
    int first, last, in_tiles;
} later_rows;

inlined void prefetch_later(const later_rows *later, long at) {
    at += later->distance;
    const long bytes = later->bytes, after = at < bytes ? 0 : (2 * TILE - 1) * bytes;
    const char *ahead = later->weight + (later->in_tiles ? 2 * TILE * at : at + after);
    const long apart = later->in_tiles ? TILE_BYTES : bytes;
    for (int row = later->first; row < later->last; row++) __builtin_prefetch(ahead + row * apart, 0, 2);
}

/* Accumulators of 32 outputs for one or two groups of 16 rows: four tiles (16 outputs, 16 rows). */
typedef vector tile_sums[4][TILE];

/* Add the products of bytes first … last of 32 weight rows to the sums. */
inlined void bfloat16_tiles(const char *weight, const char *packed, int groups, tile_sums sums, long bytes, long first,
                            long last, int terms, long term_bytes, int in_no_cache, const later_rows *later,
                            int in_tiles) {
    const long apart = in_tiles ? TILE_BYTES : bytes;
    if (first) {
        _tile_loadd(0, sums[0], TILE_BYTES);
        _tile_loadd(1, sums[1], TILE_BYTES);
        _tile_loadd(2, sums[2], TILE_BYTES);
        _tile_loadd(3, sums[3], TILE_BYTES);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (long at = first; at < last; at += TILE_BYTES) {
        const char *tiles = weight + (in_tiles ? 2 * TILE * at : at);
        if (in_no_cache && in_tiles) prefetch_tiles(tiles);
        if (in_no_cache && !in_tiles) prefetch_rows(weight, at, bytes);
        prefetch_later(later, at);
        _tile_loadd(4, tiles, apart);
        _tile_loadd(5, tiles + TILE * apart, apart);
        for (int term = 0; term < terms; term++) {
            const char *of_term = packed + term * term_bytes + TILE * at;
            _tile_loadd(6, of_term, TILE_BYTES);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 5, 6);
            if (groups > 1) {
                _tile_loadd(7, of_term + TILE * bytes, TILE_BYTES);
                _tile_dpbf16ps(2, 4, 7);
                _tile_dpbf16ps(3, 5, 7);
            }
        }
    }
    _tile_stored(0, sums[0], TILE_BYTES);
    _tile_stored(1, sums[1], TILE_BYTES);
    if (groups > 1) {
        _tile_stored(2, sums[2], TILE_BYTES);
        _tile_stored(3, sums[3], TILE_BYTES);
    }
}

/* Each block of INT8_BLOCK bytes of a row has a scale of its own: (blocks, rows), a group after another. */
inlined void int8_tiles(const char *weight, const char *packed, const float *scales, int groups, tile_sums sums, long bytes) {
    enum { AT_ONCE = 8 };
    integers whole[AT_ONCE][TILE];
    for (int part = 0; part < 2 * groups; part++) {
        const char *left = weight + part % 2 * TILE * bytes, *right = packed + part / 2 * TILE * bytes;
        const vector *scale = (const vector *)(scales + part / 2 * bytes / INT8_BLOCK * TILE);
        vector of_part[TILE] = {0}; /* in registers */
        /* Several blocks at a time, to hide the latency between a tile's store and the load of its result. */
        for (long at = 0; at < bytes; at += AT_ONCE * TILE_BYTES) {
            const long end = at + AT_ONCE * TILE_BYTES < bytes ? at + AT_ONCE * TILE_BYTES : bytes;
            integers(*into)[TILE] = whole;
            for (long here = at; here < end; here += TILE_BYTES, into++) {
                if (part < 2) prefetch(left + TILE * (bytes + here), TILE * TILE_BYTES);
                _tile_zero(0);
                _tile_loadd(4, left + here, bytes);
                _tile_loadd(6, right + TILE * here, TILE_BYTES);
                _tile_dpbssd(0, 4, 6);
                _tile_stored(0, *into, TILE_BYTES);
            }
            for (into = whole; into < whole + (end - at) / TILE_BYTES; into++, scale++)
                UNROLL(16)
                for (int i = 0; i < TILE; i++) of_part[i] += __builtin_convertvector((*into)[i], vector) * *scale;
        }
        memcpy(sums[part], of_part, sizeof of_part);
    }
}

typedef struct __attribute__((packed)) {
    uint8_t palette, start, unused[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_layout;

/* A compiler barrier: GCC's intrinsics declare only the first eight of a layout's 64 bytes as read or written. */
inlined void all_memory_counts(void) { __asm__ volatile("" ::: "memory"); }

/* Save the thread's tile configuration and load ours; libraries that configure tiles once rely on it being restored. */
static void load_tiles(const tile_layout *layout, tile_layout *before) {
    _tile_storeconfig(before);
    all_memory_counts();
    _tile_loadconfig(layout);
}

static void load_layout(tile_layout *before) {
    tile_layout layout = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        layout.bytes[tile] = TILE_BYTES;
        layout.rows[tile] = TILE;
    }
    load_tiles(&layout, before);
}

static void restore_layout(const tile_layout *before) {
    all_memory_counts();
    if (before->palette)
        _tile_loadconfig(before);
    else
        _tile_release();
}

/* Interleave four bytes of each of sixteen rows, the layout of the right factor; missing rows are zeros. */
static void pack(const uint32_t *rows, long T, long row_words, uint32_t *packed) {
    for (long word = 0; word < row_words; word += TILE) {
        vector square[TILE] = {0};
        for (long t = 0; t < T; t++) square[t] = loaded(rows, t * row_words + word, FLOAT32);
        transpose(square);
        memcpy(packed + word * TILE, square, sizeof square);
    }
}

/* Write the outputs n … n + 16 of some rows; sums (16, rows). */
inlined void store_tile(const linear *by, const activations *a, const vector *sums, void *out, long t, long rows, long n) {
    vector of_rows[TILE], scale = {0}, bias = {0};
    memcpy(of_rows, sums, sizeof of_rows);
    transpose(of_rows);
    if (by->scales) scale = loaded(by->scales, n, FLOAT32);
    if (by->bias) WITH_DTYPE(a->dtype, bias = loaded(by->bias, n, is));
    for (long row = 0; row < rows; row++) {
        vector values = of_rows[row];
        if (by->scales) values *= scale;
        if (by->bias) values += bias;
        WITH_DTYPE(a->dtype, put(out, (t + row) * by->N + n, values, is));
    }
}

/* The outputs n … n + 32, or the last of those, for rows first … last; the packed rows' terms are `apart` bytes apart. */
inlined void outputs_by_tiles(const linear *by, const activations *a, const char *packed, const float *scales, int terms,
                              long apart, void *out, long n, long first, long last) {
    enum { SPAN = 4096 }; /* bytes of 32 weights, and of as many to come, beside which the rows stay in the cache */
    const long bytes = by->K * (scales ? 1 : 2), groups = (last - first + TILE - 1) / TILE;
    if (n + 2 * TILE > by->N) n = by->N - 2 * TILE; /* overlaps the tiles before: some outputs are computed twice */
    const char *weight = (const char *)by->weight + n * bytes;
    tile_sums few, *sums = groups > 2 ? scratch(SUMS, (groups + 1) / 2 * sizeof *sums) : &few;
    if (!sums) {
        atomic_store(a->no_memory, 1);
        return;
    }
    const long span = scales || groups <= 2 ? bytes : SPAN, pairs = (groups + 1) / 2;
    for (long at = 0; at < bytes; at += span) {
        const long end = at + span < bytes ? at + span : bytes;
        for (long group = 0; group < groups; group += 2) {
            const int two = 1 + (group + 1 < groups);
            const char *rows = packed + (first + group * TILE) * bytes;
            tile_sums *to = sums + group / 2;
            /* Keeps the memory busy: each pair of groups prefetches its share of the next weights. */
            const int share = pairs > 1 ? 2 * TILE : 0;
            const later_rows later = {weight, bytes, span, group / 2 * share / pairs, (group / 2 + 1) * share / pairs, by->in_tiles};
            if (scales)
                int8_tiles(weight, rows, scales + (first + group * TILE) * bytes / INT8_BLOCK, two, *to, bytes);
            else if (by->in_tiles)
                bfloat16_tiles(weight, rows, two, *to, bytes, at, end, terms, apart, !group, &later, 1);
            else
                bfloat16_tiles(weight, rows, two, *to, bytes, at, end, terms, apart, !group, &later, 0);
        }
    }
    for (long group = 0; group < groups; group++)
        for (long half = 0; half < 2; half++) {
            const long row = first + group * TILE, rows = last - row < TILE ? last - row : TILE;
            store_tile(by, a, sums[group / 2][group % 2 * 2 + half], out, row, rows, n + half * TILE);
        }
}
#else
enum { TILE = 16 };
EXPORTED int can_use_tiles(void) { return 0; }
typedef char tile_layout;
static void load_layout(tile_layout *before) { (void)before; }
static void restore_layout(const tile_layout *before) { (void)before; }
static void pack(const uint32_t *rows, long T, long row_words, uint32_t *packed) {
    (void)rows, (void)T, (void)row_words, (void)packed;
}
inlined void outputs_by_tiles(const linear *by, const activations *a, const char *packed, const float *scales, int terms,
                              long apart, void *out, long n, long first, long last) {
    (void)by, (void)a, (void)packed, (void)scales, (void)terms, (void)apart, (void)out, (void)n, (void)first, (void)last;
}
#endif
