/* Kernels written by hand whose unrolled values and vector lanes do not follow memory, compiled for several
 * sets of features and run: tiles that are transposed when loaded, unrolled values that are interleaved when
 * stored, and non-temporal stores. Memory ends where the elements end. */
#include "runtime/cpu/processors.h"
#include "test/lib/kernels.h"
#include "test/lib/unit.h"

static ir_graph *const g = &k_graph;

static ir_ref index_of(int64_t value) { return ir_index(g, value); }

static void fill(uint8_t *x, size_t bytes, ir_dtype type) {
  uint32_t seed = 1;
  for (size_t k = 0; k < bytes; k++) {
    seed = seed * 1664525u + 1013904223u;
    x[k] = type == IR_BOOL ? seed >> 31 : (uint8_t)(seed >> 24 & 0x3b); /* no NaN */
  }
}

/* The place of an element: affine in the indices of the unrolled, the vector and the serial loop. */
typedef struct strides {
  int64_t unrolled, lane, iteration, start;
} strides;

/* out[place_out(unrolled, lane)] = in[place_in(unrolled, lane)], in two serial iterations. */
typedef struct moved {
  ir_dtype type;
  int unroll, lanes;
  strides in, out;
  bool stream;
} moved;

static int64_t size_of(const moved *m, const strides *s) {
  int64_t last = s->start + s->iteration;
  if (s->unrolled > 0) last += s->unrolled * (m->unroll - 1);
  return 1 + (s->lane > 0 ? last + s->lane * (m->lanes - 1) : last);
}

static ir_ref place_of(const strides *s, const ir_ref *ranges) {
  ir_ref terms[] = {k_times(g, ranges[0], s->iteration), index_of(s->start),
                    k_times(g, ranges[1], s->unrolled), k_times(g, ranges[2], s->lane)};
  return ir_make(g, IR_OP_ADD, IR_INDEX, 0, terms, 4);
}

static ir_ref kernel_of(const moved *m, int64_t in_size, int64_t out_size) {
  ir_ref p[] = {k_param(g, m->type, 0, out_size), k_param(g, m->type, 1, in_size)};
  ir_ref ranges[] = {k_range(g, index_of(2), 0), k_range(g, index_of(m->unroll), 1),
                     k_range(g, index_of(m->lanes), 2)};
  ir_ref src[] = {p[0], place_of(&m->out, ranges), k_load(g, p[1], place_of(&m->in, ranges))};
  ir_ref store = ir_make(g, IR_OP_STORE, IR_NONE, ir_pack_arg(0, m->stream), src, 3);
  ir_ref lanes = k_loop(g, ranges[1], IR_UNROLL, k_loop(g, ranges[2], IR_VECTOR, store));
  return k_kernel(g, k_loop(g, ranges[0], IR_SERIAL, lanes), p, 2);
}

static void check_moved(const moved *m, size_t offset) {
  int64_t in_size = size_of(m, &m->in), out_size = size_of(m, &m->out);
  size_t bytes = ir_dtypes[m->type].bytes;
  ir_ref kernel = kernel_of(m, in_size, out_size);
  uint8_t *want = calloc((size_t)out_size, bytes);
  K_SOME_TARGETS(t) {
    k_code code = k_compile(g, kernel, &t.target);
    for (int edge = 0; edge < 2; edge++) {
      k_fence in = k_fence_make((size_t)in_size * bytes, edge),
              out = k_fence_make((size_t)out_size * bytes + offset, edge);
      uint8_t *x = in.memory, *y = out.memory + (edge ? 0 : offset);
      fill(x, (size_t)in_size * bytes, m->type);
      memset(y, 0, (size_t)out_size * bytes);
      memset(want, 0, (size_t)out_size * bytes);
      for (int64_t r = 0; r < 2; r++)
        for (int64_t c = 0; c < m->unroll; c++)
          for (int64_t l = 0; l < m->lanes; l++) {
            int64_t from = r * m->in.iteration + m->in.start + c * m->in.unrolled + l * m->in.lane;
            int64_t to = r * m->out.iteration + c * m->out.unrolled + l * m->out.lane;
            memcpy(want + (size_t)to * bytes, x + (size_t)from * bytes, bytes);
          }
      int64_t status = 0;
      code.run((void *[]){y, x, &status}, NULL, 0, 0, code.scratch);
      if (memcmp(want, y, (size_t)out_size * bytes) != 0)
        fail_msg("%s, %s: %d unrolled vectors of %d lanes are wrong", t.name, ir_dtypes[m->type].name,
                 m->unroll, m->lanes);
      k_fence_free(&in), k_fence_free(&out);
    }
  }
  free(want);
}

static const ir_dtype types[] = {IR_U8, IR_BOOL, IR_I16, IR_BF16, IR_F32, IR_I64};
enum { TYPES = sizeof types / sizeof *types };

/* Rows of the input, one for each lane, become columns. */
static void test_tiles(void **state) {
  static const int sizes[][2] = {{16, 16}, {8, 8},  {4, 4},   {2, 2},   {16, 8}, {8, 16}, {16, 4},
                                 {16, 2},  {2, 16}, {12, 16}, {15, 16}, {48, 8}, {32, 4}};
  for (int d = 0; d < TYPES; d++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      k_begin();
      int unroll = sizes[s][0], lanes = sizes[s][1], pitch = unroll + 7;
      check_moved(&(moved){types[d], unroll, lanes, {1, pitch, 3, 0}, {lanes, 1, unroll * lanes, 0}, false},
                  0);
    }
}

static void test_wide_tiles(void **state) {
  static const int sizes[][3] = {
      {IR_U8, 16, 64}, {IR_U8, 64, 16}, {IR_I8, 32, 32}, {IR_F16, 16, 32}, {IR_F16, 32, 32}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    k_begin();
    int unroll = sizes[s][1], lanes = sizes[s][2];
    check_moved(
        &(moved){(ir_dtype)sizes[s][0], unroll, lanes, {1, 101, 1, 0}, {lanes, 1, unroll * lanes, 0}, false},
        0);
  }
}

/* Rows read backward, and rows in descending order of addresses. */
static void test_transposed_tiles(void **state) {
  for (int d = 0; d < TYPES; d++)
    for (int variant = 0; variant < 3; variant++) {
      k_begin();
      int64_t in_unrolled = variant == 1 ? 1 : -1, in_lane = variant == 0 ? 19 : -19;
      int64_t start = (in_unrolled < 0 ? 7 : 0) + (in_lane < 0 ? 15 * 19 : 0);
      check_moved(&(moved){types[d], 8, 16, {in_unrolled, in_lane, 4, start}, {16, 1, 128, 0}, false}, 0);
    }
}

/* Unrolled values that are adjacent in the output, with and without gaps between groups. */
static void test_interleaved(void **state) {
  for (int d = 0; d < TYPES; d++)
    for (int unroll = 2; unroll <= 5; unroll++)
      for (int lanes = 2; lanes <= 16; lanes *= 2)
        for (int gap = 0; gap < 2; gap++) {
          k_begin();
          check_moved(&(moved){types[d],
                               unroll,
                               lanes,
                               {lanes + 3, 1, 1, 0},
                               {1, unroll + gap, (unroll + gap) * lanes, 0},
                               false},
                      0);
        }
}

static moved streaming(ir_dtype type, int unroll, int lanes, bool transposed) {
  return (moved){type,
                 unroll,
                 lanes,
                 {transposed ? 1 : lanes, transposed ? 64 : 1, transposed ? unroll : unroll * lanes, 0},
                 {lanes, 1, unroll * lanes, 0},
                 true};
}

/* For any alignment of the buffers. */
static void test_streams(void **state) {
  for (size_t offset = 0; offset < 64; offset += 4)
    for (int transposed = 0; transposed < 2; transposed++) {
      k_begin();
      moved f32 = streaming(IR_F32, 4, 16, transposed), u8 = streaming(IR_U8, 2, 32, transposed),
            narrow = streaming(IR_F32, 2, 4, transposed);
      check_moved(&f32, offset), check_moved(&u8, offset), check_moved(&narrow, offset);
    }
}

/* Stores are non-temporal, and fenced, if and only if they stream whole vectors. */
static void test_stream_code(void **state) {
  K_EACH_TARGET(t) {
    for (int variant = 0; variant < 3; variant++) { /* streams; does not; streams less than vectors */
      k_begin();
      int lanes = t.target.vector_bytes / (variant == 2 ? 8 : 4);
      moved m = streaming(IR_F32, 1, lanes, false);
      m.stream = variant != 1;
      char *text = k_text(g, kernel_of(&m, 2 * lanes, 2 * lanes), &t.target, CG_LLVM);
      assert_int_equal(strstr(text, "!nontemporal") != NULL, variant == 0);
      assert_int_equal(strstr(text, "sfence") != NULL || strstr(text, "fence seq_cst") != NULL, variant == 0);
      free(text);
    }
  }
}

/* A streaming kernel that may overwrite its input uses ordinary stores when called so, with correct
 * results. */
static void test_stream_in_place(void **state) {
  enum { N = 64 };
  k_begin();
  ir_ref p[] = {k_param(g, IR_F32, 0, N), k_param(g, IR_F32, 1, N)};
  K_EACH_TARGET(t) {
    int lanes = t.target.vector_bytes / 4;
    ir_ref block = k_range(g, index_of(N / lanes), 0), lane = k_range(g, index_of(lanes), 1);
    ir_ref at = k_sum(g, k_times(g, block, lanes), lane), old = k_load(g, p[1], at);
    ir_ref src[] = {p[0], at, ir_binary(g, IR_OP_ADD, old, old)};
    ir_ref store = ir_make(g, IR_OP_STORE, IR_NONE, ir_pack_arg(0, true), src, 3);
    ir_ref kernel = k_kernel(g, k_loop(g, block, IR_SERIAL, k_loop(g, lane, IR_VECTOR, store)), p, 2);
    char *text = k_text(g, kernel, &t.target, CG_LLVM);
    assert_non_null(strstr(text, "icmp ne ptr"));
    assert_non_null(strstr(text, "!nontemporal"));
    free(text);
    k_code code = k_compile(g, kernel, &t.target);
    float x[N] __attribute__((aligned(64))), y[N] __attribute__((aligned(64)));
    int64_t status = 0;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    code.run((void *[]){y, x, &status}, NULL, 0, 0, code.scratch);
    code.run((void *[]){x, x, &status}, NULL, 0, 0, code.scratch);
    for (int i = 0; i < N; i++) assert_true(x[i] == 2.0f * (float)i && y[i] == x[i]);
  }
}

/* A tile is read by as many loads as it has rows. */
static void test_tile_code(void **state) {
  ir_target target;
  assert_true(rt_processor_find("x86-64-v3", 9, &target));
  enum { LANES = 8 };
  moved m = streaming(IR_F32, LANES, LANES, true);
  char *text = k_text(g, kernel_of(&m, 64 * LANES, 2 * LANES * LANES), &target, CG_LLVM);
  int loads = 0;
  for (char *at = text; (at = strstr(at, "load <8 x float>")); at++) loads++;
  assert_int_equal(loads, LANES);
  assert_null(strstr(text, "gather"));
  free(text);
}

/* Sibling loops, unrolled as often each but more often than there are registers: what the second one reads
 * and where is emitted with that of the first one, before the loop around both. A row is copied in two parts,
 * which overlap in the last vectors. */
static void test_sibling_copies(void **state) {
  enum { UNROLLED = 47, LANES = 16, N = 1500, SECOND = N / 2 + 2, LAST = N - SECOND - LANES };
  ir_ref kernel = k_parse("kernel @k(p0: f32[$0], p1: f32[$0]) {\n for ridx0 in 0..1 thread {\n"
                          "for ridx1 in 0..$1 unroll {\n %a = (ridx1*$2) : index\n"
                          "for ridx2 in 0..$2 vector {\n %b = load p1[%a+ridx2] : f32\n"
                          "store p0[%a+ridx2] = %b\n}\n}\n"
                          "for ridx3 in 0..$1 unroll {\n %c = (min((ridx3*$2), $4)) : index\n"
                          "for ridx4 in 0..$2 vector {\n %d = load p1[ridx4+%c+$3] : f32\n"
                          "store p0[ridx4+%c+$3] = %d\n}\n}\n}\n}\n",
                          (const int64_t[]){N, UNROLLED, LANES, SECOND, LAST}, NULL);
  K_SOME_TARGETS(t) {
    static float in[N], out[N];
    int64_t status = 0;
    for (int i = 0; i < N; i++) in[i] = (float)i, out[i] = -1;
    k_code code = k_compile(g, kernel, &t.target);
    code.run((void *[]){out, in, &status}, NULL, 0, 1, code.scratch);
    assert_memory_equal(out, in, sizeof in);
  }
}

/* Two sums that one loop carries, unrolled along one loop each: those of the rows and of the columns of a
 * matrix, whose terms are listed together. */
static void test_sibling_sums(void **state) {
  enum { N = 40 };
  ir_ref kernel = k_parse("kernel @k(p0: f32[$0], p1: f32[$0], p2: f32[$1]) {\n"
                          "for ridx0 in 0..$0 unroll {\n for ridx1 in 0..$0 unroll {\n"
                          "%a = for ridx2 in 0..$0 with %b = f32(0.0), %c = f32(0.0) {\n"
                          "%d = load p2[ridx0*$0+ridx2] : f32\n %e = load p2[ridx2*$0+ridx1] : f32\n"
                          "%f = fma %d, f32(2.0), %b : f32\n %g = fma %e, f32(3.0), %c : f32\n"
                          "next %f, %g\n}\n"
                          "%h = get %a slot=1 dtype=f32 : f32\n"
                          "store p0[ridx0] = %a\n store p1[ridx1] = %h\n}\n}\n}\n",
                          (const int64_t[]){N, N * N}, NULL);
  K_SOME_TARGETS(t) {
    static float in[N][N], rows[N], columns[N];
    int64_t status = 0;
    for (int i = 0; i < N * N; i++) in[i / N][i % N] = (float)(i * 37 % 64);
    k_code code = k_compile(g, kernel, &t.target);
    code.run((void *[]){rows, columns, in, &status}, NULL, 0, 0, code.scratch);
    for (int i = 0; i < N; i++) {
      float row = 0, column = 0;
      for (int k = 0; k < N; k++) row += 2 * in[i][k], column += 3 * in[k][i];
      assert_true(rows[i] == row && columns[i] == column);
    }
  }
}

UNIT_TESTS_EACH(k_enter, k_leave, test_tiles, test_wide_tiles, test_transposed_tiles, test_interleaved,
                test_streams, test_stream_code, test_stream_in_place, test_tile_code, test_sibling_copies,
                test_sibling_sums)
