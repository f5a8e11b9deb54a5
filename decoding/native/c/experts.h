/* Mixtures of experts: each token passes the few MLPs that its router scores highest. */
#pragma once

#include "elementwise.h"
#include "products.h"

inlined float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* Choose the experts of one token by its router's outputs, the best first; of equal ones the first. */
static void choose_experts(const mixture *x, const void *outputs, float *scores, long *chosen, float *weights,
                           enum dtype dtype) {
    const long experts = x->router.N;
    float most = -INFINITY, sum = 0;
    for (long e = 0; e < experts; e++) most = fmaxf(most, scores[e] = read_from(outputs, e, dtype));
    for (long e = 0; e < experts; e++) sum += scores[e] = x->sigmoid ? sigmoid(scores[e]) : expf(scores[e] - most);
    for (long i = 0; i < x->chosen; i++) {
        long best = -1;
        float best_score = 0;
        for (long e = 0; e < experts; e++) {
            const float score = scores[e] + (x->bias ? x->bias[e] : 0);
            int taken = 0;
            for (long j = 0; j < i; j++) taken |= chosen[j] == e;
            if (!taken && (best < 0 || score > best_score)) best = e, best_score = score;
        }
        chosen[i] = best;
        weights[i] = scores[best];
    }
    float chosen_sum = x->sigmoid ? 1e-6f : 0;
    for (long i = 0; i < x->chosen; i++) chosen_sum += weights[i];
    const float by = x->scale / (x->normalised ? chosen_sum : x->sigmoid ? 1 : sum);
    for (long i = 0; i < x->chosen; i++)
        weights[i] = rounded(weights[i] * by * (x->scales ? x->scales[chosen[i]] : 1), dtype);
}

/* Add rows (count, K), each times a weight, to the sums of the tokens that they are of. */
inlined void add_weighted(float *sums, const void *rows, const long *tokens, const float *weights, long count, long K,
                          enum dtype dtype) {
    for (long i = 0; i < count; i++)
        for (long k = 0; k < K; k += LANES) {
            const vector row = loaded_some(rows, i * K + k, K - k, dtype);
            const vector sum = loaded_some(sums, tokens[i] * K + k, K - k, FLOAT32);
            put_some(sums, tokens[i] * K + k, K - k, sum + rounded_lanes(row * weights[i], dtype), FLOAT32);
        }
}

/* The MLP of some rows: gate and up are room for its inner values. */
static void pass_mlp(const transformer *m, const linear *gate_up_down, const void *rows, void *gate, void *up, void *out,
                     const activations *a) {
    const linear *const first[] = {gate_up_down, gate_up_down + 1};
    multiply_all(first, (void *const[]){gate, up}, 2, rows, a);
    activate_all(m, gate, up, a->T * gate_up_down[2].K);
    multiply_one(gate_up_down + 2, out, gate, a);
}

/* out (T, width): the sum of the outputs of the chosen experts and of the shared one; out may be input or routed, which
 * the router reads. */
static void mix_experts(const transformer *m, const layer *l, const void *routed, const void *input, void *gate, void *up,
                        void *out, const activations *a) {
    const mixture *x = &l->mixture;
    const long T = a->T, W = m->width, E = x->router.N, C = x->chosen;
    void *outputs = scratch(SCORES, 4 * (T * E + E)), *rows = scratch(ROUTED, 4 * T * W);
    float *sums = scratch(MIXTURE, 4 * T * W), *scores = (float *)outputs + T * E;
    long *chosen = scratch(CHOSEN, (T * C + T) * sizeof *chosen), *tokens = chosen + T * C;
    float *weights = scratch(SHARES, 4 * (T * C + T)), *shares = weights + T * C;
    if (!outputs || !rows || !sums || !chosen || !weights) {
        atomic_store(a->no_memory, 1);
        return;
    }
    memset(sums, 0, 4 * T * W);
    multiply_one(&x->router, outputs, routed, a);
    for (long t = 0; t < T; t++)
        choose_experts(x, offset(outputs, t * E, a->dtype), scores, chosen + t * C, weights + t * C, a->dtype);
    for (long e = 0; e < E; e++) {
        activations of_expert = *a;
        of_expert.T = 0;
        for (long at = 0; at < T * C; at++)
            if (chosen[at] == e) {
                const long t = at / C, i = of_expert.T++, bytes = W * bytes_of(a->dtype);
                tokens[i] = t;
                shares[i] = weights[at];
                memcpy((char *)rows + i * bytes, (const char *)input + t * bytes, bytes);
            }
        if (!of_expert.T) continue;
        pass_mlp(m, x->experts + 3 * e, rows, gate, up, rows, &of_expert);
        WITH_DTYPE(a->dtype, add_weighted(sums, rows, tokens, shares, of_expert.T, W, is));
    }
    if (x->shared_gate.weight) {
        const linear own[] = {l->gate, l->up, l->down};
        pass_mlp(m, own, input, gate, up, rows, a);
        multiply_one(&x->shared_gate, outputs, input, a);
        for (long t = 0; t < T; t++) {
            tokens[t] = t;
            shares[t] = rounded(sigmoid(read_from(outputs, t, a->dtype)), a->dtype);
        }
        /* Sums are rounded before the shared expert's output is added. */
        for (long i = 0; i < T * W; i++) sums[i] = rounded(sums[i], a->dtype);
        WITH_DTYPE(a->dtype, add_weighted(sums, rows, tokens, shares, T, W, is));
    }
    WITH_DTYPE(a->dtype, for (long i = 0; i < T * W; i++) write_to(out, i, sums[i], is));
}

/* out (T, width): the sum of the chosen experts' outputs and of the MLP's, which out holds. */
static void mix_beside(const transformer *m, const layer *l, const void *hidden, void *gate, void *up, void *out,
                       const activations *a) {
    const mixture *x = &l->mixture;
    const long T = a->T, W = m->width;
    void *own = scratch(BESIDE, 4 * 2 * T * W), *routed = (char *)own + 4 * T * W;
    if (!own) {
        atomic_store(a->no_memory, 1);
        return;
    }
    normed_rows(m, &x->mlp_norm, out, own, T, W);
    normed_rows(m, &x->router_norm, hidden, routed, T, W);
    normed_rows(m, &x->input_norm, hidden, out, T, W);
    mix_experts(m, l, routed, out, gate, up, out, a);
    normed_rows(m, &x->output_norm, out, out, T, W);
    WITH_DTYPE(a->dtype, for (long i = 0; i < T * W; i++) write_to(out, i, read_from(own, i, is) + read_from(out, i, is), is));
}
