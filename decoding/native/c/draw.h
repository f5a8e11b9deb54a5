/* A token drawn from a row of logits after a temperature and truncations, as sampling/draw.py draws it.
 *
 * The noise is that of sampling/seeded_gumbel.py, a function of seed, position and token; the token with the largest sum
 * of score and noise is drawn. Scores are logits over the temperature, in float32; depths are scores less the largest. */
#pragma once

#include <float.h>

#include "lanes.h"
#include "largest.h"

#define MOST_BY_INSERTION 256 /* of a top-k */
#define BINS 4096
#define DEEPEST 32.0f /* a top-p nucleus is looked for so far below the largest score */

typedef struct {
    uint64_t key; /* the hash of seed and position */
    float temperature;
    long top_k;      /* 0 for all */
    double top_p;    /* 1 for all */
    float log_min_p; /* -inf for all */
} sampling;

/* The tokens that truncation keeps: scores above `least`, and of those equal to it ids up to `last`. */
typedef struct { float least; long last; } limit;

typedef struct { float score; long token; } scored;

inlined integers bins_of(vector depth) { return __builtin_convertvector(depth * -(BINS / DEEPEST), integers); }

inlined int any(integers where) {
    int found = 0;
    for (long i = 0; i < LANES; i++) found |= where[i];
    return found;
}

inlined uint64_t mix_bits(uint64_t word) {
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

inlined double exponential_of(uint64_t word) { return -log(((double)(word >> 12) + 0.5) * 0x1p-52); }

#define STRIDE 0x9E3779B97F4A7C15u
inlined uint64_t word_of_token(uint64_t key, long token) { return mix_bits(key + (uint64_t)(token + 1) * STRIDE); }
inlined uint64_t word_of_block(uint64_t key, long block) { return mix_bits(key - (uint64_t)(block + 1) * STRIDE); }

/* The noise of a token, from the word and the least exponential of its block. */
inlined double noise_of(uint64_t key, long token, uint64_t word, double least) {
    const int is_least = (word & (CHUNK - 1)) == ((uint64_t)token & (CHUNK - 1));
    return -log(is_least ? least : least + exponential_of(word_of_token(key, token)));
}

inlined float score_of(const void *row, long token, const sampling *how, enum dtype dtype) {
    return read_from(row, token, dtype) / how->temperature;
}

inlined int is_left(float of, long token, limit left) {
    return of > left.least || (of == left.least && token <= left.last);
}

static int by_score(const void *one, const void *other) {
    const scored *a = one, *b = other;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    return a->token < b->token ? -1 : 1;
}

/* The largest score of each block of CHUNK tokens; returns the largest of all. */
inlined float maxima_of(const void *row, long V, const sampling *how, float *maxima, enum dtype dtype) {
    float most = -INFINITY;
    for (long at = 0; at < V; at += CHUNK) {
        float largest = -INFINITY;
        if (V - at >= CHUNK)
            largest = largest_of(row, at, dtype);
        else
            for (long k = at; k < V; k++) largest = read_from(row, k, dtype) > largest ? read_from(row, k, dtype) : largest;
        largest /= how->temperature;
        maxima[at / CHUNK] = largest;
        most = largest > most ? largest : most;
    }
    return most;
}

/* The limit of the top-p nucleus. Probabilities are summed in bins of depth, and only the bin where the sum reaches top_p
 * is sorted. */
inlined limit nucleus(const void *row, long V, const sampling *how, float most, enum dtype dtype) {
    const long size = (V + LANES - 1) / LANES * LANES;
    float *depths = scratch(DEPTHS, size * sizeof(float));
    double total = 0, above = 0, sums[BINS + 1] = {0};
    for (long k = 0; k < size; k += LANES) {
        vector depth = (vector){0} - INFINITY;
        if (k + LANES <= V)
            depth = loaded(row, k, dtype) / how->temperature - most;
        else
            for (long i = 0; k + i < V; i++) depth[i] = score_of(row, k + i, how, dtype) - most;
        *(vector *)(depths + k) = depth;
        total += sum_of(select_lanes(depth > -DEEPEST, exponential(depth), (vector){0}));
    }
    /* All tokens below the floor together have less than half of the probability that top-p leaves out. */
    const double wanted = how->top_p * total, share = (total - wanted) / (2.0 * V);
    const float floor = share > 0 && -log(share) < DEEPEST ? (float)log(share) : -DEEPEST;
    for (long k = 0; k < size; k += LANES) {
        const vector depth = *(const vector *)(depths + k), weights = exponential(depth);
        const integers counts = depth > floor, bins = bins_of(depth);
        if (!any(counts)) continue;
        for (long i = 0; i < LANES; i++) sums[counts[i] ? bins[i] : BINS] += weights[i];
    }
    long last = 0;
    while (last < BINS - 1 && above + sums[last] < wanted) above += sums[last++];
    while (last > 0 && sums[last] == 0) above -= sums[--last]; /* the total fell short of top_p by rounding */
    scored *found = scratch(DRAWN, V * sizeof(scored));
    long count = 0;
    for (long k = 0; k < size; k += LANES) {
        const vector depth = *(const vector *)(depths + k);
        const integers counts = (depth > floor) & (bins_of(depth) == (int)last);
        for (long i = 0; any(counts) && i < LANES; i++)
            if (counts[i]) found[count++] = (scored){score_of(row, k + i, how, dtype), k + i};
    }
    qsort(found, count, sizeof(scored), by_score);
    limit left = {most, V};
    for (long i = 0; i < count && (i == 0 || above < wanted); i++) {
        left = (limit){found[i].score, found[i].token};
        above += exp((double)(found[i].score - most));
    }
    return left;
}

/* The token with the largest sum of score and noise (Gumbel-max) within the limit; blocks are skipped by an upper bound. */
inlined long noisiest(const void *row, long V, const sampling *how, const float *maxima, limit left,
                      enum dtype dtype) {
    const long blocks = (V + CHUNK - 1) / CHUNK;
    double *bounds = scratch(BOUNDS, blocks * sizeof(double)), best = -INFINITY;
    if (!bounds) return -1;
    long first = -1, drawn = 0;
    for (long block = 0; block < blocks; block++) {
        bounds[block] = -INFINITY;
        if (!(maxima[block] >= left.least)) continue;
        bounds[block] = maxima[block] - log(exponential_of(word_of_block(how->key, block)) / CHUNK);
        if (first < 0 || bounds[block] > bounds[first]) first = block;
    }
    for (long turn = first < 0 ? blocks : -1; turn < blocks; turn++) {
        const long block = turn < 0 ? first : turn;
        /* The same sum computed twice may be rounded differently. */
        if (!(bounds[block] > best - 1e-9) || turn == first) continue;
        const uint64_t word = word_of_block(how->key, block);
        const double least = exponential_of(word) / CHUNK, highest = -log(least);
        for (long k = block * CHUNK; k < (block + 1) * CHUNK && k < V; k++) {
            const float this = score_of(row, k, how, dtype);
            if (!is_left(this, k, left) || this + highest < best) continue;
            const double sum = this + noise_of(how->key, k, word, least);
            if (sum > best) best = sum, drawn = k;
        }
    }
    return drawn;
}

/* As `noisiest`, among the top k tokens, further truncated by top_p. */
inlined long noisiest_of_top_k(const void *row, long V, const sampling *how, const float *maxima,
                               float least, enum dtype dtype) {
    const long count = how->top_k < V ? how->top_k : V; /* one at least */
    float values[MOST_BY_INSERTION] = {0};
    long places[MOST_BY_INSERTION], found = 0;
    largest_of_row(row, V, count, values, places, dtype);
    const float last = values[count - 1] / how->temperature;
    for (int turn = 0; turn < 2; turn++) { /* how many there are, then which; all of the last one's score among them */
        scored *these = turn ? scratch(DRAWN, found * sizeof(scored)) : 0;
        if (turn && found && !these) return -1;
        found = 0;
        for (long at = 0; at < V; at += CHUNK)
            for (long k = at; maxima[at / CHUNK] >= last && k < at + CHUNK && k < V; k++) {
                const float this = score_of(row, k, how, dtype);
                if (!(this >= last)) continue;
                if (these) these[found] = (scored){this, k};
                found++;
            }
    }
    scored *tokens = scratch(DRAWN, 0);
    qsort(tokens, found, sizeof(scored), by_score);
    double total = 0, above = 0, best = -INFINITY;
    for (long i = 0; i < found; i++) total += exp((double)tokens[i].score - tokens[0].score);
    long drawn = found ? tokens[0].token : 0;
    for (long i = 0; i < found && (how->top_p >= 1 || above < how->top_p * total) && tokens[i].score >= least; i++) {
        const long token = tokens[i].token;
        const uint64_t word = word_of_block(how->key, token / CHUNK);
        const double sum = tokens[i].score + noise_of(how->key, token, word, exponential_of(word) / CHUNK);
        if (sum > best) best = sum, drawn = token;
        above += exp((double)tokens[i].score - tokens[0].score);
    }
    return drawn;
}

inlined long drawn_from(const void *row, long V, const sampling *how, enum dtype dtype) {
    float *maxima = scratch(MAXIMA, (V + CHUNK - 1) / CHUNK * sizeof(float)), value;
    if (!maxima) return -1;
    const float most = maxima_of(row, V, how, maxima, dtype), cut = most + how->log_min_p;
    if (how->top_k) return noisiest_of_top_k(row, V, how, maxima, cut, dtype);
    long drawn = 0;
    if (most == INFINITY) {
        largest_of_row(row, V, 1, &value, &drawn, dtype);
        return drawn;
    }
    limit left = {-FLT_MAX, V};
    if (how->top_p < 1) {
        if (!scratch(DEPTHS, (V + LANES - 1) / LANES * LANES * sizeof(float)) || !scratch(DRAWN, V * sizeof(scored)))
            return -1;
        left = nucleus(row, V, how, most, dtype);
    }
    if (cut > left.least) left = (limit){cut, V};
    return noisiest(row, V, how, maxima, left, dtype);
}

/* Draw a token of a row of logits (V). Returns -1 if there is no memory. */
long draw(const void *row, int dtype, long V, uint64_t seed, long position, float temperature, long top_k, double top_p,
          float log_min_p) {
    const uint64_t key = mix_bits(mix_bits(seed) + (uint64_t)position * STRIDE);
    const sampling how = {key, temperature, top_k, top_p, log_min_p};
    long drawn;
    WITH_DTYPE(dtype, drawn = drawn_from(row, V, &how, is));
    return drawn;
}
