/* Kernels written by hand, compiled for several sets of features and run: loops, vector lanes, memory access
 * at its edges, reductions, run-time bounds, and the speed of a register tile. */
#include <limits.h>
#include <math.h>

#include "ir/timer.h"
#include "test/lib/kernels.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static ir_error error;
static ir_graph *const g = &k_graph;

static ir_ref index_of(int64_t value) { return ir_index(g, value); }

static uint32_t seed;
static float noise(void) { return (float)(int32_t)(seed = seed * 1664525u + 1013904223u) * 0x1p-31f; }

/* out = x*y + 1 over n elements in vectors of 16 and a scalar remainder loop, the vectors over threads */
static ir_ref saxpy(int64_t n) {
#define ELEMENT(n, at)                                                                                       \
  "%x" n " = load p1[" at "] : f32\n %y" n " = load p2[" at "] : f32\n"                                      \
  "%m" n " = mul %x" n ", %y" n " : f32\n %z" n " = add %m" n ", f32(1.0) : f32\n"                           \
  "store p0[" at "] = %z" n "\n"
#define VECTORS                                                                                              \
  "kernel @k(p0: f32[$0], p1: f32[$0], p2: f32[$0]) {\n for ridx0 in 0..$1 thread {\n"                       \
  "for ridx1 in 0..16 vector {\n" ELEMENT("0", "ridx0*16+ridx1") "}\n}\n"
  const int64_t numbers[] = {n, n / 16, n % 16, n / 16 * 16};
  if (n % 16 == 0) return k_parse(VECTORS "}\n", numbers, NULL);
  return k_parse(VECTORS "for ridx2 in 0..$2 {\n" ELEMENT("1", "ridx2+$3") "}\n}\n", numbers, NULL);
}

static void test_elementwise(void **state) {
  enum { N = 1003 };
  ir_ref kernel = saxpy(N);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    float x[N], y[N], out[N + 1];
    for (int i = 0; i < N; i++) x[i] = noise(), y[i] = noise(), out[i] = 7;
    out[N] = 7;
    int64_t status = 0;
    void *buffers[] = {out, x, y, &status};
    code.run(buffers, NULL, 3, 5, code.scratch); /* a sub-range of the threads' loop, and the remainder */
    for (int i = 0; i <= N; i++)
      assert_true(out[i] == ((i >= 48 && i < 80) || (i >= N / 16 * 16 && i < N) ? x[i] * y[i] + 1 : 7));
    code.run(buffers, NULL, 0, N / 16, code.scratch);
    for (int i = 0; i < N; i++) assert_true(out[i] == x[i] * y[i] + 1);
    code.run(buffers, NULL, 4, 4, code.scratch);
  }
}

/* The hot loop is only vector instructions, an increment, a comparison and a branch. */
static void test_elementwise_code(void **state) {
  ir_ref kernel = saxpy(1024);
  k_target t;
  k_target_at(0, &t);
  if (t.target.vector_bytes < 32) skip();
  char *text = k_text(g, kernel, &t.target, CG_ASM);
  char *loop = NULL;
  for (char *at = text; (at = strstr(at, "\t.p2align\t4, 0x90\n.L")); at++) loop = at; /* a loop is aligned */
  assert_non_null(loop);
  char *stop = strstr(loop, "\tj");
  assert_non_null(stop);
  *stop = '\0';
  int instructions = -1; /* not counting the alignment */
  for (char *at = loop; (at = strchr(at, '\n')); at++) instructions += at[1] == '\t';
  assert_in_range(instructions, 5, t.target.vector_bytes == 64 ? 7 : 11);
  assert_null(strstr(loop, "(%rsp)"));
  free(text);
}

/* out[i] = x[n-1-i], out2[i] = x[3i], out3[i] = x[(i*i) % 64], out4[i] = x[5]: every kind of vector load */
static void test_access(void **state) {
  enum { N = 64 };
  static const ir_dtype types[] = {IR_F32, IR_U8, IR_I16, IR_F64, IR_BOOL, IR_F16};
  for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
    ir_dtype type = types[d];
    int bytes = ir_dtypes[type].bytes;
    ir_ref kernel =
        k_parse("kernel @k(p0: $a[64], p1: $a[64], p2: $a[64], p3: $a[64], p4: $a[64], p5: $a[64], "
                "p6: $a[64], p7: $a[64], p8: $a[256]) {\n"
                "for ridx0 in 0..4 {\n for ridx1 in 0..16 vector {\n"
                "%i = (ridx0*16+ridx1) : index\n"
                "%0 = load p8[ridx0*-16+63+ridx1*-1] : $a\n store p0[%i] = %0\n"
                "%1 = load p8[ridx0*32+ridx1*2] : $a\n store p1[%i] = %1\n"
                "%2 = load p8[ridx0*48+ridx1*3] : $a\n store p2[%i] = %2\n"
                "%3 = load p8[ridx0*64+ridx1*4] : $a\n store p3[%i] = %3\n"
                "%4 = load p8[%i*%i%60] : $a\n store p4[%i] = %4\n"
                "%5 = load p8[5] : $a\n store p5[%i] = %5\n"
                "%6 = load p8[%i] : $a\n store p6[ridx0*-16+63+ridx1*-1] = %6\n" /* reversed */
                "store p7[%i*7%64] = %6\n"                                       /* scattered */
                "}\n}\n}\n",
                NULL, (const char *[]){ir_dtypes[type].name});
    K_SOME_TARGETS(t) {
      k_code code = k_compile(g, kernel, &t.target);
      for (int edge = 0; edge < 2; edge++) { /* nothing outside the elements is accessed */
        k_fence f = k_fence_make((size_t)((4 * (N - 1) + 1) * bytes), edge);
        uint8_t *x = f.memory, out[8][N * 8];
        for (int k = 0; k < (4 * (N - 1) + 1) * bytes; k++)
          x[k] = type == IR_BOOL ? k & 1 : (uint8_t)((k * 37) & 0x3b);
        int64_t status = 0;
        void *buffers[] = {out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], x, &status};
        code.run(buffers, NULL, 0, 0, code.scratch);
        for (int k = 0; k < N; k++) {
          int want[] = {N - 1 - k, 2 * k, 3 * k, 4 * k, k * k % 60, 5, N - 1 - k};
          for (int e = 0; e < 7; e++) assert_memory_equal(out[e] + k * bytes, x + want[e] * bytes, bytes);
          assert_memory_equal(out[7] + k * 7 % N * bytes, x + k * bytes, bytes);
        }
        k_fence_free(&f);
      }
    }
  }
}

/* out[i] = i - 3 in [0, n) ? x[i - 3] : 9, x fenced on both sides or without any element */
static void masked(ir_dtype type, int64_t n, int width) {
  enum { N = 64 };
#define AT "(ridx0*$1+ridx1-3)"
  ir_ref kernel = k_parse(
      "kernel @k(p0: $a[64], p1: $a[$0]) {\n for ridx0 in 0..$2 {\n for ridx1 in 0..$1 $b {\n"
      "%x = load p1[" AT "] if ((" AT ">=0)&(" AT "<$0)) else $a($c) : $a\n"
      "store p0[ridx0*$1+ridx1] = %x\n}\n}\n}\n",
      (const int64_t[]){n, width, N / width},
      (const char *[]){ir_dtypes[type].name, width == 1 ? "" : "vector", ir_is_float(type) ? "9.0" : "9"});
  size_t bytes = ir_dtypes[type].bytes;
  K_SOME_TARGETS(t) {
    k_code code = k_compile(g, kernel, &t.target);
    for (int edge = 0; edge < 2; edge++) {
      k_fence f = k_fence_make((size_t)n * bytes, edge);
      char *x = (char *)f.memory, out[N * 8], want[8];
      ir_value_store(want, type, ir_is_float(type) ? (ir_value){.f = 9} : (ir_value){.i = 9});
      for (size_t k = 0; k < (size_t)n * bytes; k++) x[k] = (char)(k * 11 & 0x3b);
      int64_t status = 0;
      void *buffers[] = {out, x, &status};
      code.run(buffers, NULL, 0, 0, code.scratch);
      for (int64_t k = 0; k < N; k++)
        assert_memory_equal(out + k * (int64_t)bytes,
                            k >= 3 && k - 3 < n ? x + (k - 3) * (int64_t)bytes : want, bytes);
      k_fence_free(&f);
    }
  }
}

static void test_masked(void **state) {
  static const ir_dtype types[] = {IR_F32, IR_U8, IR_I16, IR_I64, IR_F16, IR_BF16};
  for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
    masked(types[d], 17, 16);
    masked(types[d], 61, 1);
    masked(types[d], 0, 8);
    masked(types[d], 0, 1);
  }
}

/* A row that is valid or not as a whole, read forward, backward and strided: out[r][i] = r % 2 ? x[r][..] :
 * 0 */
static void test_masked_rows(void **state) {
  enum { ROWS = 6, N = 16 };
  ir_ref kernel =
      k_parse("kernel @k(p0: f32[96], p1: f32[48]) {\n for ridx0 in 0..6 {\n for ridx1 in 0..16 vector {\n"
              "%0 = load p1[ridx0//2*16+ridx1] if (ridx0%2!=0) else f32(0.0) : f32\n"
              "%1 = load p1[ridx0//2*16+15+ridx1*-1] if (ridx0%2!=0) else f32(0.0) : f32\n"
              "%2 = load p1[ridx0//2*16] if (ridx0%2!=0) else f32(0.0) : f32\n"
              "%3 = add %0, %1 : f32\n %4 = add %3, %2 : f32\n"
              "store p0[ridx0*16+ridx1] = %4\n}\n}\n}\n",
              NULL, NULL);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    k_fence f = k_fence_make(sizeof(float) * ROWS / 2 * N, true);
    float *x = (float *)f.memory, y[ROWS * N];
    for (int k = 0; k < ROWS / 2 * N; k++) x[k] = noise();
    int64_t status = 0;
    code.run((void *[]){y, x, &status}, NULL, 0, 0, code.scratch);
    for (int r = 0; r < ROWS; r++)
      for (int k = 0; k < N; k++) {
        float *from = x + r / 2 * N;
        assert_true(y[r * N + k] == (r % 2 ? from[k] + from[N - 1 - k] + from[0] : 0));
      }
    k_fence_free(&f);
  }
}

/* Sum of n elements: 16 vector lanes, each over n/16 elements in order, then pairwise */
static void test_reduce_all(void **state) {
  enum { N = 4096 };
  ir_ref kernel = k_parse("kernel @k(p0: f32[2], p1: f32[4096]) {\n"
                          "%a = for ridx0 in 0..16 vector with %b = f32(0.5) {\n"
                          "  %c = for ridx1 in 0..256 with %d = f32(0.0) {\n"
                          "    %x = load p1[ridx1*16+ridx0] : f32\n %e = add %d, %x : f32\n next %e\n}\n"
                          "  %f = add %b, %c : f32\n next %f\n}\n"
                          "%h = for ridx2 in 0..8 unroll with %i = f32(-2.0) {\n"
                          "  %j = for ridx3 in 0..512 with %k = f32(-inf) {\n"
                          "    %y = load p1[ridx3*8+ridx2] : f32\n %l = max %k, %y : f32\n next %l\n}\n"
                          "  %m = max %i, %j : f32\n next %m\n}\n"
                          "store p0[0] = %a\n store p0[1] = %h\n}\n",
                          NULL, NULL);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    float data[N], out[2], part[16] = {0}, most = -2;
    for (int i = 0; i < N; i++) {
      data[i] = noise();
      part[i % 16] += data[i];
      most = fmaxf(most, data[i]);
    }
    for (int half = 8; half; half /= 2)
      for (int i = 0; i < half; i++) part[i] += part[i + half];
    int64_t status = 0;
    code.run((void *[]){out, data, &status}, NULL, 0, 0, code.scratch);
    assert_true(out[0] == 0.5f + part[0]);
    assert_true(out[1] == most);
  }
}

/* Two carried values, one of vector lanes: column sums and a count, equal in all lanes; symbolic extent, 0
 * included */
static void test_reduce_columns(void **state) {
  enum { COLUMNS = 32 };
  ir_ref kernel = k_parse("kernel @k(n=0..100, p0: f32[32], p1: i64[32], p2: f32[3200]) {\n"
                          "for ridx0 in 0..4 {\n for ridx1 in 0..8 vector {\n"
                          "%a = for ridx2 in 0..n with %b = f32(1.0), %c = i64(40) {\n"
                          "  %x = load p2[ridx2*32+ridx1+ridx0*8] : f32\n"
                          "  %d = add %b, %x : f32\n %e = add %c, i64(1) : i64\n next %d, %e\n}\n"
                          "%f = get %a slot=1 dtype=i64 : i64\n"
                          "store p0[ridx0*8+ridx1] = %a\n store p1[ridx0*8+ridx1] = %f\n}\n}\n}\n",
                          NULL, NULL);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    static float data[100 * COLUMNS];
    for (int i = 0; i < 100 * COLUMNS; i++) data[i] = noise();
    for (int64_t rows = 0; rows <= 100; rows += 25) {
      float out[COLUMNS];
      int64_t counts[COLUMNS], status = 0;
      code.run((void *[]){out, counts, rows ? data : NULL, &status}, &rows, 0, 0, code.scratch);
      for (int c = 0; c < COLUMNS; c++) {
        float want = 1;
        for (int64_t r = 0; r < rows; r++) want += data[r * COLUMNS + c];
        assert_true(out[c] == want);
        assert_int_equal(counts[c], 40 + rows);
      }
    }
  }
}

/* A value loop whose start is loaded, inside a loop that may have no iterations: then nothing is loaded. */
static void test_nothing_read(void **state) {
  ir_ref kernel = k_parse("kernel @k(n=0..8, m=0..8, p0: f32[8], p1: f32[1]) {\n for ridx0 in 0..n {\n"
                          "%s = load p1[0] : f32\n"
                          "%t = for ridx1 in 0..m with %c = %s {\n %u = add %c, %s : f32\n next %u\n}\n"
                          "store p0[ridx0] = %t\n}\n}\n",
                          NULL, NULL);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    int64_t status = 0, sizes[] = {0, 5};
    code.run((void *[]){NULL, NULL, &status}, sizes, 0, 0, code.scratch);
    float out[8], one = 1.5f;
    sizes[0] = 3;
    code.run((void *[]){out, &one, &status}, sizes, 0, 0, code.scratch);
    assert_true(out[2] == 9);
    sizes[1] = 0;
    code.run((void *[]){out, &one, &status}, sizes, 0, 0, code.scratch);
    assert_true(out[2] == 1.5f);
  }
}

/* The same where the loop without iterations lies inside one that has some. */
static void test_nothing_read_inside(void **state) {
  ir_ref kernel =
      k_parse("kernel @k(n=0..8, p0: f32[24], p1: f32[4]) {\n for ridx0 in 0..3 {\n for ridx1 in 0..n {\n"
              "%s = for ridx3 in 0..4 with %c = f32(0.0) {\n" /* depends on no outer loop */
              "  %x = load p1[ridx3] : f32\n %d = add %c, %x : f32\n next %d\n}\n"
              "%t = for ridx2 in 0..n with %e = f32(0.0) {\n %f = add %e, %s : f32\n next %f\n}\n"
              "%y = add %s, %t : f32\n store p0[ridx0*8+ridx1] = %y\n}\n}\n}\n",
              NULL, NULL);
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    int64_t status = 0, size = 0;
    code.run((void *[]){NULL, NULL, &status}, &size, 0, 0, code.scratch);
    float out[24], x[4] = {1, 2, 3, 4};
    size = 3;
    code.run((void *[]){out, x, &status}, &size, 0, 0, code.scratch);
    assert_true(out[0] == 40 && out[18] == 40);
  }
}

/* out[i] = x[bound(at[i])]: indices checked, clipped, and checked only where valid. A kernel that reports one
 * stores nothing that means anything. */
static void test_bound(void **state) {
  enum { N = 16, SIZE = 10 };
  static const char *const modes[] = {[IR_GATHER_CHECK] = "", [IR_GATHER_CLIP] = " mode=clip"};
  static const ir_dtype types[] = {IR_I64, IR_I32, IR_I8, IR_U8, IR_U64, IR_U32};
  for (size_t d = 0; d < sizeof types / sizeof *types; d++)
    for (int vector = 0; vector < 2; vector++)
      for (int mode = IR_GATHER_CHECK; mode <= IR_GATHER_CLIP; mode++) {
        ir_ref kernel =
            k_parse("kernel @k(p0: f32[16], p1: f32[10], p2: $a[16]) {\n for ridx0 in 0..16 $b {\n"
                    "%p = load p2[ridx0] : $a\n %at = bound %p, (10), (ridx0<15)$c : index\n"
                    "%x = load p1[%at] : f32\n store p0[ridx0] = %x\n}\n}\n",
                    NULL, (const char *[]){ir_dtypes[types[d]].name, vector ? "vector" : "", modes[mode]});
        K_SOME_TARGETS(t) {
          k_code code = k_compile(g, kernel, &t.target);
          bool is_signed = ir_dtypes[types[d]].kind == IR_KIND_SIGNED;
          static const int64_t tries[] = {0, 9, 10, -1, -10, -11, 100, INT64_MIN, INT64_MAX, -1};
          for (size_t k = 0; k < sizeof tries / sizeof *tries; k++)
            for (int place = 0; place < N; place += N - 1) {
              float x[SIZE], out[N];
              char positions[N * 8] = {0};
              for (int e = 0; e < SIZE; e++) x[e] = (float)e;
              int bytes = ir_dtypes[types[d]].bytes;
              ir_value_store(positions + place * bytes, types[d], (ir_value){.i = tries[k]});
              int64_t status = 0, v = ir_value_load(positions + place * bytes, types[d]).i;
              code.run((void *[]){out, x, positions, &status}, NULL, 0, 0, code.scratch);
              bool huge = !is_signed && v < 0; /* u64 above INT64_MAX */
              int64_t w = is_signed && v < 0 ? v + SIZE : v;
              int64_t want = huge || w >= SIZE ? SIZE - 1 : w < 0 ? 0 : w;
              bool out_of_range = huge || w != want;
              assert_true(status || out[place] == (float)want);
              assert_int_equal(status != 0, out_of_range && place < N - 1 && mode == IR_GATHER_CHECK);
            }
        }
      }
}

/* A scan: a carried value stored in each iteration, by an effect loop over memory and by nested value loops
 * with an inner loop that depends on the outer one's carried value. Fibonacci-like recurrences would show a
 * phi that reads a new value for an old one. */
static void test_carried(void **state) {
  ir_ref kernel = k_parse("kernel @k(p0: i64[2]) {\n"
                          "%a = for ridx0 in 0..30 with %b = i64(0), %c = i64(1) {\n"
                          "  %d = for ridx1 in 0..3 with %e = %b {\n" /* %b + 0 + 1 + 2 */
                          "    %f = cast (ridx1) dtype=i64 : i64\n %h = add %e, %f : i64\n next %h\n}\n"
                          "  %i = add %d, %c : i64\n next %c, %i\n}\n"
                          "%j = get %a slot=1 dtype=i64 : i64\n store p0[0] = %a\n store p0[1] = %j\n}\n",
                          NULL, NULL);
  int64_t x = 0, y = 1;
  for (int k = 0; k < 30; k++) {
    int64_t z = x + 3 + y;
    x = y, y = z;
  }
  K_EACH_TARGET(t) {
    k_code code = k_compile(g, kernel, &t.target);
    int64_t out[2], status = 0;
    code.run((void *[]){out, &status}, NULL, 0, 0, code.scratch);
    assert_true(out[0] == x && out[1] == y);
  }
}

/* c[6,64] = a[6,k] b[k,64]: 6 rows unrolled, 4 vectors of 16 unrolled, k serial inside: a register tile */
static ir_ref tile(int64_t rows, int64_t vectors, int64_t width, int64_t depth) {
  int64_t columns = vectors * width;
  return k_parse(
      "kernel @k(p0: f32[$5], p1: f32[$6], p2: f32[$7]) {\n for ridx0 in 0..$0 unroll {\n"
      "for ridx1 in 0..$1 unroll {\n for ridx2 in 0..$2 vector {\n"
      "%s = for ridx3 in 0..$3 with %c = f32(0.0) {\n"
      "  %a = load p1[ridx0*$3+ridx3] : f32\n %b = load p2[ridx3*$4+ridx1*$2+ridx2] : f32\n"
      "  %n = fma %a, %b, %c : f32\n next %n\n}\n"
      "store p0[ridx0*$4+ridx1*$2+ridx2] = %s\n}\n}\n}\n}\n",
      (const int64_t[]){rows, vectors, width, depth, columns, rows * columns, rows * depth, depth * columns},
      NULL);
}

static double seconds(void) { return (double)ir_now_ns() * 1e-9; }

static void test_register_tile(void **state) {
  enum { ROWS = 6, DEPTH = 256 };
  K_EACH_TARGET(t) {
    int width = t.target.vector_bytes / 4, vectors = t.target.registers == 32 ? 4 : 2,
        columns = vectors * width;
    k_code code = k_compile(g, tile(ROWS, vectors, width, DEPTH), &t.target);
    float *a = aligned_alloc(64, ROWS * DEPTH * 4), *b = aligned_alloc(64, DEPTH * 64 * 4),
          *c = aligned_alloc(64, ROWS * 64 * 4);
    for (int i = 0; i < ROWS * DEPTH; i++) a[i] = noise();
    for (int i = 0; i < DEPTH * columns; i++) b[i] = noise();
    int64_t status = 0;
    void *buffers[] = {c, a, b, &status};
    code.run(buffers, NULL, 0, 0, code.scratch);
    for (int r = 0; r < ROWS; r++)
      for (int j = 0; j < columns; j++) {
        float want = 0;
        for (int k = 0; k < DEPTH; k++) want = fmaf(a[r * DEPTH + k], b[k * columns + j], want);
        assert_true(c[r * columns + j] == want);
      }
    double best = 1;
    for (int iteration = 0; iteration < 20; iteration++) {
      double start = seconds();
      for (int i = 0; i < 200; i++) code.run(buffers, NULL, 0, 0, code.scratch);
      double took = (seconds() - start) / 200;
      if (took < best) best = took;
    }
    print_message("%s: tile of %d x %d, depth %d: %.1f GFLOP/s, compiled in %.2f ms\n", t.name, ROWS, columns,
                  DEPTH, 2e-9 * ROWS * columns * DEPTH / best, code.milliseconds);
    free(a), free(b), free(c);
  }
}

static void expect_error(ir_ref kernel, ir_status status, const char *text) {
  k_target t;
  k_target_at(0, &t);
  rt_module module;
  cg_blob blob;
  error = (ir_error){0};
  assert_int_equal(rt_module_init(&module, NULL, &error), IR_OK);
  assert_int_equal(rt_module_compile(&module, g, kernel, "kernel", &t.target, CG_OBJECT, &blob, &error),
                   status);
  if (!strstr(error.text, text)) fail_msg("%s", error.text);
  rt_module_free(&module);
}

static void test_errors(void **state) {
  ir_ref p = k_param(g, IR_F32, 0, 4), i = k_range(g, index_of(4), 0);
  ir_ref store = k_store(g, p, i, ir_float(g, IR_F32, 1));
  ir_ref twice[] = {k_loop(g, i, IR_SERIAL, store), k_loop(g, i, IR_VECTOR, store)};
  expect_error(k_kernel(g, store, &p, 1), IR_ERR_INTERNAL, "belongs to no loop");
  expect_error(k_kernel(g, ir_make(g, IR_OP_SEQ, IR_NONE, 0, twice, 2), &p, 1), IR_ERR_INTERNAL,
               "two loops bind one range");
  expect_error(
      k_parse("kernel @k(p0: f32[4]) {\n %e = exp f32(1.0) : f32\n store p0[0] = %e\n}\n", NULL, NULL),
      IR_ERR_INTERNAL, "exp of f32");
  expect_error(k_parse("kernel @k(p0: f32[4]) {\n for ridx0 in 0..4 vector {\n for ridx1 in 0..4 vector {\n"
                       "store p0[ridx0+ridx1] = f32(1.0)\n}\n}\n}\n",
                       NULL, NULL),
               IR_ERR_INTERNAL, "two vector ranges");
  ir_ref deep = store;
  for (int d = 0; d < 70; d++) deep = k_loop(g, d ? k_range(g, index_of(2), d + 2) : i, IR_SERIAL, deep);
  expect_error(k_kernel(g, deep, &p, 1), IR_ERR_UNSUPPORTED, "compile: loops are nested more than 64 deep");
  expect_error(p, IR_ERR_INTERNAL, "no kernel");
}

/* A chain of operations far longer than a stack could follow, and stores in sequences within sequences. */
static void test_long(void **state) {
  ir_ref p = k_param(g, IR_I32, 0, 4), x = k_load(g, k_param(g, IR_I32, 1, 1), index_of(0));
  ir_ref q = k_param(g, IR_I32, 1, 1);
  for (int i = 0; i < 20000; i++) x = ir_binary(g, i % 3 ? IR_OP_ADD : IR_OP_XOR, x, ir_int(g, IR_I32, i));
  ir_ref effect = k_store(g, p, index_of(0), x);
  for (int i = 0; i < 20000; i++) effect = ir_make(g, IR_OP_SEQ, IR_NONE, i, &effect, 1);
  k_target t;
  k_target_at(0, &t);
  ir_ref params[] = {p, q};
  k_code code = k_compile(g, k_kernel(g, effect, params, 2), &t.target);
  int32_t in = 5, out = 0;
  uint32_t want = 5;
  for (uint32_t i = 0; i < 20000; i++) want = i % 3 ? want + i : want ^ i;
  int64_t status = 0;
  code.run((void *[]){&out, &in, &status}, NULL, 0, 0, code.scratch);
  assert_int_equal(out, (int32_t)want);
}

/* Threads, each with its own graph, share one code generator. */
static void *compile_many(void *user) {
  rt_module *module = user;
  ir_error mine = {0};
  intptr_t failures = 0;
  for (int iteration = 0; iteration < 8; iteration++) {
    ir_graph own;
    if (ir_graph_init(&own, &ir_mem_libc, &mine) != IR_OK) return (void *)1;
    ir_ref p = k_param(&own, IR_I32, 0, 4), i = k_range(&own, ir_index(&own, 4), 0);
    ir_ref kernel = k_kernel(
        &own, k_loop(&own, i, IR_VECTOR, k_store(&own, p, i, ir_int(&own, IR_I32, iteration))), &p, 1);
    k_target t;
    for (int number = 0; k_target_at(number, &t); number++) {
      cg_blob blob;
      failures +=
          rt_module_compile(module, &own, kernel, "kernel", &t.target, CG_OBJECT, &blob, &mine) != IR_OK;
      cg_blob_free(&blob);
    }
    ir_graph_free(&own);
  }
  return (void *)failures;
}

static void test_threads(void **state) {
  rt_module module;
  pthread_t threads[4];
  error = (ir_error){0};
  assert_int_equal(rt_module_init(&module, NULL, &error), IR_OK);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, compile_many, &module), 0);
  for (int i = 0; i < 4; i++) {
    void *failures;
    pthread_join(threads[i], &failures);
    assert_null(failures);
  }
  rt_module_free(&module);
}

/* Whichever allocation fails, the failure is reported and nothing stays allocated. */
static void test_short_memory(void **state) {
  test_budget b = {LONG_MAX, 0};
  ir_mem mem = {test_budget_hook, &b};
  error = (ir_error){0};
  ir_graph_free(g);
  assert_int_equal(ir_graph_init(g, &mem, &error), IR_OK);
  ir_ref kernel = tile(2, 2, 4, 8);
  long before = b.live;
  k_target t;
  k_target_at(0, &t);
  rt_module module;
  assert_int_equal(rt_module_init(&module, NULL, &error), IR_OK);
  ir_status status = IR_ERR_MEMORY;
  long limit = 0;
  for (; status != IR_OK && limit < 100000; limit++) {
    cg_blob blob;
    b.left = limit;
    error = (ir_error){0};
    status = rt_module_compile(&module, g, kernel, "kernel", &t.target, CG_OBJECT, &blob, &error);
    if (status != IR_OK) assert_int_equal(status, IR_ERR_MEMORY);
    b.left = LONG_MAX;
    cg_blob_free(&blob);
    assert_int_equal(b.live, before);
  }
  assert_in_range(limit, 20, 99999);
  rt_module_free(&module);
  k_begin();
  assert_int_equal(b.live, 0);
}

UNIT_TESTS_EACH(k_enter, k_leave, test_elementwise, test_elementwise_code, test_access, test_masked,
                test_masked_rows, test_reduce_all, test_reduce_columns, test_nothing_read,
                test_nothing_read_inside, test_bound, test_carried, test_register_tile, test_errors,
                test_long, test_threads, test_short_memory)
