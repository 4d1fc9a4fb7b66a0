#include "test/lib/view_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frontend/views/view.h"
#include "passes/index/index.h"
#include "test/lib/expression.h"

char view_check_why[2048];

bool view_check_failed(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(view_check_why, sizeof view_check_why, format, args);
  va_end(args);
  return false;
}

static void next_index(const model_shape *s, int64_t *at) {
  for (int i = s->rank; i-- > 0;) {
    if (++at[i] < s->size[i]) return;
    at[i] = 0;
  }
}

/* checks the printed expressions at every index */
static bool expressions_hold(const char *form, const char *index, const char *valid, const model_array *want,
                             int64_t size, int64_t n) {
  static expression i, v;
  if (!expression_read(&i, index))
    return view_check_failed("%s: index is no expression: %.1500s", form, index);
  if (!expression_read(&v, valid))
    return view_check_failed("%s: validity is no expression: %.1500s", form, valid);
  int64_t at[MODEL_RANK] = {0}, place = -1, inside;
  for (int k = 0; k < want->count; k++, next_index(&want->shape, at)) {
    if (!expression_eval(&v, at, n, &inside))
      return view_check_failed("%s: validity %.900s cannot be evaluated at element %d", form, valid, k);
    if (inside != (want->at[k] >= 0))
      return view_check_failed("%s: element %d should be %s\n  index %.900s\n  valid %.900s", form, k,
                               want->at[k] >= 0 ? "valid" : "padding", index, valid);
    if (!inside) continue;
    if (!expression_eval(&i, at, n, &place))
      return view_check_failed("%s: index %.900s cannot be evaluated at element %d", form, index, k);
    if (place != want->at[k] || place < 0 || place >= size)
      return view_check_failed("%s: element %d is read at %" PRId64
                               ", should be at %d\n  index %.900s\n  valid %.900s",
                               form, k, place, want->at[k], index, valid);
  }
  return true;
}

bool view_check_access(ir_graph *g, const char *form, ir_ref index, ir_ref valid, const model_array *want,
                       int64_t size, int64_t n) {
  ir_text i, v;
  ir_text_init(&i, &ir_mem_libc);
  ir_text_init(&v, &ir_mem_libc);
  ir_print_expr(g, index, &i);
  ir_print_expr(g, valid, &v);
  bool holds = expressions_hold(form, ir_text_get(&i), ir_text_get(&v), want, size, n);
  ir_text_free(&i);
  ir_text_free(&v);
  return holds;
}

/* What simplifying once more changes an expression into; 0: nothing changes. *what says which expression,
 * *from is its old node. */
static ir_ref changed(ir_graph *g, ir_ref index, ir_ref valid, bool under, ir_ref *from, const char **what) {
  ir_ref to;
  *from = index;
  if ((to = pass_simplify(g, index)) != index) return *what = "the index", to;
  if (under && (to = pass_simplify_given(g, index, valid)) != index)
    return *what = "the index under its validity", to;
  *from = valid;
  if ((to = pass_simplify(g, valid)) != valid) return *what = "the validity", to;
  return 0;
}

bool view_check_canonical(ir_graph *g, ir_ref index, ir_ref valid, bool under) {
  uint32_t before = g->count;
  const char *what = "";
  ir_ref from, to = changed(g, index, valid, under, &from, &what);
  if (!to && g->count == before) return true;
  ir_text was, is;
  ir_text_init(&was, &ir_mem_libc);
  ir_text_init(&is, &ir_mem_libc);
  ir_print_expr(g, to ? from : index, &was);
  ir_print_expr(g, to ? to : valid, &is);
  if (to)
    view_check_failed("%s changes when simplified again: %.900s\n  becomes %.900s", what, ir_text_get(&was),
                      ir_text_get(&is));
  else
    view_check_failed("simplifying again made %u nodes: %.900s\n  valid %.900s", g->count - before,
                      ir_text_get(&was), ir_text_get(&is));
  ir_text_free(&was);
  ir_text_free(&is);
  return false;
}

/* the element that a chain of views reads at an index; false: padding */
static bool views_at(const ir_graph *g, const pass_view_chain *chain, int64_t *at, int64_t *place) {
  for (size_t c = chain->count; c-- > 0;) {
    pass_view_numbers of, before, *v = &of;
    if (!pass_view_numbers_of(g, &chain->views[c], v)) return false;
    *place = v->offset;
    for (uint32_t i = 0; i < v->rank; i++) {
      if (at[i] < v->begin[i] || at[i] >= v->end[i]) return false;
      *place += at[i] * v->stride[i];
    }
    if (c == 0) return true;
    int64_t rest = *place;
    if (!pass_view_numbers_of(g, &chain->views[c - 1], &before)) return false;
    for (uint32_t i = before.rank; i-- > 0; rest /= before.shape[i]) at[i] = rest % before.shape[i];
  }
  return true;
}

bool view_check_views(ir_graph *g, ir_ref node, const model_array *want) {
  pass_view_chain chain;
  bool holds = pass_view_chain_of(g, node, &chain);
  if (!holds) view_check_failed("views: %s", g->error->text);
  int64_t at[MODEL_RANK] = {0}, place = 0;
  for (int k = 0; k < want->count && holds; k++, next_index(&want->shape, at)) {
    int64_t copy[IR_MAX_RANK];
    memcpy(copy, at, sizeof at);
    int64_t found = views_at(g, &chain, copy, &place) ? place : -1;
    if (found != want->at[k])
      holds = view_check_failed("views: element %d is read at %" PRId64 ", should be at %d", k, found,
                                want->at[k]);
  }
  pass_view_chain_free(&chain);
  return holds;
}

bool view_check_shape(ir_graph *g, ir_ref node, const model_shape *want, int64_t n) {
  static expression e;
  int64_t size = -1;
  if (ir_rank(g, node) != (uint32_t)want->rank)
    return view_check_failed("shape: rank %u, should be %d", ir_rank(g, node), want->rank);
  for (int i = 0; i < want->rank; i++) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_expr(g, ir_dim(g, node, (uint32_t)i), &text);
    bool holds = expression_read(&e, ir_text_get(&text)) && expression_eval(&e, NULL, n, &size) &&
                 size == want->size[i];
    if (!holds)
      view_check_failed("shape: axis %d has size %.500s, should be %d", i, ir_text_get(&text), want->size[i]);
    ir_text_free(&text);
    if (!holds) return false;
  }
  return true;
}
