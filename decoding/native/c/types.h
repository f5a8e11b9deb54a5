/* The values that all kernels share: dtypes, layers, models, and memory that is kept from call to call. */
#pragma once

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Unrolls the loop that follows, of at most so many turns, so that arrays of vectors stay in registers. */
#define PRAGMA(of) _Pragma(#of)
#ifdef __clang__
#define UNROLL(most) PRAGMA(clang loop unroll(full))
#else
#define UNROLL(most) PRAGMA(GCC unroll most)
#endif

#define inlined static inline __attribute__((always_inline))

/* What takes a compiler longest is compiled at the same time as all else: with IN_PARTS, kernels.c declares it, and two
 * other files define it, which leave what is EXPORTED to kernels.c. Without, kernels.c is the whole. */
#ifdef IN_PARTS
#define COMPILED_APART __attribute__((visibility("hidden")))
#else
#define COMPILED_APART static
#define OF_PACKED_PRODUCTS
#define OF_ATTENTION
#endif
#if defined(IN_PARTS) && (defined(OF_PACKED_PRODUCTS) || defined(OF_ATTENTION))
#define EXPORTED static __attribute__((unused))
#else
#define EXPORTED
#endif

typedef uint16_t bfloat16;
enum dtype {
    FLOAT32 = 0, BFLOAT16 = 1, INT8 = 2 /* of weights alone */, FLOAT16 = 3 /* of weights and the KV cache */,
    PAIRS = 4 /* words of two bfloat16, while rows and weights are multiplied */
};

/* The structures that native/structures.py describes to ctypes. */
typedef struct {
    const void *weight;  /* (N, K) */
    const float *scales; /* of the weight's rows if these are int8; null if they have the dtype of the activations */
    const void *bias;    /* (N), in the dtype of the activations; may be null */
    long N, K;
    int narrow; /* the dtype of a weight in 16 bits with float32 activations, as if it were float32; else 0 */
    int rounds; /* float32 rows are rounded to bfloat16, as such a weight is, where products of these take less time */
    int packing; /* the type of a weight that packed_formats.h lays out, as ggml numbers it; else 0 */
    int is_fine; /* rows are rounded to 16 bits where a packed weight otherwise takes them in 8 */
    int in_tiles; /* 32 outputs by 64 bytes stand together, a product's order with matrix tiles; N is a multiple of 32 */
} linear;

typedef struct {
    const float *weight, *bias; /* the bias may be null; where there is no norm, both are */
} norm;

enum mixing { ATTENTION, SHORT_CONVOLUTION, DELTA_RULE };

/* A layer's recurrent state: of the text up to the last `pending` tokens, whose inputs and updates stand beside it. */
typedef struct {
    int mixing;                    /* an enum mixing; all else is null where it is attention */
    int tiled;                     /* the output layer reads the first value heads of all keys first, then the second ones */
    const float *taps, *taps_bias; /* of the convolution, (taps, channels), the oldest first, and (channels) or null */
    float *columns;                /* its last inputs, (taps - 1 + room, channels), the oldest first */
    linear decay, beta;            /* of a delta rule's decays and rates, (value_heads) each */
    const float *log_decay, *decay_bias; /* (value_heads) */
    norm gated_norm;                     /* (value_size) */
    float *state;   /* (value_heads, value_size / BLOCK_OF_STATE, key_size, BLOCK_OF_STATE) */
    float *updates; /* (room, update_size): keys, their factors, decays */
} recurrence;

/* A layer's experts. Where there is a shared gate, the layer's own MLP is the expert that all tokens pass; where there is
 * a router norm, the experts stand beside that MLP and have norms of their own. */
typedef struct {
    linear router;         /* (experts, width); its weight is null in a layer without experts */
    const linear *experts; /* gate, up and down of each */
    linear shared_gate;    /* (1, width): its sigmoid multiplies the output of the layer's own MLP */
    const float *bias;     /* added to scores where experts are chosen, (experts); may be null */
    const float *scales;   /* of the experts' outputs, (experts); may be null */
    norm router_norm, input_norm, output_norm, mlp_norm; /* (width): before the router, around experts, behind the MLP */
    long chosen;           /* experts of a token */
    int sigmoid;           /* scores are sigmoids, not a softmax */
    int normalised;        /* those of the chosen experts are divided by their sum */
    float scale;
} mixture;

typedef struct {
    /* The up weight is null in an MLP without a gate. Of a recurrent layer the query is what its convolution reads, the
     * key a delta rule's gate. */
    linear query, key, value, output, gate, up, down;
    norm attention_norm, attention_post_norm, mlp_norm, mlp_post_norm; /* (width), before and behind */
    norm query_norm, key_norm; /* (head_size), or of all heads at once */
    norm value_norm;           /* (head_size) */
    long head_size, kv_heads;  /* where they are not the model's, else 0 */
    int shares;                /* it attends to the keys and values of an earlier layer, and has no layers for its own */
    float scale;               /* of what it puts out; 0 for none */
    linear input_gate, input_output; /* of a layer's own input of each token: see `inputs` */
    norm input_norm;                 /* (width), behind them */
    void *keys, *values;       /* the cache, (kv_heads, capacity, head_size) */
    long window;               /* the tokens that a query sees, itself included; 0 for all */
    long rotary;               /* the number of its rotary tables; -1 for none */
    recurrence recurrence;
    mixture mixture;
} layer;

enum activation { SILU, GELU_TANH };
#define ROTARIES 2

typedef struct {
    int dtype, threads, tiles;
    int activation;
    int centred;           /* norms subtract the mean first (LayerNorm) */
    int rounded_norms;     /* norms round before they multiply by their weight, too */
    int whole_norms;       /* of queries and keys: of all heads at once */
    int norms_last;        /* of queries and keys: behind the rotation */
    int adjacent;          /* a rotation turns elements 2i and 2i + 1, not i and i + rotated / 2 */
    int parallel;          /* MLP and attention read the same norm */
    int gated;             /* behind each query stands a gate of the head's output, of its size */
    int cache_dtype;       /* of keys and values in the cache: the activations', or float16 for float32 */
    float eps, scaling, embedding_scale, residual_scale, logit_scale;
    float attention_cap, logit_cap; /* scores and logits pass cap · tanh(x / cap); 0 for none */
    long width, inner /* at most, of any MLP */, heads, kv_heads, head_size, capacity, layers;
    const layer *layer;
    norm norm;                                     /* (width) */
    const void *cos[ROTARIES], *sin[ROTARIES];     /* rotary tables, (positions, rotated) */
    long rotated[ROTARIES];
    const float *query_scales;                     /* (positions); may be null */
    linear embedding; /* its weight is null where embeddings are given */
    linear head;
    /* Each layer has an input of its own for each token, beside what the layer before puts out: an embedding, and a
     * product with the first layer's input. */
    const void *inputs;      /* the step's embeddings, (T, layers, input_size); null where layers have no such input */
    linear input_projection; /* (layers · input_size, width) */
    norm projection_norm;    /* (input_size) */
    long input_size;
    float projection_scale, input_scale;
    /* Of recurrent layers. Updates of the last `pending` tokens are not in the state yet: a step applies them, then those of
     * its first `settled` tokens, and leaves its other tokens' pending, at most `room`. */
    long taps, channels, key_heads, value_heads, key_size, value_size, room, pending, settled;
} transformer;

typedef struct {
    enum dtype dtype; /* of rows and products */
    long T;
    int threads, tiles, between_pytorch;
    atomic_int *no_memory; /* set if an allocation failed; some outputs are missing then */
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

inlined float from_half(uint16_t half) {
#ifdef __F16C__
    return _cvtsh_ss(half);
#else
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (!exponent) { /* zero and subnormal numbers: fraction · 2⁻²⁴ */
        const float value = fraction * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    const uint32_t bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

inlined uint16_t to_half(float value) {
#ifdef __F16C__
    return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__ARM_FP16_FORMAT_IEEE)
    const __fp16 half = value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
#else
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return sign | 0x7e00 | (size >> 13 & 0x3ff); /* not a number */
    if (size >= 0x477ff000) return sign | 0x7c00;                       /* rounds to infinity */
    if (size < 0x38800000) {                                            /* zero and subnormal numbers */
        float sum;
        memcpy(&sum, &size, sizeof sum);
        sum += 0.5f; /* its last bit is worth 2⁻²⁴ */
        memcpy(&bits, &sum, sizeof bits);
        return sign | (bits - 0x3f000000);
    }
    return sign | ((size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13);
#endif
}

inlined float read_from(const void *of, long at, enum dtype dtype) {
    if (dtype == FLOAT16) return from_half(((const uint16_t *)of)[at]);
    return dtype == BFLOAT16 ? widened(((const bfloat16 *)of)[at]) : ((const float *)of)[at];
}

inlined void write_to(void *to, long at, float value, enum dtype dtype) {
    if (dtype == FLOAT16)
        ((uint16_t *)to)[at] = to_half(value);
    else if (dtype == BFLOAT16)
        ((bfloat16 *)to)[at] = narrowed(value);
    else
        ((float *)to)[at] = value;
}

/* Run a statement in which `is` is the dtype as a compile-time constant, so that its loops are specialised. */
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

/* The same for dtypes that weights and KV caches have, too. */
#define WITH_FLOAT_DTYPE(that_dtype, statement)    \
    do {                                           \
        if ((that_dtype) == FLOAT16) {             \
            const enum dtype is = FLOAT16;         \
            statement;                             \
        } else                                     \
            WITH_DTYPE(that_dtype, statement);     \
    } while (0)

inlined long bytes_of(enum dtype dtype) { return dtype == FLOAT32 || dtype == PAIRS ? 4 : 2; }

/* The dtype of the activations that a KV cache belongs to. */
inlined enum dtype activations_of(enum dtype cache) { return cache == FLOAT16 ? FLOAT32 : cache; }

inlined void *offset(const void *of, long elements, enum dtype dtype) { return (char *)of + elements * bytes_of(dtype); }

/* Add the bias to outputs n … n + count of row t, and write them. */
inlined void store(const linear *by, const activations *a, void *out, long t, long n, long count, float *values) {
    if (by->bias)
        WITH_DTYPE(a->dtype, for (long i = 0; i < count; i++) values[i] += read_from(by->bias, n + i, is));
    WITH_DTYPE(a->dtype, for (long i = 0; i < count; i++) write_to(out, t * by->N + n + i, values[i], is));
}

enum buffer { PACKED, WIDE, WHOLE, GROUPS, TRANSPOSED, HIDDEN, NORMED, ATTENDED, QUERIES, GATES, UPS, COLUMNS, MIXED, RATES, MAXIMA, BOUNDS, DEPTHS, DRAWN, SUMS, SCORES, ROUTED, MIXTURE, CHOSEN, SHARES, LAYER_INPUTS, BESIDE, BUFFERS };

static __thread struct { void *memory; size_t bytes; } kept[BUFFERS];
static pthread_key_t key_of_kept;

/* Thread-exit destructor: programs may start a thread for every reply. */
static void free_scratch(void *unused) {
    (void)unused;
    for (int buffer = 0; buffer < BUFFERS; buffer++) {
        free(kept[buffer].memory);
        kept[buffer].memory = 0, kept[buffer].bytes = 0;
    }
}
static void make_key(void) { pthread_key_create(&key_of_kept, free_scratch); }

/* A thread-local buffer, reused from call to call; null if an allocation fails. */
static void *scratch(enum buffer buffer, size_t bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (kept[buffer].bytes < bytes) {
        pthread_once(&once, make_key);
        pthread_setspecific(key_of_kept, kept);
        free(kept[buffer].memory);
        kept[buffer].bytes = (bytes + bytes / 2 + 4095) / 4096 * 4096;
        kept[buffer].memory = aligned_alloc(64, kept[buffer].bytes);
        if (!kept[buffer].memory) kept[buffer].bytes = 0;
    }
    return kept[buffer].memory;
}
