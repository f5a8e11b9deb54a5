/* Products of many rows by packed weights, by matrix tiles (AMX): a block's sums are the same whole numbers as in
 * packed_products.h, and all else is done as there. A block's quads are the right factor as they lie, rows the left one. */
#pragma once

#include "packed_products.h"

/* Fewer rows are quicker by vectors, and so are all rows where a block has two scales: a tile is stored for each. */
enum { FEWEST_TILE_ROWS = 9 };

#ifdef HAS_TILES
/* Tiles: the sums, and of a block the elements of PASS rows and the weight's quads. */
#define SUMS_TILE 0
#define ROWS_TILE 1
#define WEIGHT_TILE 2

static void load_packed_layout(tile_layout *before) {
    const tile_layout layout = {.palette = 1, .bytes = {PLANE, INPUTS, PLANE}, .rows = {PASS, PASS, INPUTS / QUAD}};
    load_tiles(&layout, before);
}

/* Rows t … t + count, at most PASS, by the outputs of a group. What was just stored as vectors takes long to load as a
 * tile, and the other way round: so several blocks are in work, in three stages of this loop's turns. */
inlined void group_by_tiles(const linear *by, const activations *a, const rounded_rows *rows, void *out, long n, long t,
                            int count, fetching next, enum packing packing) {
    enum { MULTIPLIED = 4, ADDED = 5, IN_WORK = 8, RESULTS = 2 };
    const format f = format_of(packing);
    const long K = by->K, blocks = K / INPUTS, all = (by->is_fine ? 2 : 1) * blocks;
    const uint8_t *group = (const uint8_t *)by->weight + n * group_bytes(f, K), *planes = block_planes(f, group, K, 0);
    const long apart = rows_beside(t, a->T), place = place_of(t, 0, a->T, blocks), of_rest = rows->rest - blocks * apart;
    quads weight[IN_WORK][8] ALIGNED;
    integers whole[RESULTS][PASS] ALIGNED;
    vector sums[PASS];
    UNROLL(16)
    for (int i = 0; i < PASS; i++) sums[i] = (vector){0};
    for (long at = 0; at < all + ADDED; at++) {
        if (at < all) {
            const uint8_t *of = planes + (at < blocks ? at : at - blocks) * plane_bytes(f);
            UNROLL(8)
            for (int quad = 0; quad < 8; quad++) weight[at % IN_WORK][quad] = quad_of(f, of, quad, 0);
            if (at < blocks) fetch_share(&next);
        }
        all_memory_counts();
        const long second = at - MULTIPLIED, third = at - ADDED;
        if (second >= 0 && second < all) {
            const long here = place + second * apart + (second < blocks ? 0 : of_rest);
            _tile_zero(SUMS_TILE);
            _tile_loadd(ROWS_TILE, rows->elements + here * INPUTS, INPUTS);
            _tile_loadd(WEIGHT_TILE, weight[second % IN_WORK], PLANE);
            _tile_dpbsud(SUMS_TILE, ROWS_TILE, WEIGHT_TILE);
            _tile_stored(SUMS_TILE, whole[second % RESULTS], PLANE);
        }
        if (third >= 0) {
            const long here = place + third * apart + (third < blocks ? 0 : of_rest);
            block_scaling scaling;
            scaling_of(f, group, third < blocks ? third : third - blocks, &scaling);
            UNROLL(16)
            for (int i = 0; i < PASS; i++) add_block(f, sums + i, whole[third % RESULTS][i], &scaling, 0, 0, rows, here + i);
        }
    }
    const long outputs = by->N - n * OUTPUTS < OUTPUTS ? by->N - n * OUTPUTS : OUTPUTS;
    float values[PASS][OUTPUTS];
    UNROLL(16)
    for (int i = 0; i < PASS; i++) *(unaligned_vector *)values[i] = sums[i];
    for (int i = 0; i < count; i++) store(by, a, out, t + i, n * OUTPUTS, outputs, values[i]);
}

COMPILED_APART __attribute__((noinline)) void many_rows_of_group(const linear *by, const activations *a,
                                                                 const rounded_rows *rows, void *out, long n, long t,
                                                                 int count, fetching next)
#ifdef OF_PACKED_PRODUCTS
{
    WITH_PACKING(by->packing, group_by_tiles(by, a, rows, out, n, t, count, next, is_packing));
}
#else
    ;
#endif
#else
static void load_packed_layout(tile_layout *before) { (void)before; }
#endif

/* Rows first … last by the outputs of a group. */
inlined void all_rows_of_group(const linear *by, const activations *a, const rounded_rows *rows, void *out, long n,
                               long first, long last, int tiled) {
    const long bytes = group_bytes(format_of(by->packing), by->K), blocks = by->K / INPUTS;
    tiled &= format_of(by->packing).scales == 1;
    const long most = tiled ? PASS : MOST_ROWS, passes = (last - first + most - 1) / most, share = bytes / passes;
    const char *next = (const char *)by->weight + (n + 1) * bytes;
    for (long t = first, count; t < last; t += count, next += share) {
        const fetching fetch = {next, share / blocks + 1};
        count = last - t < most ? last - t : most;
#ifdef HAS_TILES
        if (tiled && count >= FEWEST_TILE_ROWS) {
            many_rows_of_group(by, a, rows, out, n, t, count, fetch);
            continue;
        }
#endif
        group_outputs_of[count](by, a, rows, out, n, t, fetch);
    }
}
