/* Products of a few rows by a weight, and whole steps of Llama-like models, where PyTorch's kernels take too long.
 *
 * A product is out (T, N) = rows (T, K) · weight (N, K)ᵀ + bias (N), with the weight as a linear layer holds it. Every
 * element is summed in an order that does not depend on T, and attention sums over the visible tokens in their order:
 * what a token yields is the same, bit for bit, whatever else is in the step. For few rows a step takes about as long
 * as the weights take to be read. Values are rounded where transformers rounds them.
 *
 * Compiled for the processor it runs on (see build.py): matrix tiles (AMX) where there are some, else vectors.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define inlined static inline __attribute__((always_inline))

typedef uint16_t bfloat16;
enum dtype { FLOAT32 = 0, BFLOAT16 = 1 };

/* The structures that native/structures.py describes to ctypes. */
typedef struct {
    const void *weight;  /* (N, K) */
    const float *scales; /* of the weight's rows if these are int8; null if they have the dtype of the activations */
    const void *bias;    /* (N), in the dtype of the activations; may be null */
    long N, K;
    int narrow; /* the weight is in bfloat16 and the activations in float32, exactly as if both were */
} linear;

typedef struct {
    linear query, key, value, output, gate, up, down;
    const void *attention_norm, *mlp_norm; /* (width) */
    const void *query_norm, *key_norm;     /* (head_size); may be null */
    void *keys, *values;                   /* the cache, (kv_heads, capacity, head_size) */
} layer;

typedef struct {
    int dtype, threads, tiles;
    float eps, scaling;
    long width, inner, heads, kv_heads, head_size, capacity, layers;
    const layer *layer;
    const void *norm;       /* (width) */
    const void *cos, *sin;  /* the rotary tables, (positions, head_size) */
    linear head;
} transformer;

typedef struct {
    enum dtype dtype; /* of rows and products */
    long T;
    int threads, tiles;
} activations;

inlined float widened(bfloat16 value) {
    const uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

inlined bfloat16 narrowed(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bfloat16)(bits >> 16 | 0x40); /* not a number */
    return (bfloat16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inlined float rounded(float value, enum dtype dtype) { return dtype == BFLOAT16 ? widened(narrowed(value)) : value; }

inlined float read_from(const void *of, long at, enum dtype dtype) {
    return dtype == BFLOAT16 ? widened(((const bfloat16 *)of)[at]) : ((const float *)of)[at];
}

inlined void write_to(void *to, long at, float value, enum dtype dtype) {
    if (dtype == BFLOAT16)
        ((bfloat16 *)to)[at] = narrowed(value);
    else
        ((float *)to)[at] = value;
}

/* Do something with `is`, the dtype, as a constant: the loops within are compiled for each dtype. */
#define WITH_DTYPE(that_dtype, statement)       \
    do {                                        \
        if ((that_dtype) == BFLOAT16) {         \
            const enum dtype is = BFLOAT16;    \
            statement;                          \
        } else {                                \
            const enum dtype is = FLOAT32;     \
            statement;                          \
        }                                       \
    } while (0)

inlined void *offset(const void *of, long elements, enum dtype dtype) {
    return (char *)of + elements * (dtype == BFLOAT16 ? 2 : 4);
}

/* Add the bias to outputs n … n + count of row t, and write them. */
inlined void store(const linear *by, const activations *a, void *out, long t, long n, long count, float *values) {
    if (by->bias)
        WITH_DTYPE(a->dtype, for (long i = 0; i < count; i++) values[i] += read_from(by->bias, n + i, is));
    WITH_DTYPE(a->dtype, for (long i = 0; i < count; i++) write_to(out, t * by->N + n + i, values[i], is));
}

enum buffer { PACKED, WIDE, WHOLE, SCORES, NORMED, ATTENDED, QUERIES, GATES, UPS, BUFFERS };

/* Memory that the calling thread keeps from call to call. */
static void *scratch(enum buffer buffer, size_t bytes) {
    static __thread struct { void *memory; size_t bytes; } kept[BUFFERS];
    if (kept[buffer].bytes < bytes) {
        free(kept[buffer].memory);
        kept[buffer].bytes = (bytes + bytes / 2 + 4095) / 4096 * 4096;
        kept[buffer].memory = aligned_alloc(64, kept[buffer].bytes);
    }
    return kept[buffer].memory;
}

/* ---- vectors: any processor ------------------------------------------------------------------------------------ */

#ifdef __AVX512F__
#define LANES 16
#define ROWS_AT_ONCE 8 /* by two outputs: as many sums as fit into registers */
#else
#define LANES 8
#define ROWS_AT_ONCE 4
#endif
#define MAX_VECTORS (256 / LANES) /* of a head */
#define QUERIES_AT_ONCE 16 /* that share keys and values */
#define SMALL 16384 /* elements not worth a second thread */
#define ALIGNED __attribute__((aligned(4 * LANES)))
#define CONST(...) {__VA_ARGS__}
#define INT8_BLOCK 64 /* elements of an int8 row with one scale: the bytes of a tile's row */
typedef float vector __attribute__((vector_size(4 * LANES)));
typedef float unaligned_vector __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef bfloat16 halves __attribute__((vector_size(2 * LANES), aligned(2)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

inlined vector loaded(const void *from, long at, enum dtype dtype) {
    if (dtype == FLOAT32) return *(const unaligned_vector *)((const float *)from + at);
    return (vector)(__builtin_convertvector(*(const halves *)((const bfloat16 *)from + at), words) << 16);
}

/* The sum of the lanes: halves are added until two lanes are left. */
inlined float sum_of(vector of) {
#if LANES == 16
    of += __builtin_shuffle(of, (integers){8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
    of += __builtin_shuffle(of, (integers){4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
    of += __builtin_shuffle(of, (integers){2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13});
#else
    of += __builtin_shuffle(of, (integers){4, 5, 6, 7, 0, 1, 2, 3});
    of += __builtin_shuffle(of, (integers){2, 3, 0, 1, 6, 7, 4, 5});
#endif
    return of[0] + of[1];
}

inlined vector choose(integers where, vector that, vector other) {
    return (vector)((where & (integers)that) | (~where & (integers)other));
}

/* eˣ for x ≤ 0, to about two units in the last place: 2ⁿ · e^r with r within ± ln 2 / 2. */
inlined vector exponential(vector x) {
    x = choose(x < -87.0f, (vector){0} - 87.0f, x);
    const vector n = __builtin_convertvector(__builtin_convertvector(x * 1.44269504f - 0.5f, integers), vector);
    const vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vector sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * r + 8.3334519073e-3f;
    sum = sum * r + 4.1665795894e-2f;
    sum = sum * r + 1.6666665459e-1f;
    sum = sum * r + 5.0000001201e-1f;
    sum = sum * r * r + r + 1.0f;
    return (vector)((integers)sum + (__builtin_convertvector(n, integers) << 23));
}

/* Rows t … t + count by outputs n … n + outputs. Both numbers are constants where this is called: the loops unroll. */
inlined void block(const linear *by, const activations *a, const float *rows, void *out, long t, long n, int count,
                   int outputs, enum dtype dtype) {
    const long K = by->K, whole = K - K % LANES;
    vector sums[4][8];
    memset(sums, 0, sizeof sums);
    for (long k = 0; k < whole; k += LANES) {
        vector of_weight[4];
#pragma GCC unroll 4
        for (int j = 0; j < outputs; j++) of_weight[j] = loaded(by->weight, (n + j) * K + k, dtype);
#pragma GCC unroll 8
        for (int i = 0; i < count; i++) {
            const vector of_row = loaded(rows, (t + i) * K + k, FLOAT32);
#pragma GCC unroll 4
            for (int j = 0; j < outputs; j++) sums[j][i] += of_weight[j] * of_row;
        }
    }
    for (int i = 0; i < count; i++) {
        float values[4];
        for (int j = 0; j < outputs; j++) {
            values[j] = sum_of(sums[j][i]);
            for (long k = whole; k < K; k++)
                values[j] += rows[(t + i) * K + k] * read_from(by->weight, (n + j) * K + k, dtype);
        }
        store(by, a, out, t + i, n, outputs, values);
    }
}

inlined void outputs_by_vectors(const linear *by, const activations *a, const float *rows, void *out, long n,
                                enum dtype dtype) {
    const long T = a->T;
    long t = 0;
    if (n + 4 > by->N) {
        for (; n < by->N; n++)
            for (t = 0; t < T; t++) block(by, a, rows, out, t, n, 1, 1, dtype);
        return;
    }
    for (; t + ROWS_AT_ONCE <= T; t += ROWS_AT_ONCE) {
        block(by, a, rows, out, t, n, ROWS_AT_ONCE, 2, dtype);
        block(by, a, rows, out, t, n + 2, ROWS_AT_ONCE, 2, dtype);
    }
    for (; ROWS_AT_ONCE > 4 && t + 4 <= T; t += 4) block(by, a, rows, out, t, n, 4, 4, dtype);
    for (; t + 2 <= T; t += 2) block(by, a, rows, out, t, n, 2, 4, dtype);
    if (t < T) block(by, a, rows, out, t, n, 1, 4, dtype);
}

/* ---- matrix tiles: the weight is the left factor as it lies, the rows, packed, are the right one ----------------- */

#if defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE 16
#define TILE_BYTES 64

int can_use_tiles(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* The sums of 32 outputs by one or two groups of 16 rows: (outputs, rows), 16 outputs and a group after another. */
typedef vector tile_sums[4][TILE];

inlined void bfloat16_tiles(const char *weight, const char *packed, int groups, tile_sums sums, long bytes, int terms,
                            long term_bytes) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long at = 0; at < bytes; at += TILE_BYTES) {
        _tile_loadd(4, weight + at, bytes);
        _tile_loadd(5, weight + TILE * bytes + at, bytes);
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

/* Fetch what comes next of the weight: a processor does not foresee the strides of short rows. */
inlined void fetch(const char *from, long bytes) {
    for (long at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

/* Each block of INT8_BLOCK bytes of a row has a scale of its own: (blocks, rows), a group after another. */
inlined void int8_tiles(const char *weight, const char *packed, const float *scales, int groups, tile_sums sums, long bytes) {
    enum { AT_ONCE = 8 };
    integers whole[AT_ONCE][TILE];
    for (int part = 0; part < 2 * groups; part++) {
        const char *left = weight + part % 2 * TILE * bytes, *right = packed + part / 2 * TILE * bytes;
        const vector *scale = (const vector *)(scales + part / 2 * bytes / INT8_BLOCK * TILE);
        vector of_part[TILE] = {0}; /* in registers */
        /* Some blocks at a time: what a tile has just stored can be loaded only once it has reached the cache. */
        for (long at = 0; at < bytes; at += AT_ONCE * TILE_BYTES) {
            const long end = at + AT_ONCE * TILE_BYTES < bytes ? at + AT_ONCE * TILE_BYTES : bytes;
            integers(*into)[TILE] = whole;
            for (long here = at; here < end; here += TILE_BYTES, into++) {
                if (part < 2) fetch(left + TILE * (bytes + here), TILE * TILE_BYTES);
                _tile_zero(0);
                _tile_loadd(4, left + here, bytes);
                _tile_loadd(6, right + TILE * here, TILE_BYTES);
                _tile_dpbssd(0, 4, 6);
                _tile_stored(0, *into, TILE_BYTES);
            }
            for (into = whole; into < whole + (end - at) / TILE_BYTES; into++, scale++)
#pragma GCC unroll 16
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

/* Other libraries load their layout once and rely on it: it is put back. */
static void load_layout(tile_layout *before) {
    tile_layout layout = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        layout.bytes[tile] = TILE_BYTES;
        layout.rows[tile] = TILE;
    }
    _tile_storeconfig(before);
    _tile_loadconfig(&layout);
}

static void restore_layout(const tile_layout *before) {
    if (before->palette)
        _tile_loadconfig(before);
    else
        _tile_release();
}

/* Four bytes of sixteen rows beside each other, as the right factor wants them; rows that are not there are zeros. */
static void pack(const uint32_t *rows, long T, long row_words, uint32_t *packed) {
    const long groups = (T + TILE - 1) / TILE;
    if (T % TILE) memset(packed + (groups - 1) * TILE * row_words, 0, 4 * TILE * row_words);
    for (long t = 0; t < T; t++) {
        uint32_t *column = packed + t / TILE * TILE * row_words + t % TILE;
        for (long word = 0; word < row_words; word++) column[word * TILE] = rows[t * row_words + word];
    }
}

/* The outputs n … n + 32, or the last of those, which overlap the ones before. scales: of int8 rows, else null. */
inlined void outputs_by_tiles(const linear *by, const activations *a, const char *packed, const float *scales, int terms,
                              void *out, long first) {
    tile_sums sums;
    const long bytes = by->K * (scales ? 1 : 2), T = a->T;
    const long n = first + 2 * TILE <= by->N ? first : by->N - 2 * TILE;
    const char *weight = (const char *)by->weight + n * bytes;
    for (long t = 0; t < T; t += 2 * TILE) {
        const int groups = T - t > TILE ? 2 : 1;
        if (scales)
            int8_tiles(weight, packed + t * bytes, scales + t * bytes / INT8_BLOCK, groups, sums, bytes);
        else
            bfloat16_tiles(weight, packed + t * bytes, groups, sums, bytes, terms, (T + TILE - 1) / TILE * TILE * bytes);
        for (long j = t; j < T && j < t + 2 * TILE; j++) {
            const long group = (j - t) / TILE * 2, column = j % TILE;
            float values[2 * TILE];
            for (long i = 0; i < 2 * TILE; i++) values[i] = sums[group + i / TILE][i % TILE][column];
            if (scales)
                for (long i = 0; i < 2 * TILE; i++) values[i] *= by->scales[n + i];
            store(by, a, out, j, first, n + 2 * TILE - first, values + (first - n));
        }
    }
}
#else
enum { TILE = 16 };
int can_use_tiles(void) { return 0; }
typedef char tile_layout;
static void load_layout(tile_layout *before) { (void)before; }
static void restore_layout(const tile_layout *before) { (void)before; }
static void pack(const uint32_t *rows, long T, long row_words, uint32_t *packed) {
    (void)rows, (void)T, (void)row_words, (void)packed;
}
inlined void outputs_by_tiles(const linear *by, const activations *a, const char *packed, const float *scales, int terms,
                              void *out, long first) {
    (void)by, (void)a, (void)packed, (void)scales, (void)terms, (void)out, (void)first;
}
#endif

/* ---- products ------------------------------------------------------------------------------------------------- */

/* Round a row to int8, block by block; an outlier spoils its own block alone. scales: TILE elements apart. */
inlined void quantize(const void *row, int8_t *whole, float *scales, long K, enum dtype dtype) {
    for (long at = 0; at < K; at += INT8_BLOCK) {
        float largest = 1e-30f;
#pragma omp simd reduction(max : largest)
        for (long k = at; k < at + INT8_BLOCK; k++) {
            const float size = fabsf(read_from(row, k, dtype));
            largest = size > largest ? size : largest;
        }
        const float inverse = 127 / largest;
        for (long k = at; k < at + INT8_BLOCK; k++) whole[k] = (int8_t)rintf(read_from(row, k, dtype) * inverse);
        scales[at / INT8_BLOCK * TILE] = largest / 127;
    }
}

/* Returns the rows; writes the scales as int8_tiles takes them. */
static const int8_t *quantize_all(const void *rows, const activations *a, long K, float *scales) {
    int8_t *whole = scratch(WHOLE, a->T * K);
#pragma omp parallel for schedule(static) num_threads(a->threads) if (a->T * K > SMALL)
    for (long t = 0; t < a->T; t++) {
        float *of_row = scales + t / TILE * TILE * (K / INT8_BLOCK) + t % TILE;
        WITH_DTYPE(a->dtype, quantize(offset(rows, t * K, is), whole + t * K, of_row, K, is));
    }
    return whole;
}

/* Split float32 into the sum of three bfloat16, whose products with bfloat16 are exact; `apart` elements apart. */
static void split(const float *rows, bfloat16 *terms, long count, long apart) {
    for (long at = 0; at < count; at++) {
        const bfloat16 high = narrowed(rows[at]);
        const float rest = rows[at] - widened(high);
        const bfloat16 middle = narrowed(rest);
        terms[at] = high;
        terms[at + apart] = middle;
        terms[at + 2 * apart] = narrowed(rest - widened(middle));
    }
}

/* The rows as tiles take them: int8 (with scales), bfloat16, or the three terms of float32. Null if vectors are to. */
static const char *packed_rows(const linear *by, const void *rows, const activations *a, float **scales, int terms) {
    const long K = by->K, T = a->T, padded = (T + TILE - 1) / TILE * TILE;
    char *packed = scratch(PACKED, padded * K * 2 * terms);
    const void *narrow = rows;
    if (by->scales) {
        *scales = scratch(WIDE, 4 * padded * (K / INT8_BLOCK));
        pack((const uint32_t *)quantize_all(rows, a, K, *scales), T, K / 4, (uint32_t *)packed);
        return packed;
    }
    if (terms > 1) {
        bfloat16 *split_rows = scratch(WHOLE, 2 * terms * T * K);
        split(rows, split_rows, T * K, T * K);
        narrow = split_rows;
    }
    for (int term = 0; term < terms; term++)
        pack((const uint32_t *)narrow + term * T * K / 2, T, K / 2, (uint32_t *)packed + term * padded * K / 2);
    return packed;
}

/* Several products of the same rows, each into its own place. */
static void multiply_all(const linear *const *by, void *const *outs, int count, const void *rows,
                         const activations *a) {
    const long K = by[0]->K, T = a->T;
    const enum dtype weight_dtype = by[0]->narrow ? BFLOAT16 : a->dtype;
    const int terms = by[0]->narrow ? 3 : 1;
    int tiled = a->tiles && (by[0]->scales || (weight_dtype == BFLOAT16 && K % 32 == 0));
    for (int i = 0; i < count; i++) tiled &= by[i]->N >= 2 * TILE;
    float *scales = 0;
    const char *packed = tiled ? packed_rows(by[0], rows, a, &scales, terms) : 0;
    const float *wide = rows;
    if (!tiled && a->dtype == BFLOAT16) {
        float *copy = scratch(WIDE, 4 * T * K);
        for (long at = 0; at < T * K; at++) copy[at] = widened(((const bfloat16 *)rows)[at]);
        wide = copy;
    }
    const long step = tiled ? 2 * TILE : 4;
    long groups[4] = {0};
    for (int i = 0; i < count; i++) groups[i + 1] = groups[i] + (by[i]->N + step - 1) / step;
    /* Small parts, so that a thread that is held up leaves the rest to the others; small products take one thread. */
    const long part = groups[count] / (8 * a->threads) + 1;
#pragma omp parallel num_threads(a->threads) if (groups[count] * step * K > SMALL)
    {
        tile_layout before;
        if (tiled) load_layout(&before);
#pragma omp for schedule(dynamic, part)
        for (long group = 0; group < groups[count]; group++) {
            const int i = (count > 1 && group >= groups[1]) + (count > 2 && group >= groups[2]);
            const long n = (group - groups[i]) * step;
            if (scales)
                outputs_by_tiles(by[i], a, packed, scales, 1, outs[i], n);
            else if (tiled && terms > 1)
                outputs_by_tiles(by[i], a, packed, 0, 3, outs[i], n);
            else if (tiled)
                outputs_by_tiles(by[i], a, packed, 0, 1, outs[i], n);
            else if (weight_dtype == BFLOAT16)
                outputs_by_vectors(by[i], a, wide, outs[i], n, BFLOAT16);
            else
                outputs_by_vectors(by[i], a, wide, outs[i], n, FLOAT32);
        }
        if (tiled) restore_layout(&before);
    }
}

static void multiply_one(const linear *by, void *out, const void *rows, const activations *a) {
    multiply_all(&by, &out, 1, rows, a);
}

/* The product of a linear layer. With scales, K is a multiple of 64, N at least 32, and the processor has tiles. */
void multiply(const linear *by, const void *rows, void *out, int dtype, long T, int threads, int tiles) {
    const activations a = {dtype, T, threads, tiles};
    multiply_one(by, out, rows, &a);
}

/* ---- a step of a Llama-like model ----------------------------------------------------------------------------- */

/* rows / √(mean of squares + eps) · weight; `out` may be `rows`. */
inlined void rms_norm(const void *rows, const void *weight, void *out, float eps, long count, long K, enum dtype dtype) {
    for (long t = 0; t < count; t++) {
        const long row = t * K;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (long k = 0; k < K; k++) squares += read_from(rows, row + k, dtype) * read_from(rows, row + k, dtype);
        const float inverse = 1 / sqrtf(squares / K + eps);
#pragma omp simd
        for (long k = 0; k < K; k++) {
            const float normed = rounded(read_from(rows, row + k, dtype) * inverse, dtype);
            write_to(out, row + k, normed * read_from(weight, k, dtype), dtype);
        }
    }
}

inlined void add(void *restrict to, const void *restrict what, long count, enum dtype dtype) {
    for (long at = 0; at < count; at++)
        write_to(to, at, read_from(to, at, dtype) + read_from(what, at, dtype), dtype);
}

/* Rotate a head of size D by its position, into `out`: halves, not neighbours, are paired. */
inlined void rotate(const void *restrict head, const void *restrict cos, const void *restrict sin, void *restrict out,
                    long D, enum dtype dtype) {
    for (long d = 0; d < D / 2; d++) {
        const long e = d + D / 2;
        const float low = read_from(head, d, dtype), high = read_from(head, e, dtype);
        const float turned_low = rounded(-high * read_from(sin, d, dtype), dtype);
        const float turned_high = rounded(low * read_from(sin, e, dtype), dtype);
        write_to(out, d, rounded(low * read_from(cos, d, dtype), dtype) + turned_low, dtype);
        write_to(out, e, rounded(high * read_from(cos, e, dtype), dtype) + turned_high, dtype);
    }
}

/* gate = silu(gate) · up */
inlined void activate(void *restrict gate, const void *restrict up, long count, enum dtype dtype) {
    for (long at = 0; at < count; at += LANES) {
        vector x = {0}, y;
        const long some = count - at < LANES ? count - at : LANES;
        if (some == LANES)
            x = loaded(gate, at, dtype);
        else
            for (long i = 0; i < some; i++) x[i] = read_from(gate, at + i, dtype);
        const vector e = exponential(choose(x < 0.0f, x, -x)), one = (vector){0} + 1.0f;
        y = x * choose(x < 0.0f, e, one) / (one + e);
        for (long i = 0; i < some; i++)
            write_to(gate, at + i, rounded(y[i], dtype) * read_from(up, at + i, dtype), dtype);
    }
}

static void activate_all(void *gate, const void *up, long count, const activations *a) {
    const long part = 1024;
#pragma omp parallel for schedule(dynamic) num_threads(a->threads) if (count > SMALL)
    for (long at = 0; at < count; at += part) {
        const long some = count - at < part ? count - at : part;
        WITH_DTYPE(a->dtype, activate(offset(gate, at, is), offset(up, at, is), some, is));
    }
}

inlined void widen(const void *rows, float *wide, long count, enum dtype dtype) {
    for (long at = 0; at < count; at += LANES) *(vector *)(wide + at) = loaded(rows, at, dtype);
}

inlined vector partial_products(const float *left, const float *right, long D) {
    vector sum = *(const vector *)left * *(const vector *)right;
    for (long d = LANES; d < D; d += LANES) sum += *(const vector *)(left + d) * *(const vector *)(right + d);
    return sum;
}

/* The sums over the lanes of as many vectors, each added up as sum_of does. */
inlined vector sums_of(vector *of) {
#define HALVE(count, low, high)                                                                                      \
    for (int i = 0; i < count; i++)                                                                                  \
        of[i] = __builtin_shuffle(of[i], of[i + count], (integers)low) +                                             \
                __builtin_shuffle(of[i], of[i + count], (integers)high);
#if LANES == 16
    HALVE(8, CONST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
          CONST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    HALVE(4, CONST(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
          CONST(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
    HALVE(2, CONST(0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29),
          CONST(2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31))
    HALVE(1, CONST(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
          CONST(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31))
    return __builtin_shuffle(of[0], (integers)CONST(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15));
#else
    HALVE(4, CONST(0, 1, 2, 3, 8, 9, 10, 11), CONST(4, 5, 6, 7, 12, 13, 14, 15))
    HALVE(2, CONST(0, 1, 4, 5, 8, 9, 12, 13), CONST(2, 3, 6, 7, 10, 11, 14, 15))
    HALVE(1, CONST(0, 2, 4, 6, 8, 10, 12, 14), CONST(1, 3, 5, 7, 9, 11, 13, 15))
    return __builtin_shuffle(of[0], (integers)CONST(0, 4, 2, 6, 1, 5, 3, 7));
#endif
#undef HALVE
}

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

/* Rotate the queries in place; write the rotated keys, and the values, behind the cached ones. */
inlined void place(const transformer *m, const layer *l, void *queries, void *keys, const void *values,
                   const long *positions, long T, long cached, enum dtype dtype) {
    const long D = m->head_size, H = m->heads, G = m->kv_heads;
    const long size = dtype == BFLOAT16 ? 2 : 4;
    char turned[4 * MAX_VECTORS * LANES];
    if (l->query_norm) rms_norm(queries, l->query_norm, queries, m->eps, T * H, D, dtype);
    if (l->key_norm) rms_norm(keys, l->key_norm, keys, m->eps, T * G, D, dtype);
    for (long t = 0; t < T; t++) {
        const void *c = offset(m->cos, positions[t] * D, dtype), *s = offset(m->sin, positions[t] * D, dtype);
        for (long h = 0; h < H; h++) {
            void *query = offset(queries, (t * H + h) * D, dtype);
            rotate(query, c, s, turned, D, dtype);
            memcpy(query, turned, D * size);
        }
        for (long g = 0; g < G; g++) {
            const long from = (t * G + g) * D, to = (g * m->capacity + cached + t) * D;
            rotate(offset(keys, from, dtype), c, s, offset(l->keys, to, dtype), D, dtype);
            memcpy(offset(l->values, to, dtype), offset(values, from, dtype), D * size);
        }
    }
}

/* One forward pass over T tokens.
 *
 * hidden (T, width): their embeddings, overwritten. visible (T, T): which of the step's tokens each one sees; all see
 * the cached ones. positions (T): rows of the rotary tables. logits (reads, vocabulary): of the rows `read`.
 */
void run_step(const transformer *m, void *hidden, long T, long cached, const uint8_t *visible, const long *positions,
              const long *read, long reads, void *logits) {
    const enum dtype dtype = m->dtype;
    const activations a = {dtype, T, m->threads, m->tiles};
    const long W = m->width, Q = m->heads * m->head_size, V = m->kv_heads * m->head_size;
    void *normed = scratch(NORMED, 4 * T * W), *attended = scratch(ATTENDED, 4 * T * Q);
    void *queries = scratch(QUERIES, 4 * T * (Q + 2 * V)), *keys = (char *)queries + 4 * T * Q;
    void *values = (char *)keys + 4 * T * V, *gate = scratch(GATES, 4 * T * m->inner), *up = scratch(UPS, 4 * T * m->inner);
    for (long i = 0; i < m->layers; i++) {
        const layer *l = m->layer + i;
        WITH_DTYPE(dtype, rms_norm(hidden, l->attention_norm, normed, m->eps, T, W, is));
        multiply_all((const linear *const[]){&l->query, &l->key, &l->value}, (void *const[]){queries, keys, values}, 3,
                     normed, &a);
        WITH_DTYPE(dtype, place(m, l, queries, keys, values, positions, T, cached, is));
        attend_all(m, l, queries, attended, T, cached, visible);
        multiply_one(&l->output, normed, attended, &a);
        WITH_DTYPE(dtype, add(hidden, normed, T * W, is));
        WITH_DTYPE(dtype, rms_norm(hidden, l->mlp_norm, normed, m->eps, T, W, is));
        multiply_all((const linear *const[]){&l->gate, &l->up}, (void *const[]){gate, up}, 2, normed, &a);
        activate_all(gate, up, T * m->inner, &a);
        multiply_one(&l->down, normed, gate, &a);
        WITH_DTYPE(dtype, add(hidden, normed, T * W, is));
    }
    for (long i = 0; i < reads; i++)
        WITH_DTYPE(dtype, rms_norm(offset(hidden, read[i] * W, is), m->norm, offset(normed, i * W, is), m->eps, 1, W, is));
    const activations of_head = {dtype, reads, m->threads, m->tiles};
    multiply_one(&m->head, logits, normed, &of_head);
}

/* Move tokens of the cache to consecutive places from `to` on. from (count): rising, none before its new place. */
void move_tokens(const transformer *m, const long *from, long count, long to) {
    const long bytes = m->head_size * (m->dtype == BFLOAT16 ? 2 : 4);
    for (long i = 0; i < m->layers; i++)
        for (long head = 0; head < m->kv_heads; head++)
            for (long j = 0; j < count; j++) {
                const long old = (head * m->capacity + from[j]) * bytes, new = (head * m->capacity + to + j) * bytes;
                memmove((char *)m->layer[i].keys + new, (const char *)m->layer[i].keys + old, bytes);
                memmove((char *)m->layer[i].values + new, (const char *)m->layer[i].values + old, bytes);
            }
}

/* ---- the largest logits ---------------------------------------------------------------------------------------- */

#define CHUNK 64

inlined float largest_of(const void *row, long at, enum dtype dtype) {
    vector most = (vector){0} - INFINITY; /* what is not a number is never larger */
    for (long k = 0; k < CHUNK; k += LANES) {
        const vector these = loaded(row, at + k, dtype);
        most = choose(these > most, these, most);
    }
    float largest = most[0];
    for (long lane = 1; lane < LANES; lane++) largest = most[lane] > largest ? most[lane] : largest;
    return largest;
}

inlined void largest_of_row(const void *row, long V, long count, float *values, long *places, enum dtype dtype) {
    for (long i = 0; i < count; i++) values[i] = -INFINITY, places[i] = i;
    for (long at = 0; at < V; at += CHUNK) {
        const long end = at + CHUNK < V ? at + CHUNK : V;
        if (end - at == CHUNK && !(largest_of(row, at, dtype) > values[count - 1])) continue;
        for (long k = at; k < end; k++) {
            const float value = read_from(row, k, dtype);
            if (!(value > values[count - 1])) continue;
            long i = count - 1;
            for (; i > 0 && value > values[i - 1]; i--) values[i] = values[i - 1], places[i] = places[i - 1];
            values[i] = value, places[i] = k;
        }
    }
}

/* The `count` largest of each row (V), the largest first, of equal ones the first. values, places (T, count). */
void largest(const void *rows, int dtype, long T, long V, long count, float *values, long *places, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (T * V > 4 * SMALL)
    for (long t = 0; t < T; t++)
        WITH_DTYPE(dtype, largest_of_row(offset(rows, t * V, is), V, count, values + t * count, places + t * count, is));
}
