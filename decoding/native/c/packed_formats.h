/* The quantised types of GGUF files, and the layout in which their weights are multiplied.
 *
 * A weight (N, K) is divided into groups of 16 outputs, whose elements lie side by side as lanes of vectors. A group is
 * its scales, block by block of 32 inputs, then its planes: for each block `low` · 64 bytes of low bits and `high` · 64
 * bytes of further ones. Four inputs of one output (a quad) are neighbouring bytes, as instructions of dot products want
 * them. An element is scale · (q - offset), or scale · q - least. The numbers are the file's, bit for bit.
 */
#pragma once

#include "vectors.h"

enum { OUTPUTS = 16, INPUTS = 32, SUPER = 256, QUAD = 4, PLANE = OUTPUTS * QUAD };

/* As ggml numbers them. */
enum packing {
    NOT_PACKED = 0, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8,
    Q2_K = 10, Q3_K = 11, Q4_K = 12, Q5_K = 13, Q6_K = 14, IQ4_NL = 20, IQ4_XS = 23
};

/* How a block's scales are stored: a half for each output; a half and another to add; a byte times the super-block's
 * half; two bytes, of a scale and of what is subtracted, times halves; the same two in a byte's nibbles. */
enum scaling_kind { HALVES, HALVES_AND_LEAST, SIGNED_BYTES, BYTES_AND_LEAST, NIBBLES_AND_LEAST };

typedef struct {
    int block;       /* inputs in a block of the file */
    int bytes;       /* and its size there */
    int low, high;   /* bits of an element in the two kinds of planes */
    int scales;      /* scales for each 32 inputs: 1 or 2 */
    int offset;
    enum scaling_kind kind;
    int is_signed;   /* elements are signed bytes, by a table if low is 4 */
} format;

inlined format format_of(enum packing packing) {
    switch (packing) {
    case Q4_0: return (format){INPUTS, 18, 4, 0, 1, 8, HALVES, 0};
    case Q4_1: return (format){INPUTS, 20, 4, 0, 1, 0, HALVES_AND_LEAST, 0};
    case Q5_0: return (format){INPUTS, 22, 4, 1, 1, 16, HALVES, 0};
    case Q5_1: return (format){INPUTS, 24, 4, 1, 1, 0, HALVES_AND_LEAST, 0};
    case Q8_0: return (format){INPUTS, 34, 8, 0, 1, 0, HALVES, 1};
    case Q2_K: return (format){SUPER, 84, 2, 0, 2, 0, NIBBLES_AND_LEAST, 0};
    case Q3_K: return (format){SUPER, 110, 2, 1, 2, 4, SIGNED_BYTES, 0};
    case Q4_K: return (format){SUPER, 144, 4, 0, 1, 0, BYTES_AND_LEAST, 0};
    case Q5_K: return (format){SUPER, 176, 4, 1, 1, 0, BYTES_AND_LEAST, 0};
    case Q6_K: return (format){SUPER, 210, 4, 2, 2, 32, SIGNED_BYTES, 0};
    case IQ4_NL: return (format){INPUTS, 18, 4, 0, 1, 0, HALVES, 1};
    case IQ4_XS: return (format){SUPER, 136, 4, 0, 1, 0, SIGNED_BYTES, 1};
    default: return (format){0};
    }
}

static const int8_t IQ4_VALUES[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* Bytes of the scales of 32 inputs (without the super-block's halves), of these halves, and of planes. */
inlined long scale_bytes(format f) {
    switch (f.kind) {
    case HALVES: return 2 * OUTPUTS;
    case HALVES_AND_LEAST: return 4 * OUTPUTS;
    case SIGNED_BYTES: return f.scales * OUTPUTS;
    default: return 2 * OUTPUTS;
    }
}
inlined long super_bytes(format f) {
    return f.block < SUPER ? 0 : f.kind == SIGNED_BYTES ? 2 * OUTPUTS : 4 * OUTPUTS;
}
inlined long plane_bytes(format f) { return (f.low + f.high) * PLANE; }
inlined long blocks_of_scales(format f, long K) { return K / f.block * (super_bytes(f) + f.block / INPUTS * scale_bytes(f)); }
inlined long all_scale_bytes(format f, long K) { return (blocks_of_scales(f, K) + PLANE - 1) / PLANE * PLANE; }
inlined long group_bytes(format f, long K) { return all_scale_bytes(f, K) + K / INPUTS * plane_bytes(f); }

/* The scales of a block of 32 inputs: those of its own, and the super-block's halves. */
inlined const uint8_t *block_scales(format f, const uint8_t *group, long block) {
    const long each = f.block / INPUTS, super = super_bytes(f) + each * scale_bytes(f);
    return group + block / each * super + super_bytes(f) + block % each * scale_bytes(f);
}
inlined const uint8_t *super_scales(format f, const uint8_t *group, long block) {
    const long each = f.block / INPUTS;
    return group + block / each * (super_bytes(f) + each * scale_bytes(f));
}
inlined uint8_t *block_planes(format f, const uint8_t *group, long K, long block) {
    return (uint8_t *)group + all_scale_bytes(f, K) + block * plane_bytes(f);
}

/* Run a statement in which `is_packing` is the packing as a compile-time constant. */
#define WITH_PACKING(that, statement)                                                                    \
    do {                                                                                                 \
        switch ((int)(that)) {                                                                                  \
        case Q4_0: { const enum packing is_packing = Q4_0; statement; } break;                           \
        case Q4_1: { const enum packing is_packing = Q4_1; statement; } break;                           \
        case Q5_0: { const enum packing is_packing = Q5_0; statement; } break;                           \
        case Q5_1: { const enum packing is_packing = Q5_1; statement; } break;                           \
        case Q8_0: { const enum packing is_packing = Q8_0; statement; } break;                           \
        case Q2_K: { const enum packing is_packing = Q2_K; statement; } break;                           \
        case Q3_K: { const enum packing is_packing = Q3_K; statement; } break;                           \
        case Q4_K: { const enum packing is_packing = Q4_K; statement; } break;                           \
        case Q5_K: { const enum packing is_packing = Q5_K; statement; } break;                           \
        case Q6_K: { const enum packing is_packing = Q6_K; statement; } break;                           \
        case IQ4_NL: { const enum packing is_packing = IQ4_NL; statement; } break;                       \
        case IQ4_XS: { const enum packing is_packing = IQ4_XS; statement; } break;                       \
        }                                                                                                \
    } while (0)
