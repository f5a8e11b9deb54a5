/* Packed weights: brought from a GGUF file's blocks into groups of outputs, and read back row by row. */
#pragma once

#include "packed_formats.h"
#include "thread_pool.h"

/* One block of the file, taken apart: its elements, and the bytes of its scales as the layout has them. */
typedef struct {
    uint8_t elements[SUPER];
    uint16_t scale, least;           /* halves; of the block or super-block */
    uint8_t scales[16], leasts[16];  /* of each 16 or 32 inputs */
} file_block;

inlined void low_nibbles_first(const uint8_t *from, uint8_t *to, int count) {
    for (int i = 0; i < count; i++) to[i] = from[i] & 15, to[count + i] = from[i] >> 4;
}

/* Two bits each: four runs of 32 in 32 bytes. */
inlined void two_bits(const uint8_t *from, uint8_t *to) {
    for (int i = 0; i < SUPER; i++) to[i] = from[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

/* Eight scales and eight minima of six bits, in twelve bytes. */
inlined void six_bits(const uint8_t *from, uint8_t *scales, uint8_t *leasts) {
    for (int i = 0; i < 4; i++) {
        scales[i] = from[i] & 63, leasts[i] = from[i + 4] & 63;
        scales[i + 4] = (from[i + 8] & 15) | from[i] >> 6 << 4;
        leasts[i + 4] = from[i + 8] >> 4 | from[i + 4] >> 6 << 4;
    }
}

inlined void take_apart(enum packing packing, const uint8_t *from, file_block *to) {
    const uint8_t *high;
    switch (packing) {
    case Q4_0: case IQ4_NL:
        memcpy(&to->scale, from, 2);
        low_nibbles_first(from + 2, to->elements, 16);
        break;
    case Q4_1:
        memcpy(&to->scale, from, 2), memcpy(&to->least, from + 2, 2);
        low_nibbles_first(from + 4, to->elements, 16);
        break;
    case Q5_0: case Q5_1:
        memcpy(&to->scale, from, 2), memcpy(&to->least, from + 2, 2);
        high = from + (packing == Q5_0 ? 2 : 4);
        low_nibbles_first(high + 4, to->elements, 16);
        for (int i = 0; i < INPUTS; i++) to->elements[i] |= (high[i / 8] >> i % 8 & 1) << 4;
        break;
    case Q8_0:
        memcpy(&to->scale, from, 2), memcpy(to->elements, from + 2, INPUTS);
        break;
    case Q2_K:
        for (int i = 0; i < 16; i++) to->scales[i] = from[i];
        two_bits(from + 16, to->elements);
        memcpy(&to->scale, from + 80, 2), memcpy(&to->least, from + 82, 2);
        break;
    case Q3_K:
        two_bits(from + 32, to->elements);
        for (int i = 0; i < SUPER; i++) to->elements[i] |= (from[i % 32] >> i / 32 & 1) << 2;
        for (int i = 0; i < 16; i++)
            to->scales[i] = ((from[96 + i % 8] >> i / 8 * 4 & 15) | (from[104 + i % 4] >> i / 4 * 2 & 3) << 4) - 32;
        memcpy(&to->scale, from + 108, 2);
        break;
    case Q4_K: case Q5_K:
        memcpy(&to->scale, from, 2), memcpy(&to->least, from + 2, 2);
        six_bits(from + 4, to->scales, to->leasts);
        high = from + 16;
        for (int run = 0; run < 4; run++)
            low_nibbles_first(high + (packing == Q5_K ? 32 : 0) + run * 32, to->elements + run * 64, 32);
        for (int i = 0; packing == Q5_K && i < SUPER; i++) to->elements[i] |= (high[i % 32] >> i / 32 & 1) << 4;
        break;
    case Q6_K:
        for (int i = 0; i < SUPER; i++) {
            const int run = i / 32 % 4, at = i / 128 * 64 + i % 64;
            to->elements[i] = (from[at] >> run / 2 * 4 & 15) | (from[128 + i / 128 * 32 + i % 32] >> run * 2 & 3) << 4;
        }
        memcpy(to->scales, from + 192, 16), memcpy(&to->scale, from + 208, 2);
        break;
    case IQ4_XS:
        memcpy(&to->scale, from, 2);
        for (int i = 0; i < 8; i++) {
            const int two = (from[2 + i / 4] >> i % 4 * 2 & 3) << 4;
            to->scales[i] = ((from[4 + i / 2] >> i % 2 * 4 & 15) | two) - 32;
            low_nibbles_first(from + 8 + i * 16, to->elements + i * INPUTS, 16);
        }
        break;
    default: break;
    }
}

/* Write a block of one output into its group. `block` counts 32 inputs. */
inlined void place_block(format f, const file_block *from, uint8_t *group, long K, long block, int output) {
    if (f.block == SUPER) {
        uint8_t *super = (uint8_t *)super_scales(f, group, block);
        memcpy(super + 2 * output, &from->scale, 2);
        if (f.kind != SIGNED_BYTES) memcpy(super + 2 * (OUTPUTS + output), &from->least, 2);
    }
    for (int part = 0; part < f.block / INPUTS; part++) {
        uint8_t *scales = (uint8_t *)block_scales(f, group, block + part);
        if (f.kind == HALVES || f.kind == HALVES_AND_LEAST) memcpy(scales + 2 * output, &from->scale, 2);
        if (f.kind == HALVES_AND_LEAST) memcpy(scales + 2 * (OUTPUTS + output), &from->least, 2);
        if (f.kind >= SIGNED_BYTES)
            for (int i = 0; i < f.scales; i++) scales[i * OUTPUTS + output] = from->scales[part * f.scales + i];
        if (f.kind == BYTES_AND_LEAST) scales[OUTPUTS + output] = from->leasts[part];
        uint8_t *planes = block_planes(f, group, K, block + part) + output * QUAD, *high = planes + f.low * PLANE;
        for (int i = 0; i < INPUTS; i++) {
            const int quad = i / QUAD, byte = i % QUAD;
            const uint8_t element = from->elements[part * INPUTS + i];
            if (f.low == 8) planes[quad * PLANE + byte] = element;
            if (f.low == 4) planes[quad % 4 * PLANE + byte] |= (element & 15) << quad / 4 * 4;
            if (f.low == 2) planes[quad / 4 * PLANE + byte] |= (element & 3) << quad % 4 * 2;
            if (f.high == 1) high[byte] |= (element >> f.low & 1) << quad;
            if (f.high == 2) high[quad / 4 * PLANE + byte] |= (element >> f.low & 3) << quad % 4 * 2;
        }
    }
}

typedef struct {
    enum packing packing;
    const uint8_t *blocks;
    long N, K;
    uint8_t *groups;
    atomic_int *not_finite;
} repacking;

inlined int is_finite_half(uint16_t half) { return (half & 0x7c00) != 0x7c00; }

inlined void repack_group(const repacking *w, long n, enum packing packing) {
    const format f = format_of(packing);
    uint8_t *group = w->groups + n * group_bytes(f, w->K);
    memset(group, 0, group_bytes(f, w->K));
    for (int output = 0; output < OUTPUTS && n * OUTPUTS + output < w->N; output++) {
        const uint8_t *row = w->blocks + (n * OUTPUTS + output) * (w->K / f.block) * f.bytes;
        for (long at = 0; at < w->K / f.block; at++) {
            file_block block = {.least = 0};
            take_apart(packing, row + at * f.bytes, &block);
            const int has_least = f.kind == HALVES_AND_LEAST || f.kind >= BYTES_AND_LEAST;
            if (!is_finite_half(block.scale) || (has_least && !is_finite_half(block.least))) atomic_store(w->not_finite, 1);
            place_block(f, &block, group, w->K, at * (f.block / INPUTS), output);
        }
    }
}

static void repack_groups(const void *work, long first, long last) {
    const repacking *w = work;
    for (long n = first; n < last; n++) WITH_PACKING(w->packing, repack_group(w, n, is_packing));
}

/* The bytes of a packed weight; 0 if the type is not known or its blocks do not divide K. */
EXPORTED long packed_bytes(int packing, long N, long K) {
    const format f = format_of(packing);
    return f.block && K % f.block == 0 ? (N + OUTPUTS - 1) / OUTPUTS * group_bytes(f, K) : 0;
}

/* Bring a weight (N, K) from the blocks of a file, row after row, into groups; outputs that fill up the last are zeros.
 * Returns 0 if a scale is infinite or not a number. */
EXPORTED int repack(int packing, const uint8_t *blocks, long N, long K, uint8_t *groups, int threads) {
    atomic_int not_finite = 0;
    const repacking w = {packing, blocks, N, K, groups, &not_finite};
    parallel_for(repack_groups, &w, (N + OUTPUTS - 1) / OUTPUTS, threads);
    return !not_finite;
}

/* An element as it is in the file, of input i of a block. */
inlined int element_of(format f, const uint8_t *planes, int i) {
    const int quad = i / QUAD, byte = i % QUAD;
    const uint8_t *high = planes + f.low * PLANE;
    int element = f.low == 8   ? planes[quad * PLANE + byte]
                  : f.low == 4 ? planes[quad % 4 * PLANE + byte] >> quad / 4 * 4 & 15
                               : planes[quad / 4 * PLANE + byte] >> quad % 4 * 2 & 3;
    if (f.high == 1) element |= (high[byte] >> quad & 1) << f.low;
    if (f.high == 2) element |= (high[quad / 4 * PLANE + byte] >> quad % 4 * 2 & 3) << f.low;
    if (f.is_signed) return f.low == 8 ? (int8_t)element : IQ4_VALUES[element];
    return element - f.offset;
}

inlined float half_at(const uint8_t *from, int output) {
    uint16_t half;
    memcpy(&half, from + 2 * output, sizeof half);
    return from_half(half);
}

inlined void unpack(const linear *by, long n, long inputs, float *to, enum packing packing) {
    const format f = format_of(packing);
    const uint8_t *group = (const uint8_t *)by->weight + n / OUTPUTS * group_bytes(f, by->K);
    const int output = n % OUTPUTS;
    for (long block = 0; block < inputs / INPUTS; block++) {
        const uint8_t *scales = block_scales(f, group, block), *super = super_scales(f, group, block);
        const uint8_t *planes = block_planes(f, group, by->K, block) + output * QUAD;
        for (int i = 0; i < INPUTS; i++) {
            const uint8_t byte = scales[f.scales * i / INPUTS * OUTPUTS + output];
            float scale = half_at(f.kind < SIGNED_BYTES ? scales : super, output), least = 0;
            if (f.kind == HALVES_AND_LEAST) least = -half_at(scales + 2 * OUTPUTS, output);
            if (f.kind == SIGNED_BYTES) scale *= (int8_t)byte;
            if (f.kind == BYTES_AND_LEAST)
                scale *= byte, least = half_at(super + 2 * OUTPUTS, output) * scales[OUTPUTS + output];
            if (f.kind == NIBBLES_AND_LEAST)
                scale *= byte & 15, least = half_at(super + 2 * OUTPUTS, output) * (byte >> 4);
            to[block * INPUTS + i] = scale * element_of(f, planes, i) - least;
        }
    }
}

/* The first inputs of row n of a packed weight, in float32: exactly what the file's block means. */
static void unpack_row(const linear *by, long n, long inputs, float *to) {
    WITH_PACKING(by->packing, unpack(by, n, inputs, to, is_packing));
}

/* The first inputs, a multiple of 32, of rows of a packed weight, (count, inputs) in float32. Returns 0 if a row does not
 * exist, and then writes none of it. */
EXPORTED int unpack_rows(const linear *by, const long *rows, long count, long inputs, float *to) {
    for (long i = 0; i < count; i++)
        if (rows[i] < 0 || rows[i] >= by->N) return 0;
    for (long i = 0; i < count; i++) unpack_row(by, rows[i], inputs, to + i * inputs);
    return 1;
}
