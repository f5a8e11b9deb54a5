/* Products of rows by packed weights. Rows are rounded to int8 by blocks of 32, as ggml does; sums within a block are of
 * integers, and blocks are added in their order, so a row's product does not depend on the rows beside it. */
#pragma once

#include "products_by_tiles.h"
#include "packed_weights.h"
#include "rounded_rows.h"

typedef uint16_t pairs __attribute__((vector_size(4 * LANES)));
typedef int16_t signed_pairs __attribute__((vector_size(4 * LANES)));
enum { OF_GROUP = OUTPUTS / LANES }; /* vectors that hold a number for each output of a group */

/* Sums of products of a weight's quads by a row's. Weights are unsigned, or signed where `is_signed`. */
#ifdef UNSIGNED_LEFT
enum { RAISE = 128 * UNSIGNED_LEFT }; /* added to signed elements; as many times the row's sum are subtracted */
typedef integers partial_sums;
inlined partial_sums add_quads(partial_sums sums, quads weight, quads row, int is_signed) {
    (void)is_signed;
    return add_dots(sums, weight, row);
}
inlined integers add_partial(integers sums, partial_sums partial) { return sums + partial; }
#else
enum { RAISE = 0 };
typedef signed_pairs partial_sums; /* of two products, in 16 bits */
inlined partial_sums add_quads(partial_sums sums, quads weight, quads row, int is_signed) {
    if (MULTIPLIES_IN_16_BITS) return sums + (partial_sums)pairs_of_bytes(weight, row);
    const signed_pairs left = (signed_pairs)weight, right = (signed_pairs)row;
    const signed_pairs even = is_signed ? left << 8 >> 8 : left & 0xff;
    const signed_pairs odd = is_signed ? left >> 8 : (signed_pairs)((pairs)left >> 8);
    return sums + even * (right << 8 >> 8) + odd * (right >> 8);
}
inlined integers add_partial(integers sums, partial_sums partial) {
    if (MULTIPLIES_IN_16_BITS) return add_pairs(sums, (quads)partial, (quads)((signed_pairs){0} + 1));
    return sums + ((integers)partial << 16 >> 16) + ((integers)partial >> 16);
}
#endif

/* How many quads are added before their sums are widened: sums of pairs of larger elements would overflow 16 bits. */
inlined int quads_in_partial(format f) {
    if (sizeof(partial_sums){0}[0] == 4) return 8;
    const int bits = f.is_signed ? 8 : f.low + f.high;
    return bits > 6 ? 1 : bits > 5 ? 2 : bits > 4 ? 4 : 8;
}

/* A quad of elements of a group's outputs, as bytes. */
inlined quads quad_of(format f, const uint8_t *planes, int quad, int part) {
    const int at = part * 4 * LANES;
    if (f.low == 8) {
        const quads of = *(const quads *)(planes + quad * PLANE + at);
        return RAISE ? of ^ (int8_t)-128 : of;
    }
    const int shift = f.low == 4 ? quad / 4 * 4 : quad % 4 * 2, plane = f.low == 4 ? quad % 4 : quad / 4;
    pairs low = *(const pairs *)(planes + plane * PLANE + at);
    if (shift) low >>= (uint16_t)shift;
    low &= (uint16_t)(f.low == 4 ? 0x0f0f : 0x0303);
    if (f.high) {
        const uint8_t *high = planes + f.low * PLANE + (f.high == 2 ? quad / 4 * PLANE : 0) + at;
        const int from = f.high == 2 ? quad % 4 * 2 : quad;
        const uint16_t mask = (f.high == 2 ? 0x0303 : 0x0101) << f.low;
        const pairs bits = *(const pairs *)high;
        low |= (from <= f.low ? bits << (uint16_t)(f.low - from) : bits >> (uint16_t)(from - f.low)) & mask;
    }
    if (!f.is_signed) return (quads)low;
#if defined(__AVX2__)
    const __m128i values = _mm_loadu_si128((const __m128i *)IQ4_VALUES);
#if LANES == 16
    const quads of = (quads)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), (__m512i)low);
#else
    const quads of = (quads)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), (__m256i)low);
#endif
#else
    quads of;
    for (int i = 0; i < 4 * LANES; i++) of[i] = IQ4_VALUES[((quads)low)[i]];
#endif
    return RAISE ? of ^ (int8_t)-128 : of;
}

typedef struct { vector scale[2][OF_GROUP], least[2][OF_GROUP]; } block_scaling;

inlined vector as_floats(integers of) { return __builtin_convertvector(of, vector); }

/* Scales and what is added for each unit of a row's sum, of a block's outputs. */
inlined void scaling_of(format f, const uint8_t *group, long block, block_scaling *to) {
    const uint8_t *scales = block_scales(f, group, block), *super = super_scales(f, group, block);
    UNROLL(2)
    for (int half = 0; half < f.scales; half++)
        UNROLL(2)
        for (int part = 0; part < OF_GROUP; part++) {
            const uint8_t *bytes = scales + half * OUTPUTS + part * LANES;
            vector scale = from_halves((f.kind < SIGNED_BYTES ? scales : super) + part * 2 * LANES), least = {0};
            if (f.kind == HALVES_AND_LEAST) least = from_halves(scales + 2 * OUTPUTS + part * 2 * LANES);
            if (f.kind == SIGNED_BYTES) scale *= as_floats(from_bytes(bytes, 1));
            if (f.kind == BYTES_AND_LEAST || f.kind == NIBBLES_AND_LEAST) {
                const vector by = -from_halves(super + 2 * OUTPUTS + part * 2 * LANES);
                const integers of = from_bytes(bytes, 0);
                const int is_split = f.kind == NIBBLES_AND_LEAST;
                scale *= as_floats(is_split ? of & 15 : of);
                least = by * as_floats(is_split ? of >> 4 : from_bytes(bytes + OUTPUTS, 0));
            }
            to->scale[half][part] = scale, to->least[half][part] = least;
        }
}

inlined int has_least(format f) { return f.kind != HALVES && f.kind != SIGNED_BYTES; }

/* Add a block's sum of integers, times the scales of the weight and of the row, and what the row's own sum is to add. */
inlined void add_block(format f, vector *sums, integers whole, const block_scaling *scaling, int half, int part,
                       const rounded_rows *rows, long place) {
    const int offset = f.is_signed ? RAISE : f.offset; /* as many times the row's own sum are too much */
    if (offset) {
        integers of_row = (integers){0} + rows->whole_sums[4 * place + (f.scales == 1 ? 2 : half)];
        IN_REGISTER(of_row); /* else it is multiplied before it is broadcast, which takes longer */
        whole = (integers)((words)whole - (words)of_row * (uint32_t)offset); /* rows that count for nothing overflow */
    }
    *sums += as_floats(whole) * (scaling->scale[half][part] * rows->scales[place]);
    if (has_least(f))
        *sums += scaling->least[half][part] * (f.scales == 1 ? rows->sums[place] : rows->half_sums[2 * place + half]);
}

/* Sums of products of quads `first` … `last` of a block by the outputs of a group. */
inlined void sum_quads(format f, integers (*whole)[8], const uint8_t *planes, const int8_t *row, int first, int last,
                       int count) {
    const int run = quads_in_partial(f) < last - first ? quads_in_partial(f) : last - first;
    UNROLL(8)
    for (int from = first; from < last; from += run) {
        partial_sums partial[OF_GROUP][8];
        UNROLL(8)
        for (int quad = from; quad < from + run; quad++) {
            quads weight[OF_GROUP];
            UNROLL(2)
            for (int part = 0; part < OF_GROUP; part++) weight[part] = quad_of(f, planes, quad, part);
            UNROLL(8)
            for (int i = 0; i < count; i++) {
                int32_t four;
                memcpy(&four, row + i * INPUTS + quad * QUAD, sizeof four);
                const quads of_row = (quads)((integers){0} + four);
                UNROLL(2)
                for (int part = 0; part < OF_GROUP; part++) {
                    const partial_sums before = quad == from ? (partial_sums){0} : partial[part][i];
                    partial[part][i] = add_quads(before, weight[part], of_row, f.is_signed);
                    IN_REGISTER(partial[part][i]);
                }
            }
        }
        UNROLL(8)
        for (int i = 0; i < count; i++)
            UNROLL(2)
            for (int part = 0; part < OF_GROUP; part++) {
                whole[part][i] = add_partial(from == first ? (integers){0} : whole[part][i], partial[part][i]);
                IN_REGISTER(whole[part][i]);
            }
    }
}

/* The same of all quads, of signed elements in 16 bits. */
inlined void sum_signed_quads(format f, integers (*whole)[8], const uint8_t *planes, const int16_t *row, int count) {
    UNROLL(8)
    for (int quad = 0; quad < INPUTS / QUAD; quad++) {
        signed_pairs weight[2][OF_GROUP];
        UNROLL(2)
        for (int part = 0; part < OF_GROUP; part++) {
            const signed_pairs both = (signed_pairs)quad_of(f, planes, quad, part);
            weight[0][part] = both << 8 >> 8, weight[1][part] = both >> 8;
        }
        UNROLL(8)
        for (int i = 0; i < count; i++)
            UNROLL(2)
            for (int odd = 0; odd < 2; odd++) {
                int32_t two;
                memcpy(&two, row + i * INPUTS + quad * QUAD + 2 * odd, sizeof two);
                const quads of_row = (quads)((integers){0} + two);
                UNROLL(2)
                for (int part = 0; part < OF_GROUP; part++) {
                    const integers before = quad || odd ? whole[part][i] : (integers){0};
                    whole[part][i] = add_pairs(before, (quads)weight[odd][part], of_row);
                    IN_REGISTER(whole[part][i]);
                }
            }
    }
}

/* Rows t … t + count, as far as there are any, by the outputs of a group. The packing and the count are constants where
 * this is called. */
inlined void group_outputs(const linear *by, const activations *a, const rounded_rows *rows, void *out, long n, long t,
                           int count, fetching next, enum packing packing) {
    const format f = format_of(packing);
    const long K = by->K, blocks = K / INPUTS;
    const uint8_t *group = (const uint8_t *)by->weight + n * group_bytes(f, K), *planes = block_planes(f, group, K, 0);
    const int of_half = INPUTS / QUAD / f.scales;
    vector sums[OF_GROUP][8];
    memset(sums, 0, sizeof sums);
    const long apart = rows_beside(t, a->T);
    long place = place_of(t, 0, a->T, blocks);
    for (long at = 0; at < (by->is_fine ? 2 : 1) * blocks; at++, planes += plane_bytes(f), place += apart) {
        if (at == blocks) planes -= blocks * plane_bytes(f), place += rows->rest - blocks * apart;
        const long pass = at >= blocks, block = at - pass * blocks;
        block_scaling scaling;
        if (!pass) fetch_share(&next);
        UNROLL(2)
        for (int half = 0; half < f.scales; half++) {
            integers whole[OF_GROUP][8];
            if (MULTIPLIES_IN_16_BITS && f.is_signed)
                sum_signed_quads(f, whole, planes, rows->in_16_bits + place * INPUTS, count);
            else
                sum_quads(f, whole, planes, rows->elements + place * INPUTS, half * of_half, (half + 1) * of_half, count);
            /* Only now: the sums above need all registers. */
            if (!half) scaling_of(f, group, block, &scaling);
            UNROLL(8)
            for (int i = 0; i < count; i++)
                UNROLL(2)
                for (int part = 0; part < OF_GROUP; part++)
                    add_block(f, &sums[part][i], whole[part][i], &scaling, half, part, rows, place + i);
        }
    }
    const long outputs = by->N - n * OUTPUTS < OUTPUTS ? by->N - n * OUTPUTS : OUTPUTS;
    for (int i = 0; i < count && t + i < a->T; i++) {
        float values[OUTPUTS];
        for (int part = 0; part < OF_GROUP; part++) *(unaligned_vector *)(values + part * LANES) = sums[part][i];
        store(by, a, out, t + i, n * OUTPUTS, outputs, values);
    }
}

/* Each number of rows in a function of its own: GCC then allocates registers better. */
#define GROUP_OUTPUTS_HEAD(count)                                                                                       \
    COMPILED_APART __attribute__((noinline)) void group_outputs_##count(                                                \
        const linear *by, const activations *a, const rounded_rows *rows, void *out, long n, long t, fetching next)
#ifdef OF_PACKED_PRODUCTS
#define GROUP_OUTPUTS(count)                                                                                            \
    GROUP_OUTPUTS_HEAD(count) {                                                                                         \
        WITH_PACKING(by->packing, group_outputs(by, a, rows, out, n, t, count, next, is_packing));                      \
    }
#else
#define GROUP_OUTPUTS(count) GROUP_OUTPUTS_HEAD(count);
#endif
GROUP_OUTPUTS(1)
GROUP_OUTPUTS(2)
GROUP_OUTPUTS(3)
GROUP_OUTPUTS(4)
#if LANES == 16
GROUP_OUTPUTS(6)
GROUP_OUTPUTS(8)
#endif

/* Functions for so many rows; more are divided. */
static void (*const group_outputs_of[])(const linear *, const activations *, const rounded_rows *, void *, long, long,
                                        fetching) = {
    0, group_outputs_1, group_outputs_2, group_outputs_3, group_outputs_4,
#if LANES == 16
    group_outputs_6, group_outputs_6, group_outputs_8, group_outputs_8,
#endif
};
enum { MOST_ROWS = sizeof group_outputs_of / sizeof *group_outputs_of - 1 };
