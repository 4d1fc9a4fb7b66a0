/* The functions of vectors of models in C (codegen/c, .inc) against those of scalars, which are what they mean: quotients
 * and remainders, floats to integers, sums of two products, and loads by masks and indices. It is compiled with each
 * compiler and for each processor that is at hand (c_form.sh), with the lines of codegen/c in front of it.
 *
 *   cat codegen/c/{prelude,vectors,memory,arithmetic,hardware}.inc test/campaign/c_functions.c | cc -x c - -lm */
#include <stdio.h>
#include <stdlib.h>

static long wrong, tried;
static u64 state = 1;

static u64 random_bits(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return state >> 20 ^ state << 30;
}

static void expect(bool same, const char *what, int lanes, double of) {
  tried++;
  if (!same && wrong++ < 20) printf("wrong: %s of %d lanes, %a\n", what, lanes, of);
}

#define EACH_TYPE(f, n) \
  f(i8, i8, n) f(u8, i8, n) f(i16, i16, n) f(u16, i16, n) f(i32, i32, n) f(u32, i32, n) f(i64, i64, n) f(u64, i64, n)
#define EACH_WIDTH(f, of) f(of, 2) f(of, 4) f(of, 16) f(of, 64)
#define DEFINE_TYPE(T, M, n) VF_TYPE(T, n)
#define DEFINE_TYPES(unused, n) EACH_TYPE(DEFINE_TYPE, n) VF_TYPE(f32, n) VF_TYPE(f64, n)
EACH_WIDTH(DEFINE_TYPES, )

/* Every pair of bytes; of others random ones, with the ends of the range, divisors 0 and -1, and neighbours of a multiple. */
#define QUOTIENTS(T, M, n) \
  VF_div(T, n) VF_mod(T, n) \
  static void quotients_##T##n(void) { \
    T##x##n a = {0}, b = {0}; \
    for (int k = 0; k < (sizeof(T) == 1 ? 65536 / n : 2000); k++) { \
      for (int i = 0; i < n; i++) { \
        u64 kind = random_bits() % 16, bits = random_bits(); \
        T x = (T)bits, y = (T)(random_bits() >> (random_bits() % 64)); \
        if (kind == 0) y = (T)-1; \
        if (kind < 2) x = (T)((u64)1 << (sizeof(T) * 8 - 1)); \
        if (kind == 2) x = (T)((u64)y * (u64)(T)(bits >> 40) + bits % 3 - 1); \
        if (sizeof(T) == 1) x = (T)((k * n + i) & 255), y = (T)((k * n + i) >> 8); \
        VF_AT(a, i) = x, VF_AT(b, i) = y; \
      } \
      T##x##n q = div_##T##x##n(a, b), r = mod_##T##x##n(a, b); \
      for (int i = 0; i < n; i++) { \
        expect(VF_AT(q, i) == div_##T(VF_AT(a, i), VF_AT(b, i)), "div_" #T, n, (double)VF_AT(a, i)); \
        expect(VF_AT(r, i) == mod_##T(VF_AT(a, i), VF_AT(b, i)), "mod_" #T, n, (double)VF_AT(a, i)); \
      } \
    } \
  }
#define ALL_QUOTIENTS(unused, n) EACH_TYPE(QUOTIENTS, n)
EACH_WIDTH(ALL_QUOTIENTS, )

/* Numbers of all sizes, those around the ends of the ranges, and what is none. */
static double some_number(unsigned bits) {
  static const double others[] = {NAN, (double)INFINITY, -(double)INFINITY, -0.0, -0.3, 0.9, -1};
  u64 kind = random_bits() % 20;
  if (kind < 7) return others[kind];
  double end = ldexp(kind & 1 ? -1 : 1, (int)(bits - random_bits() % 2));
  if (kind < 12) return nextafter(end, random_bits() & 1 ? 0 : 4 * end);
  if (kind < 14) return (double)nextafterf((float)end, (float)(random_bits() & 1 ? 0 : 4 * end));
  return (double)(i64)random_bits() / ldexp(1, (int)(random_bits() % 63));
}
#define SATURATED(T, F, M, n) \
  VF_saturate(T, F, M, n) \
  static void saturated_##T##_##F##n(void) { \
    F##x##n a = {0}; \
    for (int k = 0; k < 1000; k++) { \
      for (int i = 0; i < n; i++) VF_AT(a, i) = (F)some_number(sizeof(T) * 8); \
      T##x##n r = saturate_##T##_##F##x##n(a); \
      for (int i = 0; i < n; i++) \
        expect(VF_AT(r, i) == saturate_##T##_##F(VF_AT(a, i)), "saturate_" #T "_" #F, n, (double)VF_AT(a, i)); \
    } \
  }
#define SATURATED_BOTH(T, M, n)  SATURATED(T, f32, i32, n) SATURATED(T, f64, i64, n)
#define ALL_SATURATED(unused, n) EACH_TYPE(SATURATED_BOTH, n)
EACH_WIDTH(ALL_SATURATED, )

/* Of `count` lanes, which are fewer than the vector has in every other trial. */
#define LOADS(T, M, n) \
  VF_loadif(T, M, n) VF_stridedif(T, M, n) VF_gather_i32(T, n) VF_gather_i64(T, n) \
  VF_gatherif_i32(T, M, n) VF_gatherif_i64(T, M, n) VF_strided(T, n) \
  static void loads_##T##n(void) { \
    enum { COUNT = 500 }; \
    T *data = malloc(COUNT * sizeof(T)); \
    for (int i = 0; data && i < COUNT; i++) data[i] = (T)(random_bits() % 100 + 1); \
    for (int k = 0; data && k < 200; k++) { \
      int count = k & 1 ? n : n - (int)(random_bits() % n); \
      M##x##n m = {0}; \
      i32x##n at = {0}; \
      i64x##n far = {0}; \
      for (int i = 0; i < n; i++) { \
        VF_AT(m, i) = random_bits() & 1 ? (M)-1 : (M)0; \
        VF_AT(at, i) = (i32)(random_bits() % COUNT), VF_AT(far, i) = VF_AT(at, i); \
      } \
      T##x##n row = loadif_##T##x##n(data + COUNT - count, m, count), steps = stridedif_##T##x##n(data, 7, m, count), \
              down = strided_##T##x##n(data + 400, -3, count), each = gather_i32_##T##x##n(data, at, count), \
              wide = gather_i64_##T##x##n(data, far, count), some = gatherif_i32_##T##x##n(data, at, m, count), \
              both = gatherif_i64_##T##x##n(data, far, m, count); \
      for (int i = 0; i < count; i++) { \
        bool on = VF_AT(m, i) != 0; \
        T there = data[VF_AT(at, i)], none = 0; \
        expect(VF_AT(row, i) == (on ? data[COUNT - count + i] : none), "loadif " #T, n, i); \
        expect(VF_AT(steps, i) == (on ? data[7 * i] : none), "stridedif " #T, n, i); \
        expect(VF_AT(down, i) == data[400 - 3 * i], "strided " #T, n, i); \
        expect(VF_AT(each, i) == there && VF_AT(wide, i) == there, "gather " #T, n, i); \
        expect(VF_AT(some, i) == (on ? there : none) && VF_AT(both, i) == (on ? there : none), "gatherif " #T, n, i); \
      } \
    } \
    free(data); \
  }
#define ALL_LOADS(unused, n) EACH_TYPE(LOADS, n) LOADS(f32, i32, n) LOADS(f64, i64, n)
EACH_WIDTH(ALL_LOADS, )

#define PRODUCTS(unused, n) \
  VF_dot2(i32, u32, n) \
  static void products_##n(void) { \
    i32x##n a = {0}, b = {0}; \
    for (int k = 0; k < 1000; k++) { \
      for (int i = 0; i < n; i++) VF_AT(a, i) = (i32)random_bits(), VF_AT(b, i) = (i32)random_bits(); \
      i32x##n r = dot2_i32x##n(a, b); \
      for (int i = 0; i < n; i++) expect(VF_AT(r, i) == dot2_i32(VF_AT(a, i), VF_AT(b, i)), "dot2", n, i); \
    } \
  }
EACH_WIDTH(PRODUCTS, )

#define RUN_QUOTIENTS(T, M, n) quotients_##T##n();
#define RUN_SATURATED(T, M, n) saturated_##T##_f32##n(), saturated_##T##_f64##n();
#define RUN_LOADS(T, M, n)     loads_##T##n();
#define RUN(unused, n) \
  EACH_TYPE(RUN_QUOTIENTS, n) EACH_TYPE(RUN_SATURATED, n) EACH_TYPE(RUN_LOADS, n) \
  loads_f32##n(), loads_f64##n(), products_##n();
int main(void) {
  EACH_WIDTH(RUN, )
  printf("%ld of %ld wrong\n", wrong, tried);
  return wrong != 0 || tried == 0;
}
