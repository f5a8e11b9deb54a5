/* Runs the kernels on another processor: reads one call from standard input, writes its result to standard output.
 *
 * A call is eight numbers of 64 bits, then its tensors one behind the other, in float32 unless said otherwise:
 *   PRODUCT  dtype, T, N, K, packing, bytes of the weight: weight, rows (T, K) in the dtype; out: (T, N) in the dtype
 *   UNPACK   0, 0, N, K, packing, bytes of the weight: weight; out: (N, K)
 *   STEP     T, layers, width, inner, heads, KV heads, vocabulary: cos, sin (T, head size), the mask (T, T) of bytes,
 *            tokens and depths (T) of 64 bits, embeddings, weights layer by layer, the last norm; out: logits (T, vocabulary)
 *   HALF_STEP  the same with keys and values kept in float16
 *   EXPERT_STEP  as STEP, with EXPERTS experts in the place of each MLP: router, gates and ups, downs
 */
#include "kernels.c"

#include <stdio.h>

enum call { PRODUCT, UNPACK, STEP, HALF_STEP, EXPERT_STEP };
enum { THREADS = 2, EXPERTS = 4, CHOSEN_EXPERTS = 2 };

static void *memory_of(size_t bytes) {
    void *memory; /* not a byte more than PyTorch would give, for sanitizers */
    if (posix_memalign(&memory, 64, bytes)) exit(3);
    return memory;
}

static void *taken(size_t bytes) {
    void *memory = memory_of(bytes);
    if (fread(memory, 1, bytes, stdin) != bytes) exit(4);
    return memory;
}

static void give(const void *from, size_t bytes) {
    if (fwrite(from, 1, bytes, stdout) != bytes) exit(5);
}

static const void *weight_of(int packing, long bytes, long N, long K) {
    const void *given = taken(bytes);
    if (!packing) return given;
    uint8_t *groups = memory_of(packed_bytes(packing, N, K));
    if (!repack(packing, given, N, K, groups, THREADS)) exit(6);
    return groups;
}

static linear floats(long N, long K) { return (linear){.weight = taken(4 * N * K), .N = N, .K = K}; }

static mixture experts_of(long W, long inner) {
    const linear router = floats(EXPERTS, W), gate_up = floats(EXPERTS * 2 * inner, W), down = floats(EXPERTS * W, inner);
    linear *each = calloc(3 * EXPERTS, sizeof *each);
    for (long i = 0; i < 3 * EXPERTS; i++) {
        const linear *of = i % 3 == 2 ? &down : &gate_up;
        const long N = i % 3 == 2 ? W : inner, first = i % 3 == 2 ? i / 3 * W : (i / 3 * 2 + i % 3) * inner;
        each[i] = (linear){.weight = (const float *)of->weight + first * of->K, .N = N, .K = of->K};
    }
    return (mixture){.router = router, .experts = each, .chosen = CHOSEN_EXPERTS, .normalised = 1, .scale = 1};
}

static void step(const long *of) {
    const long T = of[1], layers = of[2], W = of[3], inner = of[4], H = of[5], G = of[6], V = of[7], D = W / H;
    transformer m = {.cache_dtype = of[0] == HALF_STEP ? FLOAT16 : FLOAT32, .threads = THREADS, .eps = 1e-5f, .scaling = 1 / sqrtf(D), .width = W, .inner = inner, .heads = H,
                     .kv_heads = G, .head_size = D, .rotated = {D}, .capacity = T, .layers = layers,
                     .embedding_scale = 1, .residual_scale = 1, .logit_scale = 1};
    m.cos[0] = taken(4 * T * D), m.sin[0] = taken(4 * T * D);
    const uint8_t *visible = taken(T * T);
    const long *tokens = taken(8 * T), *depths = taken(8 * T);
    m.embedding = m.head = floats(V, W);
    layer *all = calloc(layers, sizeof *all);
    m.layer = all;
    for (layer *l = all; l < all + layers; l++) {
        l->attention_norm.weight = taken(4 * W);
        l->query = floats(H * D, W), l->key = floats(G * D, W), l->value = floats(G * D, W), l->output = floats(W, H * D);
        l->mlp_norm.weight = taken(4 * W);
        if (of[0] == EXPERT_STEP)
            l->mixture = experts_of(W, inner);
        else
            l->gate = floats(inner, W), l->up = floats(inner, W), l->down = floats(W, inner);
        l->keys = memory_of(4 * G * T * D), l->values = memory_of(4 * G * T * D);
    }
    m.norm.weight = taken(4 * W);
    long *read = memory_of(8 * T);
    for (long t = 0; t < T; t++) read[t] = t;
    float *logits = memory_of(4 * T * V);
    long *places = memory_of(8 * T);
    if (run_step(&m, tokens, 0, T, 0, visible, depths, read, T, logits, 1, 0, places) != 1) exit(7);
    give(logits, 4 * T * V);
}

int main(void) {
    const long *of = taken(8 * 8), T = of[2], N = of[3], K = of[4];
    const int dtype = of[1], size = dtype == BFLOAT16 ? 2 : 4;
    if (of[0] >= STEP) {
        step(of);
        return 0;
    }
    linear by = {.N = N, .K = K};
    by.packing = of[5];
    by.weight = weight_of(of[5], of[6], N, K);
    if (of[0] == UNPACK) {
        float *values = memory_of(4 * N * K);
        for (long n = 0; n < N; n++) unpack_rows(&by, &n, 1, K, values + n * K);
        give(values, 4 * N * K);
        return 0;
    }
    const void *rows = taken(T * K * size);
    void *out = memory_of(T * N * size);
    if (!multiply(&by, rows, out, dtype, T, THREADS, can_use_tiles())) exit(8);
    give(out, T * N * size);
}
