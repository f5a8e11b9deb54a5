/* Products of many rows by vectors. A lane is an output here, and in products_by_vectors.h a part of one sum: a weight in a register
 * serves several rows, and no lanes are added up. The sums are those of products_by_vectors.h, bit for bit: of what each lane adds
 * up there, one lane after another, then of these by halves. A row has a
 * multiple of 2 · LANES elements, or pairs of them. */
#pragma once

#include "products_by_vectors.h"

/* The outputs of a panel, in vectors, and rows multiplied by them at once: as many sums as fit into registers. */
enum { ACROSS = 3, PANEL = ACROSS * LANES, PANEL_ROWS = LANES / 2, PANEL_SUMS = ACROSS * PANEL_ROWS };

/* For fewer rows laying out the weights takes longer than is saved. */
inlined long fewest_panel_rows(enum dtype of_weight) { return of_weight == BFLOAT16 || of_weight == PAIRS ? 64 : 24; }

/* Lay out rows, at most LANES (the others are zeros), for panels: element by element, those of a lane's sum first, then
 * those of the next lane. to: (K, apart), of which LANES numbers are written. */
inlined void lay_out(const void *rows, long count, long K, float *to, long apart, enum dtype dtype, int in_pairs) {
    for (long k = 0; k < K; k += 2 * LANES) {
        vector square[2][LANES];
        memset(square, 0, sizeof square);
        for (long i = 0; i < count; i++) {
            square[0][i] = loaded(rows, i * K + k, dtype), square[1][i] = loaded(rows, i * K + k + LANES, dtype);
            if (in_pairs) separate(&square[0][i], &square[1][i]);
        }
        for (int odd = 0; odd < 2; odd++) {
            transpose(square[odd]);
            for (int lane = 0; lane < LANES; lane++)
                *(unaligned_vector *)(to + (lane * (K / LANES) + k / LANES + odd) * apart) = square[odd][lane];
        }
    }
}

typedef struct {
    const void *rows;
    enum dtype dtype;
    long T, K;
    float *to;
    int in_pairs;
} laying_out;

static void lay_out_rows(const void *work, long first, long last) {
    const laying_out *w = work;
    for (long t = first * LANES; t < last * LANES && t < w->T; t += LANES)
        WITH_DTYPE(w->dtype, lay_out(offset(w->rows, t * w->K, is), w->T - t < LANES ? w->T - t : LANES, w->K,
                                     w->to + t * w->K, LANES, is, w->in_pairs));
}

/* The rows as panels take them, LANES by LANES; null if there is no memory. */
static const float *rows_for_panels(const void *rows, const activations *a, long K, enum dtype of_weight) {
    const long groups = (a->T + LANES - 1) / LANES;
    const laying_out w = {rows, of_weight == PAIRS ? FLOAT32 : a->dtype, a->T, K, scratch(WIDE, 4 * groups * LANES * K), of_weight == BFLOAT16};
    if (w.to) parallel_for(lay_out_rows, &w, groups, a->threads);
    return w.to;
}

/* Add the products of an element of each row by that of each output. */
inlined void add_outer(vector *sums, const float *rows, const float *panel, enum dtype dtype) {
    vector of_outputs[ACROSS];
    UNROLL(4)
    for (int j = 0; j < ACROSS; j++) {
        of_outputs[j] = *(const vector *)(panel + j * LANES);
        IN_REGISTER(of_outputs[j]);
    }
    UNROLL(8)
    for (int i = 0; i < PANEL_ROWS; i++) {
        int32_t bits;
        memcpy(&bits, rows + i, sizeof bits);
        const vector of_row = (vector)((integers){0} + bits);
        UNROLL(4)
        for (int j = 0; j < ACROSS; j++)
            sums[ACROSS * i + j] = add_products(sums[ACROSS * i + j], of_row, of_outputs[j], dtype);
    }
}

/* The outputs n … n + PANEL of rows t … t + count, as lay_out leaves both. */
inlined void panel_outputs(const linear *by, const activations *a, const float *rows, const float *panel, void *out, long t,
                           long n, long count, enum dtype dtype) {
    const long of_lane = words_in_row(by, dtype) / LANES;
    vector kept[5][PANEL_SUMS], *sums = kept[0]; /* kept[level]: a sum of 2^level lanes, until its sibling is computed */
    for (int turn = 0, lane = 0, level; turn < LANES; turn++) {
        vector of[PANEL_SUMS] = {{0}};
        const float *row = rows + lane * of_lane * LANES, *output = panel + lane * of_lane * PANEL;
        for (long k = 0; k < of_lane; k++, row += LANES, output += PANEL) add_outer(of, row, output, dtype);
        for (level = 0; turn >> level & 1; level++)
            for (int i = 0; i < PANEL_SUMS; i++) of[i] += kept[level][i];
        sums = kept[level];
        for (int i = 0; i < PANEL_SUMS; i++) sums[i] = of[i];
        int bit = LANES; /* lanes 0, 4, 2, 6 …: counted with the bits in reverse */
        do
            bit /= 2, lane ^= bit;
        while (bit && !(lane & bit));
    }
    for (long i = 0; i < count; i++)
        store(by, a, out, t + i, n, by->N - n < PANEL ? by->N - n : PANEL, (float *)(sums + ACROSS * i));
}

/* The outputs n … n + PANEL of rows first … last, both multiples of LANES but the last row. */
static void outputs_by_panel(const linear *by, const activations *a, const float *rows, void *out, long n, long first,
                              long last, enum dtype dtype) {
    const long K = words_in_row(by, dtype);
    float *panel = scratch(PANELS, 4 * PANEL * K);
    if (!panel) {
        atomic_store(a->no_memory, 1);
        return;
    }
    for (int part = 0; part < ACROSS; part++) {
        const long from = n + part * LANES, left = by->N - from < 0 ? 0 : by->N - from;
        WITH_FLOAT_DTYPE(dtype == PAIRS ? FLOAT32 : dtype, lay_out(offset(by->weight, from * K, is), left < LANES ? left : LANES, K,
                                        panel + part * LANES, PANEL, is, is == BFLOAT16));
    }
    for (long t = first; t < last; t += PANEL_ROWS) {
        const float *from = rows + t / LANES * LANES * K + t % LANES;
        const long count = last - t < PANEL_ROWS ? last - t : PANEL_ROWS;
        if (dtype == PAIRS)
            panel_outputs(by, a, from, panel, out, t, n, count, PAIRS);
        else
            panel_outputs(by, a, from, panel, out, t, n, count, FLOAT32);
    }
}
