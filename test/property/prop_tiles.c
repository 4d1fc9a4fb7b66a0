/* Views that permute, flip, stride, pad and reshape, stored by kernels for several machines.
 *
 *   prop_tiles --seed S --count N
 *
 * Each case takes a random array of a random dtype through random views, with sizes around the sizes of tiles
 * and far from them, and stores the result row-major by the kernel compiled for a machine: this one or one
 * with fewer capabilities, whose last-level cache holds the array or does not, so that stores are ordinary or
 * non-temporal. The kernel is called for two ranges of its blocks, on buffers at any address. Each element is
 * traced back to the array by plain arithmetic, one view after the other, and compared byte by byte; the
 * bytes around the output must be unchanged. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "passes/passes.h"
#include "runtime/compiler/llvm_module.h"
#include "runtime/cpu/target.h"
#include "runtime/image/image.h"
#include "test/lib/random_graph.h"
#include "test/lib/options.h"

enum { RANK = 6, STEPS = 5, MOST = 60000, GUARD = 128, LINE = 64, TEXT = 1024, LOCALS = 32768 };

typedef enum kind { PERMUTE, FLIP, STRIDE, PAD, SHRINK, SPLIT, MERGE, KINDS } kind;

typedef struct shape {
  int rank;
  int64_t size[RANK];
} shape;

typedef struct view {
  kind kind;
  int axis;
  int64_t a[RANK], b[RANK]; /* order; steps; pads before and after; bounds */
  shape from, to;
} view;

typedef struct test_case {
  uint64_t state;
  ir_dtype dtype;
  shape base;
  view views[STEPS];
  int count;
  ir_target target;
} test_case;

static int64_t pick(test_case *c, int64_t lo, int64_t hi) { return random_between(&c->state, lo, hi); }

static int64_t count_of(const shape *s) {
  int64_t count = 1;
  for (int i = 0; i < s->rank; i++) count *= s->size[i];
  return count;
}

static void random_base(test_case *c) {
  static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  12, 15, 16,  17,  20,  24,  31,
                                  32, 33, 47, 48, 55, 56, 63, 64, 65, 100, 127, 128, 130, 1023};
  do {
    c->base.rank = (int)pick(c, 2, 4);
    for (int i = 0; i < c->base.rank; i++) c->base.size[i] = sizes[pick(c, 0, 27)];
  } while (count_of(&c->base) > MOST);
}

/* Fills v, its result's shape included; false where the drawn view is not possible or too large. */
static bool random_view(test_case *c, view *v) {
  shape *to = &v->to;
  int axis = v->axis = (int)pick(c, 0, v->from.rank - 1);
  v->kind = pick(c, 0, 1) ? PERMUTE : (kind)pick(c, 0, KINDS - 1);
  *to = v->from;
  for (int i = 0; i < to->rank; i++) v->a[i] = v->kind == STRIDE, v->b[i] = 0;
  switch (v->kind) {
  case PERMUTE:
    for (int i = 0; i < to->rank; i++) v->a[i] = i;
    for (int i = to->rank - 1; i > 0; i--) {
      int k = (int)pick(c, 0, i);
      int64_t swap = v->a[i];
      v->a[i] = v->a[k], v->a[k] = swap;
    }
    for (int i = 0; i < to->rank; i++) to->size[i] = v->from.size[v->a[i]];
    break;
  case FLIP: break;
  case STRIDE:
    v->a[axis] = pick(c, 2, 5);
    to->size[axis] = (v->from.size[axis] + v->a[axis] - 1) / v->a[axis];
    break;
  case PAD:
    v->a[axis] = pick(c, 0, 5), v->b[axis] = pick(c, 0, 3);
    to->size[axis] += v->a[axis] + v->b[axis];
    break;
  case SHRINK:
    v->a[axis] = pick(c, 0, (to->size[axis] - 1) / 3), v->b[axis] = to->size[axis] - pick(c, 0, v->a[axis]);
    to->size[axis] = v->b[axis] - v->a[axis];
    break;
  case SPLIT:
    v->a[0] = pick(c, 2, 8);
    if (to->rank == RANK || to->size[axis] % v->a[0] != 0) return false;
    memmove(to->size + axis + 1, to->size + axis, (size_t)(to->rank++ - axis) * sizeof *to->size);
    to->size[axis] /= v->a[0], to->size[axis + 1] = v->a[0];
    break;
  case MERGE:
    if (axis + 1 == to->rank) return false;
    to->size[axis] *= to->size[axis + 1];
    memmove(to->size + axis + 1, to->size + axis + 2, (size_t)(--to->rank - axis - 1) * sizeof *to->size);
    break;
  case KINDS: return false;
  }
  return to->size[axis < to->rank ? axis : 0] > 0 && count_of(to) <= MOST;
}

/* Replaces an index after the view by the index before it; false in padding. */
static bool back(const view *v, int64_t *at) {
  int64_t was[RANK];
  int k = v->axis;
  memcpy(was, at, sizeof was);
  switch (v->kind) {
  case PERMUTE:
    for (int i = 0; i < v->from.rank; i++) at[v->a[i]] = was[i];
    break;
  case FLIP: at[k] = v->from.size[k] - 1 - was[k]; break;
  case STRIDE: at[k] = was[k] * v->a[k]; break;
  case PAD: at[k] = was[k] - v->a[k]; return at[k] >= 0 && at[k] < v->from.size[k];
  case SHRINK: at[k] = was[k] + v->a[k]; break;
  case SPLIT:
    at[k] = was[k] * v->a[0] + was[k + 1];
    for (int i = k + 1; i < v->from.rank; i++) at[i] = was[i + 1];
    break;
  case MERGE:
    for (int i = k + 2; i < v->from.rank; i++) at[i] = was[i - 1];
    at[k + 1] = was[k] % v->from.size[k + 1], at[k] = was[k] / v->from.size[k + 1];
    break;
  case KINDS: break;
  }
  return true;
}

static void append(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, TEXT - used, format, args);
  va_end(args);
}

static void put_sizes(char *text, const shape *s) {
  for (int i = 0; i < s->rank; i++) append(text, i ? ",%" PRId64 : "%" PRId64, s->size[i]);
}

static void write_chain(const test_case *c, char *text) {
  snprintf(text, TEXT, "%s[", ir_dtypes[c->dtype].name);
  put_sizes(text, &c->base);
  append(text, "]");
  for (int k = 0; k < c->count; k++) {
    const view *v = &c->views[k];
    static const char *const names[] = {"permute", "flip", "stride", "pad", "shrink", "reshape", "reshape"};
    append(text, ".%s(", names[v->kind]);
    if (v->kind == FLIP) append(text, "%d", v->axis);
    else if (v->kind >= SPLIT) put_sizes(text, &v->to);
    for (int i = 0; i < v->from.rank && v->kind != FLIP && v->kind < SPLIT; i++) {
      const char *comma = i ? "," : "";
      int64_t end = v->kind == SHRINK && i != v->axis ? v->from.size[i] : v->b[i];
      if (v->kind == PAD || v->kind == SHRINK)
        append(text, "%s(%" PRId64 ",%" PRId64 ")", comma, v->a[i], end);
      else append(text, "%s%" PRId64, comma, v->a[i]);
    }
    append(text, ")");
  }
}

static bool random_target(test_case *c, ir_error *error) {
  rt_target_host(&c->target);
  const char *settings = "";
#if defined(__x86_64__)
  static const char *const less[] = {
      "", "features=+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt vector_bytes=32 registers=16",
      "features=+sse4.1 vector_bytes=16 registers=16 fma=0 f16c=0", "vector_bytes=16 lanes=64 local=32768"};
  bool avx2 = c->target.vector_bytes >= 32 && c->target.has_fma;
  int64_t which = pick(c, 0, 4);
  settings = less[which > 3 ? 0 : which == 1 && !avx2 ? 0 : which];
#endif
  return rt_target_override(&c->target, settings, error) == IR_OK &&
         rt_target_override(&c->target, pick(c, 0, 1) ? "l3=4096" : "l3=33554432", error) == IR_OK;
}

static bool make_case(uint64_t seed, test_case *c, ir_error *error) {
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_U8, IR_BOOL, IR_I16, IR_F16, IR_F64};
  *c = (test_case){.state = seed};
  c->dtype = dtypes[pick(c, 0, 6)];
  random_base(c);
  shape now = c->base;
  for (int tries = 0, most = (int)pick(c, 1, STEPS); tries < 20 && c->count < most; tries++) {
    view *v = &c->views[c->count];
    v->from = now;
    if (random_view(c, v)) now = v->to, c->count++;
  }
  return random_target(c, error);
}

/* Compiles the kernel; *blocks is the number of blocks that it divides its work into. */
static bool compile(rt_module *module, const test_case *c, const char *chain, rt_code *code, int64_t *blocks,
                    ir_error *error) {
  ir_graph g;
  ir_plan plan;
  cg_blob blob;
  rt_flat flat;
  if (ir_graph_init(&g, &ir_mem_libc, error) != IR_OK) return false;
  ir_ref node = fe_chain_parse(&g, "<chain>", chain, strlen(chain)),
         results = node ? ir_tuple(&g, &node, 1) : 0;
  pass_options options = {.target = &c->target, .verify = true};
  bool good = results && pass_pipeline(&g, results, &options, &plan, error) == IR_OK;
  if (good) {
    good = plan.step_count == 1 && ir_is_const(&g, plan.steps[0].count, blocks);
    if (!good) ir_fail(error, IR_ERR_INTERNAL, "a chain becomes one kernel");
    good = good && rt_module_compile(module, &g, plan.steps[0].kernel, "kernel", &c->target, CG_OBJECT, &blob,
                                     error) == IR_OK;
    if (good) {
      good =
          rt_image_link(blob.bytes, blob.size, (rt_terms){.scratch = blob.scratch, .in_place = blob.in_place},
                        &ir_mem_libc, &flat, error) == IR_OK;
      cg_blob_free(&blob);
    }
    if (good) {
      good = rt_image_map(flat.bytes, flat.size, code, error) == IR_OK;
      rt_flat_free(&ir_mem_libc, &flat);
    }
    ir_plan_free(&plan);
  }
  ir_graph_free(&g);
  return good;
}

static bool same(const test_case *c, const uint8_t *in, const uint8_t *out, ir_error *error) {
  static const uint8_t zeros[8];
  const shape *to = c->count ? &c->views[c->count - 1].to : &c->base;
  size_t bytes = ir_dtypes[c->dtype].bytes;
  for (int64_t i = 0, count = count_of(to); i < count; i++) {
    int64_t at[RANK] = {0}, rest = i, from = 0;
    bool inside = true;
    for (int a = to->rank; a-- > 0; rest /= to->size[a]) at[a] = rest % to->size[a];
    for (int k = c->count; k-- > 0 && inside;) inside = back(&c->views[k], at);
    for (int a = 0; a < c->base.rank && inside; a++) from = from * c->base.size[a] + at[a];
    const uint8_t *want = inside ? in + (size_t)from * bytes : zeros;
    if (memcmp(out + (size_t)i * bytes, want, bytes) == 0) continue;
    ir_fail(error, IR_ERR_INTERNAL, "element %" PRId64 " is wrong", i);
    return false;
  }
  return true;
}

static bool is_untouched(const uint8_t *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (from[i] != 0xa5) return false;
  return true;
}

static bool run(test_case *c, const rt_code *code, int64_t blocks, ir_error *error) {
  static uint8_t input[MOST * 8 + LINE] __attribute__((aligned(64)));
  static uint8_t output[MOST * 8 + LINE + 2 * GUARD] __attribute__((aligned(64)));
  static uint8_t scratch[LOCALS] __attribute__((aligned(64)));
  cg_kernel kernel = (cg_kernel)rt_code_find(code, "kernel");
  const shape *to = c->count ? &c->views[c->count - 1].to : &c->base;
  size_t bytes = ir_dtypes[c->dtype].bytes, size = (size_t)count_of(to) * bytes;
  bool aligned = pick(c, 0, 2) > 0;
  uint8_t *in = input + (aligned ? 0 : (size_t)pick(c, 0, LINE / (int64_t)bytes - 1) * bytes),
          *out = output + GUARD + (aligned ? 0 : (size_t)pick(c, 0, LINE / (int64_t)bytes - 1) * bytes);
  for (size_t i = 0; i < (size_t)count_of(&c->base) * bytes; i++)
    in[i] = c->dtype == IR_BOOL ? pick(c, 0, 1) : (uint8_t)(pick(c, 0, 255) & 0x3b); /* no NaN */
  memset(output, 0xa5, sizeof output);
  int64_t status = 0, middle = pick(c, 0, blocks);
  void *buffers[] = {out, in, &status};
  kernel(buffers, NULL, middle, blocks, scratch);
  kernel(buffers, NULL, 0, middle, scratch);
  if (!is_untouched(output, (size_t)(out - output)) ||
      !is_untouched(out + size, (size_t)(output + sizeof output - out) - size)) {
    ir_fail(error, IR_ERR_INTERNAL, "memory around the output is written");
    return false;
  }
  return same(c, in, out, error);
}

static bool try_case(rt_module *module, uint64_t seed) {
  static test_case c;
  ir_error error = {0};
  char chain[TEXT];
  rt_code code;
  int64_t blocks = 0;
  bool good = make_case(seed, &c, &error);
  write_chain(&c, chain);
  good = good && compile(module, &c, chain, &code, &blocks, &error);
  if (good) {
    good = run(&c, &code, blocks, &error);
    rt_image_unmap(&code);
  }
  if (!good)
    printf("%s\n  vectors of %d bytes, last cache %" PRId64 ": %s\n", chain, c.target.vector_bytes,
           c.target.l3_bytes, error.text);
  return good;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 200, k;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count));
  rt_module module;
  ir_error error = {0};
  if (rt_module_init(&module, NULL, &error) != IR_OK) return printf("prop_tiles: %s\n", error.text), 1;
  for (k = 0; k < count; k++)
    if (!try_case(&module, seed * 0x9e3779b97f4a7c15u + k)) break;
  rt_module_free(&module);
  if (k < count) return printf("again: prop_tiles --seed %" PRIu64 " --count %" PRIu64 "\n", seed, k + 1), 1;
  printf("prop_tiles: %" PRIu64 " chains, 0 wrong, seed %" PRIu64 "\n", count, seed);
  return 0;
}
