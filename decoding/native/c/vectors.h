/* Vectors of float32, as wide as the processor has them. */
#pragma once

#include "types.h"

#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define MAX_VECTORS (512 / LANES) /* of a head */
#define SMALL 16384 /* elements not worth a second thread */
#define ALIGNED __attribute__((aligned(4 * LANES)))
typedef int8_t quads __attribute__((vector_size(4 * LANES), aligned(1))); /* four bytes of each lane */
typedef float vector __attribute__((vector_size(4 * LANES)));
typedef float unaligned_vector __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef bfloat16 halves __attribute__((vector_size(2 * LANES), aligned(2)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

/* The lanes so numbered of two vectors, one behind the other. */
#ifdef __clang__
#define shuffled(one, other, ...) __builtin_shufflevector(one, other, __VA_ARGS__)
#else /* GCC has that from its twelfth version on */
#define shuffled(one, other, ...) __builtin_shuffle(one, other, (integers){__VA_ARGS__})
#endif

/* Adds to each lane the products of its four bytes, where the processor has an instruction for that. VNNI takes the left
 * bytes as unsigned: 128 is added to signed ones, and 128 times the sum of the right ones is subtracted. */
#if defined(__AVX512VNNI__) && LANES == 16
#define UNSIGNED_LEFT 1
inlined integers add_dots(integers sums, quads left, quads right) {
    return (integers)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)left, (__m512i)right);
}
#elif defined(__AVXVNNI__) && LANES == 8
#define UNSIGNED_LEFT 1
inlined integers add_dots(integers sums, quads left, quads right) {
    return (integers)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)left, (__m256i)right);
}
#elif defined(__ARM_FEATURE_DOTPROD)
#define UNSIGNED_LEFT 0
inlined integers add_dots(integers sums, quads left, quads right) {
    for (int half = 0; half < 2; half++) {
        int32x4_t of;
        int8x16_t one, other;
        memcpy(&of, (char *)&sums + half * sizeof of, sizeof of);
        memcpy(&one, (char *)&left + half * sizeof one, sizeof one);
        memcpy(&other, (char *)&right + half * sizeof other, sizeof other);
        of = vdotq_s32(of, one, other);
        memcpy((char *)&sums + half * sizeof of, &of, sizeof of);
    }
    return sums;
}
#endif

/* As many float16 numbers as a vector has lanes. */
inlined vector from_halves(const void *halves_of) {
#if LANES == 16
    return (vector)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)halves_of));
#elif defined(__F16C__)
    return (vector)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)halves_of));
#elif defined(__ARM_FP16_FORMAT_IEEE)
    vector of;
    for (int half = 0; half < 2; half++) {
        const float32x4_t wide = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)halves_of + 4 * half)));
        memcpy((char *)&of + half * sizeof wide, &wide, sizeof wide);
    }
    return of;
#else
    vector of;
    for (int lane = 0; lane < LANES; lane++) {
        uint16_t half;
        memcpy(&half, (const uint16_t *)halves_of + lane, sizeof half);
        of[lane] = from_half(half);
    }
    return of;
#endif
}

/* A vector's worth of bytes as whole numbers. By intrinsics: GCC 12 converts such vectors element by element. */
inlined integers from_bytes(const uint8_t *bytes, int is_signed) {
#if LANES == 16 && defined(__AVX512F__)
    const __m128i of = _mm_loadu_si128((const __m128i *)bytes);
    return (integers)(is_signed ? _mm512_cvtepi8_epi32(of) : _mm512_cvtepu8_epi32(of));
#elif defined(__AVX2__)
    const __m128i of = _mm_loadl_epi64((const __m128i *)bytes);
    return (integers)(is_signed ? _mm256_cvtepi8_epi32(of) : _mm256_cvtepu8_epi32(of));
#else
    typedef uint8_t some __attribute__((vector_size(LANES), aligned(1)));
    typedef int8_t some_signed __attribute__((vector_size(LANES), aligned(1)));
    return is_signed ? __builtin_convertvector(*(const some_signed *)bytes, integers)
                     : __builtin_convertvector(*(const some *)bytes, integers);
#endif
}

/* Write a vector of whole numbers between -128 and 127 as bytes. */
inlined void put_bytes(int8_t *to, integers whole) {
#if LANES == 16 && defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)whole));
#elif defined(__AVX2__)
    const __m256i of = (__m256i)whole;
    const __m128i in_16_bits = _mm_packs_epi32(_mm256_castsi256_si128(of), _mm256_extracti128_si256(of, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packs_epi16(in_16_bits, in_16_bits));
#else
    typedef int8_t some __attribute__((vector_size(LANES), aligned(1)));
    *(some *)to = __builtin_convertvector(whole, some);
#endif
}

/* Where no instruction adds products of four bytes: pairs in 16 bits. Unsigned bytes times signed ones are added two by
 * two, which would overflow with signed ones of eight bits: these are multiplied in 16. */
#if defined(__AVX2__) && !defined(UNSIGNED_LEFT) && (LANES == 8 || defined(__AVX512BW__))
enum { MULTIPLIES_IN_16_BITS = 1 };
inlined quads pairs_of_bytes(quads left, quads right) {
#if LANES == 16
    return (quads)_mm512_maddubs_epi16((__m512i)left, (__m512i)right);
#else
    return (quads)_mm256_maddubs_epi16((__m256i)left, (__m256i)right);
#endif
}
inlined integers add_pairs(integers sums, quads left, quads right) {
#if LANES == 16
    return sums + (integers)_mm512_madd_epi16((__m512i)left, (__m512i)right);
#else
    return sums + (integers)_mm256_madd_epi16((__m256i)left, (__m256i)right);
#endif
}

/* Write a vector of whole numbers in 16 bits, of each four the first and third before the second and fourth. */
inlined void put_pairs(int16_t *to, integers whole) {
#if LANES == 16
    const __m256i of = _mm512_cvtepi32_epi16((__m512i)whole);
    _mm256_storeu_si256((__m256i *)to, _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(of, 0xd8), 0xd8));
#else
    const __m256i all = (__m256i)whole;
    const __m128i of = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storeu_si128((__m128i *)to, _mm_shufflehi_epi16(_mm_shufflelo_epi16(of, 0xd8), 0xd8));
#endif
}
#else
enum { MULTIPLIES_IN_16_BITS = 0 };
inlined quads pairs_of_bytes(quads left, quads right) { return (void)right, left; }
inlined integers add_pairs(integers sums, quads left, quads right) { return (void)left, (void)right, sums; }
inlined void put_pairs(int16_t *to, integers whole) { (void)to, (void)whole; }
#endif

inlined vector loaded(const void *from, long at, enum dtype dtype) {
    if (dtype == FLOAT16) return from_halves((const uint16_t *)from + at);
    if (dtype == FLOAT32) return *(const unaligned_vector *)((const float *)from + at);
    return (vector)(__builtin_convertvector(*(const halves *)((const bfloat16 *)from + at), words) << 16);
}

/* sums + one · other; of pairs, the sum of two products, if the processor has an instruction for that. */
#ifdef __AVX512BF16__
enum { MULTIPLIES_PAIRS = 1 };
#else
enum { MULTIPLIES_PAIRS = 0 };
#endif
inlined vector add_products(vector sums, vector one, vector other, enum dtype dtype) {
#ifdef __AVX512BF16__
    if (dtype == PAIRS) return (vector)_mm512_dpbf16_ps((__m512)sums, (__m512bh)one, (__m512bh)other);
#endif
    return sums + one * other;
}

inlined vector select_lanes(integers where, vector that, vector other) {
    return (vector)((where & (integers)that) | (~where & (integers)other));
}

/* Round to the nearest bfloat16, ties to even, like `narrowed` but without its handling of NaN. */
inlined words nearest(vector of) { return ((words)of + 0x7fff + ((words)of >> 16 & 1)) >> 16; }

inlined words narrowed_lanes(vector of) {
    const integers is_number = ((integers)of & 0x7fffffff) <= 0x7f800000;
    return (words)select_lanes(is_number, (vector)nearest(of), (vector)((words)of >> 16 | 0x40));
}

inlined vector rounded_lanes(vector of, enum dtype dtype) {
    return dtype == BFLOAT16 ? (vector)(narrowed_lanes(of) << 16) : of;
}

inlined void put_halves(void *to, vector of) {
#if LANES == 16
    _mm256_storeu_si256(to, _mm512_cvtps_ph((__m512)of, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128(to, _mm256_cvtps_ph((__m256)of, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__ARM_FP16_FORMAT_IEEE)
    for (int half = 0; half < 2; half++) {
        float32x4_t wide;
        memcpy(&wide, (const char *)&of + half * sizeof wide, sizeof wide);
        vst1_u16((uint16_t *)to + 4 * half, vreinterpret_u16_f16(vcvt_f16_f32(wide)));
    }
#else
    for (int lane = 0; lane < LANES; lane++) write_to(to, lane, of[lane], FLOAT16);
#endif
}

inlined void put(void *to, long at, vector of, enum dtype dtype) {
    if (dtype == FLOAT16)
        put_halves((uint16_t *)to + at, of);
    else if (dtype == FLOAT32)
        *(unaligned_vector *)((float *)to + at) = of;
    else
        *(halves *)((bfloat16 *)to + at) = __builtin_convertvector(narrowed_lanes(of), halves);
}

/* The larger of each two; the second where one is not a number. */
inlined vector larger(vector one, vector other) {
#if defined(__AVX512F__)
    return (vector)_mm512_max_ps((__m512)one, (__m512)other);
#elif defined(__AVX__)
    return (vector)_mm256_max_ps((__m256)one, (__m256)other);
#else
    return select_lanes(one > other, one, other);
#endif
}

/* eˣ for x ≤ 0, to about two units in the last place: 2ⁿ · e^r with r within ± ln 2 / 2; 0 where it is no normal number,
 * with which processors take long. */
inlined vector exponential(vector x) {
    x = larger(x, (vector){0} - 87.0f);
    const integers whole = __builtin_convertvector(x * 1.44269504f - 0.5f, integers);
    const vector n = __builtin_convertvector(whole, vector), r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vector sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * r + 8.3334519073e-3f;
    sum = sum * r + 4.1665795894e-2f;
    sum = sum * r + 1.6666665459e-1f;
    sum = sum * r + 5.0000001201e-1f;
    sum = sum * r * r + r + 1.0f;
    return (sum + sum) * (vector)((whole + 126) << 23);
}

/* Prefetch: the hardware prefetcher misses the strides of short rows, and stops at a page. */
inlined void prefetch(const void *from, long bytes) {
    for (long at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)from + at, 0, 2);
}

/* Keeps a value in a register here: GCC would reassociate sums of integers and spill them, and load a row anew for each
 * product. */
#if defined(__AVX2__)
#define IN_REGISTER(value) __asm__("" : "+v"(value))
#else
#define IN_REGISTER(value) (void)0
#endif

/* What is read next, of which each step of the loop before it fetches a share: fetches all at once would wait for one
 * another, and nothing would be read while the loop computes. */
typedef struct { const char *at; long each; } fetching;

inlined void fetch_share(fetching *next) {
    for (long at = 0; at < next->each; at += 64) __builtin_prefetch(next->at + at, 0, 2);
    next->at += next->each;
}

inlined void widen(const void *rows, float *wide, long count, enum dtype dtype) {
    for (long at = 0; at < count; at += LANES) *(vector *)(wide + at) = loaded(rows, at, dtype);
}
