/* Loops of contiguous stores, written by hand, whose memory begins anywhere: compiled for several sets of
 * features and run where it is aligned and where it is not, also in place. Nothing around what is stored may
 * change, and memory ends where the elements end. */
#include "test/lib/kernels.h"
#include "test/lib/unit.h"

static ir_graph *const g = &k_graph;

enum {
  LEAST = 4 << 10, /* bytes that a loop stores, so that it aligns them */
  AHEAD = 3,       /* elements */
  FILL = 0xa5
};

/* out[i] = first[i], first[last - i], first[i] + second[i], out[i] + first[i], or out[i + AHEAD] + first[i]
 */
typedef enum form { COPIED, REVERSED, SUM, ADDED, AHEAD_ADDED, FORMS } form;

static ir_ref kernel_of(form how, ir_dtype type, int64_t iterations, int64_t lanes) {
  int64_t count = iterations * lanes;
  ir_ref p[] = {k_param(g, type, 0, count + AHEAD), k_param(g, type, 1, count), k_param(g, type, 2, count)};
  ir_ref i = k_range(g, ir_index(g, iterations), 0), lane = k_range(g, ir_index(g, lanes), 1);
  ir_ref up[] = {k_times(g, i, lanes), ir_index(g, AHEAD), lane},
         down[] = {k_times(g, i, -lanes), ir_index(g, count - 1), k_times(g, lane, -1)};
  ir_ref at = k_sum(g, up[0], lane), ahead = ir_make(g, IR_OP_ADD, IR_INDEX, 0, up, 3),
         back = ir_make(g, IR_OP_ADD, IR_INDEX, 0, down, 3);
  ir_ref value = k_load(g, p[1], how == REVERSED ? back : at);
  if (how == SUM) value = ir_binary(g, IR_OP_ADD, value, k_load(g, p[2], at));
  if (how == ADDED) value = ir_binary(g, IR_OP_ADD, value, k_load(g, p[0], at));
  if (how == AHEAD_ADDED) value = ir_binary(g, IR_OP_ADD, value, k_load(g, p[0], ahead));
  return k_kernel(g, k_loop(g, i, IR_SERIAL, k_loop(g, lane, IR_VECTOR, k_store(g, p[0], at, value))), p, 3);
}

static uint64_t element(const uint8_t *x, int64_t i, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, x + (size_t)i * bytes, bytes);
  return value;
}

static void fill(uint8_t *x, size_t bytes, uint32_t seed) {
  for (size_t k = 0; k < bytes; k++) x[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

/* In place of `out`, which has count + AHEAD elements. */
static void expect(form how, uint8_t *out, const uint8_t *first, const uint8_t *second, int64_t count,
                   size_t bytes) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = element(first, how == REVERSED ? count - 1 - i : i, bytes);
    if (how == SUM) value += element(second, i, bytes);
    if (how == ADDED) value += element(out, i, bytes);
    if (how == AHEAD_ADDED) value += element(out, i + AHEAD, bytes);
    memcpy(out + (size_t)i * bytes, &value, bytes);
  }
}

/* at_end: the elements end where memory ends, less `offset` bytes; else they begin so far behind its begin.
 */
static void check(const k_target *t, k_code code, form how, ir_dtype type, int64_t count, size_t offset,
                  bool at_end, bool in_place) {
  size_t bytes = (size_t)ir_dtypes[type].bytes, size = (size_t)(count + AHEAD) * bytes;
  k_fence memory = k_fence_make(size + offset, at_end),
          inputs = k_fence_make(2 * (size_t)count * bytes, at_end);
  uint8_t *out = memory.memory + (at_end ? 0 : offset), *first = inputs.memory,
          *second = first + (size_t)count * bytes, *want = malloc(size + offset);
  assert_non_null(want);
  memset(memory.memory, FILL, size + offset);
  fill(out, size, 1), fill(first, 2 * (size_t)count * bytes, 2);
  memcpy(want, memory.memory, size + offset);
  uint8_t *wanted = want + (out - memory.memory);
  expect(how, wanted, in_place ? wanted : first, second, count, bytes);
  int64_t status = 0;
  code.run((void *[]){out, in_place ? out : first, second, &status}, NULL, 0, 0, code.scratch);
  if (memcmp(want, memory.memory, size + offset) != 0)
    fail_msg("%s, %s: form %d of %lld elements, %zu bytes off, is wrong%s", t->name, ir_dtypes[type].name,
             (int)how, (long long)count, offset, in_place ? " in place" : "");
  free(want);
  k_fence_free(&memory), k_fence_free(&inputs);
}

static const ir_dtype types[] = {IR_U8, IR_I16, IR_I32, IR_I64};

static void test_aligned(void **state) {
  K_EACH_TARGET(t) {
    size_t vector = (size_t)t.target.vector_bytes;
    for (size_t d = 0; d < sizeof types / sizeof *types; d++)
      for (int how = 0; how < FORMS; how++)
        for (int further = 0; further < 2; further++) {
          size_t bytes = (size_t)ir_dtypes[types[d]].bytes,
                 offsets[] = {0, bytes, vector / 2, vector - bytes};
          int64_t lanes = (int64_t)(vector / bytes), iterations = LEAST / (int64_t)vector + further;
          k_begin();
          k_code code = k_compile(g, kernel_of((form)how, types[d], iterations, lanes), &t.target);
          for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++)
            for (int at_end = 0; at_end < 2; at_end++) {
              check(&t, code, (form)how, types[d], iterations * lanes, offsets[k], at_end, false);
              if (how <= SUM && how != REVERSED)
                check(&t, code, (form)how, types[d], iterations * lanes, offsets[k], at_end, true);
            }
        }
  }
}

/* A loop tests its address where it is long enough, where it can store parts of vectors if it has to, and
 * where it loads no other elements of what it stores. */
static void test_code(void **state) {
  K_EACH_TARGET(t) {
    int64_t lanes = t.target.vector_bytes / 4, least = LEAST / t.target.vector_bytes;
    for (int how = 0; how < FORMS; how++)
      for (int shorter = 0; shorter < 2; shorter++) {
        k_begin();
        char *text = k_text(g, kernel_of((form)how, IR_I32, least - shorter, lanes), &t.target, CG_LLVM);
        bool masks = lanes >= 8, parts = how != REVERSED; /* what is loaded may be in place */
        assert_int_equal(strstr(text, "ptrtoint") != NULL,
                         !shorter && (masks || !parts) && how != AHEAD_ADDED);
        assert_int_equal(strstr(text, "masked.store") != NULL,
                         !shorter && masks && parts && how != AHEAD_ADDED);
        free(text);
      }
  }
}

UNIT_TESTS_EACH(k_enter, k_leave, test_aligned, test_code)
