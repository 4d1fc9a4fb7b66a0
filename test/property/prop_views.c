/* The view algebra against plain copying of elements.
 *
 *   prop_views --seed S --count N
 *
 * Random chains of views, some with a symbolic size, are recorded and converted into view lists; every query
 * of the view algebra is made. At the value of the size that the model used, and for every element, the
 * answers must agree with the map that plain loops give: the elements that the views read, before and after
 * the size is bound and after axes are joined; the index that they lower to; strides, masked axes and buffer
 * size; and an inverse, followed after the chain, must read every element of the base in order. Chains of
 * permute, reshape, flip and pad must have one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "frontend/views/view.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/view_check.h"
#include "test/lib/view_model.h"

typedef struct tally {
  uint64_t chains, varied, several, inverses;
} tally;

/* The buffer index that a chain of known sizes reads for its n-th element; -1: padding; -2: not a chain of
 * known sizes. */
static int64_t read_at(const ir_graph *g, const pass_view_chain *c, int64_t n) {
  for (size_t k = c->count; k-- > 0 && n >= 0;) {
    pass_view_numbers v;
    if (!pass_view_numbers_of(g, &c->views[k], &v)) return -2;
    int64_t rest = n, to = v.offset;
    bool valid = true;
    for (uint32_t i = v.rank; i-- > 0; rest /= v.shape[i]) {
      int64_t x = rest % v.shape[i];
      valid &= x >= v.begin[i] && x < v.end[i];
      to += x * v.stride[i];
    }
    n = valid ? to : -1;
  }
  return n;
}

static bool reads(const ir_graph *g, const char *what, const pass_view_chain *c, const model_array *want) {
  for (int n = 0; n < want->count; n++)
    if (read_at(g, c, n) != want->at[n])
      return view_check_failed("%s: element %d is read at %" PRId64 ", should be at %d", what, n,
                               read_at(g, c, n), want->at[n]);
  return true;
}

static int step_of(const model_shape *s, int axis) {
  int step = 1;
  while (++axis < s->rank) step *= s->size[axis];
  return step;
}

/* Known strides, and axes without a mask, must hold between all neighbouring elements. */
static bool strides_hold(ir_graph *g, const pass_view_chain *c, const model_array *want) {
  ir_ref strides[IR_MAX_RANK];
  uint32_t masked;
  if (!pass_view_real_strides(g, c, false, strides) || !pass_view_masked_axes(g, c, &masked))
    return view_check_failed("strides: %s", g->error->text);
  for (int k = 0; k < want->shape.rank; k++)
    for (int n = 0, step = step_of(&want->shape, k); n < want->count; n++) {
      int64_t stride, here = want->at[n];
      if (n / step % want->shape.size[k] + 1 == want->shape.size[k]) continue;
      int64_t next = want->at[n + step];
      if (!(masked >> k & 1) && (here < 0) != (next < 0))
        return view_check_failed("axis %d masks element %d, but is not told to", k, n);
      if (strides[k] && ir_is_const(g, strides[k], &stride) && here >= 0 && next != here + stride)
        return view_check_failed("stride %" PRId64 " of axis %d is wrong at element %d", stride, k, n);
    }
  return true;
}

static bool size_holds(ir_graph *g, const pass_view_chain *c, const model_array *want, int64_t elements) {
  int64_t size, needed = 0;
  for (int n = 0; n < want->count; n++)
    if (want->at[n] + 1 > needed) needed = want->at[n] + 1;
  if (!pass_view_real_size(g, c, &size)) return view_check_failed("size: %s", g->error->text);
  if (size < needed || size > elements || (c->count == 1 && size != needed))
    return view_check_failed("the buffer needs %" PRId64 " elements, told are %" PRId64, needed, size);
  return true;
}

static bool must_have_inverse(const model_chain *c) {
  for (int i = 0; i < c->count; i++) switch (c->steps[i].kind) {
    case MODEL_PERMUTE:
    case MODEL_RESHAPE:
    case MODEL_MERGE:
    case MODEL_SPLIT:
    case MODEL_FLIP:
    case MODEL_PAD:
    case MODEL_UNSQUEEZE:
    case MODEL_SQUEEZE: break;
    default: return false;
    }
  return true;
}

static bool inverse_holds(ir_graph *g, const pass_view_chain *c, const model_chain *from, tally *t) {
  pass_view_chain back, both;
  ir_ref shape[MODEL_RANK];
  int64_t elements = 1;
  for (int i = 0; i < from->base.rank; i++) {
    shape[i] = ir_index(g, from->base.size[i]);
    elements *= from->base.size[i];
  }
  pass_view_status status = pass_view_invert(g, c, (uint32_t)from->base.rank, shape, &back);
  if (status == PASS_VIEW_NONE)
    return !must_have_inverse(from) || elements == 0 || view_check_failed("there is no inverse");
  bool holds = status == PASS_VIEW_DONE && pass_view_chain_copy(g, c, &both);
  for (size_t i = 0; i < back.count && holds; i++) holds = pass_view_chain_add(g, &both, &back.views[i]);
  if (!holds) return view_check_failed("inverse: %s", g->error->text);
  for (int64_t n = 0; n < elements && holds; n++)
    if (read_at(g, &both, n) != n) holds = view_check_failed("the inverse misses element %" PRId64, n);
  t->inverses++;
  pass_view_chain_free(&both);
  pass_view_chain_free(&back);
  return holds;
}

/* Is the printed index short enough for the test's evaluator? */
static bool is_short(const ir_graph *g, ir_ref index) {
  enum { LONG = 10000 };
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_expr(g, index, &text);
  bool fits = !text.failed && text.len < LONG;
  ir_text_free(&text);
  return fits;
}

static bool views_hold(ir_graph *g, pass_view_chain *c, const model_chain *from, const model_array *want,
                       int64_t n, tally *t) {
  ir_ref *variables, index, valid, value = ir_index(g, n);
  size_t count;
  int64_t elements = 1;
  for (int i = 0; i < from->base.rank; i++) elements *= from->base.size[i];
  if (!pass_view_chain_lower(g, c, NULL, &index, &valid))
    return view_check_failed("lower: %s", g->error->text);
  if (is_short(g, index) && !view_check_access(g, "lowered", index, valid, want, elements, n)) return false;
  if (!pass_view_variables(g, c, &variables, &count)) return view_check_failed("%s", g->error->text);
  bool bound = count <= 1 && (count == 0 || pass_view_bind(g, c, variables, &value, 1));
  ir_free(g->mem, variables, count * sizeof *variables);
  if (!bound) return view_check_failed("%zu variables: %s", count, g->error->text);
  t->varied += count > 0;
  t->several += c->count > 1;
  if (!reads(g, "views", c, want) || !pass_view_chain_simplify(g, c) || !reads(g, "simplified", c, want))
    return false;
  if (!strides_hold(g, c, want) || !size_holds(g, c, want, elements) || !inverse_holds(g, c, from, t))
    return false;
  return pass_view_minify(g, pass_view_last(c), pass_view_last(c)) == PASS_VIEW_DONE &&
         reads(g, "minified", c, want);
}

/* Tries one chain; false when it fails. Chains that have no views, or whose steps cannot be decided for every
 * size, are left out. */
static bool try_chain(const model_chain *c, tally *t) {
  static model_array want;
  char text[MODEL_TEXT];
  ir_error error = {0};
  ir_graph g;
  int64_t n = 0;
  for (int i = 0; i < c->base.rank; i++)
    if (c->varies >> i & 1) n = c->base.size[i];
  for (int i = 0; i < c->count; i++)
    if (c->steps[i].kind == MODEL_GATHER ||
        (c->steps[i].kind == MODEL_PAD && c->steps[i].mode != MODEL_CONSTANT))
      return true;
  if (!model_run(c, &want) || ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return true;
  model_print(c, text);
  pass_view_chain views = {0};
  ir_ref node = fe_chain_parse(&g, "<chain>", text, strlen(text));
  bool holds = true;
  if (node && pass_view_chain_of(&g, node, &views)) {
    t->chains++;
    holds = views_hold(&g, &views, c, &want, n, t);
  } else if (node) {
    holds = view_check_failed("views: %s", error.text);
  }
  if (views.mem) pass_view_chain_free(&views);
  ir_graph_free(&g);
  return holds;
}

static int report(model_chain c, uint64_t seed, uint64_t number) {
  tally none = {0};
  char text[MODEL_TEXT];
  for (bool smaller = true; smaller;) {
    model_chain next;
    smaller = false;
    for (int i = 0; !smaller && model_smaller(&c, i, &next); i++) {
      if (memcmp(&c, &next, sizeof next) == 0 || try_chain(&next, &none)) continue;
      c = next;
      smaller = true;
    }
  }
  try_chain(&c, &none);
  model_print(&c, text);
  printf("%s\n%s\nagain: prop_views --seed %" PRIu64 " --count %" PRIu64 "\n", text, view_check_why, seed,
         number + 1);
  return 1;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 1000);
  uint64_t seed = given.seed, count = (uint64_t)given.count;
  tally t = {0};
  for (uint64_t k = 0; k < count; k++) {
    uint64_t state = seed + k * 0x9e3779b97f4a7c15u;
    model_chain c;
    model_random(&state, &c);
    if (!try_chain(&c, &t)) return report(c, seed, k);
  }
  printf("prop_views: %" PRIu64 " cases, 0 failed, seed %" PRIu64 "; %" PRIu64
         " with a size that varies, %" PRIu64 " of several views, %" PRIu64 " inverses\n",
         t.chains, seed, t.varied, t.several, t.inverses);
  return 0;
}
