/* Single views: canonical form, comparison, text. */
#include "view.h"

#include <string.h>

#include "impl.h"
#include "passes/ops/check.h"

bool pass_view_empty(const ir_graph *g, const pass_view *v) {
  for (uint32_t i = 0; i < v->rank; i++)
    if (view_is(g, v->shape[i], 0)) return true;
  return false;
}

bool pass_view_all_masked(const ir_graph *g, const pass_view *v) {
  return v->masked && v->rank > 0 && view_is(g, v->end[0], 0);
}

static void plain_strides(ir_graph *g, uint32_t rank, const ir_ref *shape, ir_ref *out) {
  ir_ref step = ir_index(g, 1);
  for (uint32_t i = rank; i-- > 0;) {
    out[i] = view_is(g, shape[i], 1) ? ir_index(g, 0) : step;
    step = pass_mul(g, step, shape[i]);
  }
}

void view_drop_mask(ir_graph *g, pass_view *v) {
  v->masked = false;
  for (uint32_t i = 0; i < v->rank; i++) v->begin[i] = ir_index(g, 0), v->end[i] = v->shape[i];
}

static void clear_strides(ir_graph *g, pass_view *v) {
  v->offset = ir_index(g, 0);
  for (uint32_t i = 0; i < v->rank; i++) v->stride[i] = v->offset;
}

void view_mask_everything(ir_graph *g, pass_view *v) {
  clear_strides(g, v);
  v->masked = true;
  for (uint32_t i = 0; i < v->rank; i++) v->begin[i] = v->end[i] = v->offset;
}

void view_move_offset(ir_graph *g, pass_view *v, ir_ref index, ir_ref stride) {
  v->offset = pass_add(g, v->offset, pass_mul(g, index, stride));
}

/* Check that no field is 0 (memory was short), and that all stay within 64 bits for all values of
 * variables. */
static pass_view_status check_fields(ir_graph *g, const char *who, const pass_view *v) {
  const ir_ref *const fields[] = {v->shape, v->stride, v->begin, v->end};
  bool made = v->offset != 0, small = true;
  for (uint32_t k = 0; k < 4; k++)
    for (uint32_t i = 0; i < v->rank; i++) made = made && fields[k][i];
  if (!made) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", who);
    return PASS_VIEW_FAILED;
  }
  for (uint32_t k = 0; k <= 4; k++)
    for (uint32_t i = 0; i < (k < 4 ? v->rank : 1); i++) {
      ir_bounds b = ir_bounds_of(g, k < 4 ? fields[k][i] : v->offset);
      small = small && b.lo != INT64_MIN && b.hi != INT64_MAX;
    }
  if (small) return PASS_VIEW_DONE;
  ir_fail(g->error, IR_ERR_UNSUPPORTED, "%s: a stride or an offset of its view exceeds 64 bits", who);
  return PASS_VIEW_FAILED;
}

pass_view_status view_canonical(ir_graph *g, const char *who, pass_view *v) {
  if (pass_view_empty(g, v)) {
    clear_strides(g, v);
    view_drop_mask(g, v);
    return check_fields(g, who, v);
  }
  v->masked = false;
  bool nothing = false;
  for (uint32_t i = 0; i < v->rank && v->begin[i] && v->end[i]; i++) {
    v->masked |= !view_is(g, v->begin[i], 0) || !view_same(g, v->end[i], v->shape[i]);
    nothing |= view_at_most(g, v->end[i], v->begin[i]);
    if (view_is(g, v->shape[i], 1)) v->stride[i] = ir_index(g, 0);
  }
  if (nothing) view_mask_everything(g, v);
  else if (!v->masked) view_drop_mask(g, v);
  for (uint32_t i = 0; i < v->rank && !nothing; i++) {
    if (!view_is(g, pass_sub(g, v->end[i], v->begin[i]), 1)) continue;
    view_move_offset(g, v, v->begin[i], v->stride[i]);
    v->stride[i] = ir_index(g, 0);
  }
  return check_fields(g, who, v);
}

pass_view_status view_plain(ir_graph *g, const char *who, uint32_t rank, const ir_ref *shape,
                            pass_view *out) {
  pass_view v = {.rank = rank, .offset = ir_index(g, 0)};
  view_copy(v.shape, shape, rank);
  plain_strides(g, rank, shape, v.stride);
  view_drop_mask(g, &v);
  *out = v;
  return view_canonical(g, who, out);
}

pass_view_status pass_view_create(ir_graph *g, uint32_t rank, const ir_ref *shape, const ir_ref *strides,
                                  ir_ref offset, const ir_ref *begin, const ir_ref *end, pass_view *out) {
  pass_view v = {.rank = rank, .offset = offset ? offset : ir_index(g, 0)};
  ir_ref zero = ir_index(g, 0);
  if (rank > IR_MAX_RANK)
    return view_refuse(g, "view: rank %u; views have at most %d axes", rank, IR_MAX_RANK);
  for (uint32_t i = 0; i < rank; i++)
    if (!view_at_most(g, zero, shape[i]))
      return view_refuse(g, "view: negative dimension %s at axis %u of shape %s; sizes are >= 0%s",
                         OP_EXPR(shape[i]), i, OP_LIST(shape, rank), VIEW_FACT(IR_OP_GE, shape[i], zero));
  view_copy(v.shape, shape, rank);
  if (strides) view_copy(v.stride, strides, rank);
  else plain_strides(g, rank, shape, v.stride);
  view_drop_mask(g, &v);
  if (begin) view_copy(v.begin, begin, rank);
  if (end) view_copy(v.end, end, rank);
  for (uint32_t i = 0; i < rank; i++)
    if (!view_at_most(g, zero, v.begin[i]) || !view_at_most(g, v.end[i], v.shape[i]))
      return view_refuse(
          g,
          "view: mask (%s,%s) at axis %u of shape %s; a mask is begin, end (half-open) with 0 <= "
          "begin and end <= %s%s%s",
          OP_EXPR(v.begin[i]), OP_EXPR(v.end[i]), i, OP_LIST(shape, rank), OP_EXPR(shape[i]),
          VIEW_FACT(IR_OP_GE, v.begin[i], zero), VIEW_FACT(IR_OP_LE, v.end[i], shape[i]));
  *out = v;
  return view_canonical(g, "view", out);
}

bool pass_view_consecutive(ir_graph *g, const pass_view *v) {
  ir_ref plain[IR_MAX_RANK];
  if (pass_view_empty(g, v)) return true;
  plain_strides(g, v->rank, v->shape, plain);
  for (uint32_t i = 0; i < v->rank; i++)
    if (!plain[i] || !view_same(g, plain[i], v->stride[i])) return false;
  return !v->masked;
}

bool pass_view_contiguous(ir_graph *g, const pass_view *v) {
  return view_is(g, v->offset, 0) && pass_view_consecutive(g, v);
}

bool pass_view_equal(const pass_view *a, const pass_view *b) {
  size_t bytes = a->rank * sizeof *a->shape;
  return a->rank == b->rank && a->masked == b->masked && a->offset == b->offset &&
         !memcmp(a->shape, b->shape, bytes) && !memcmp(a->stride, b->stride, bytes) &&
         !memcmp(a->begin, b->begin, bytes) && !memcmp(a->end, b->end, bytes);
}

ir_ref pass_view_size(ir_graph *g, const pass_view *v) {
  ir_ref size = ir_index(g, 1);
  for (uint32_t i = 0; i < v->rank; i++) size = pass_mul(g, size, v->shape[i]);
  return size;
}

/* Order lists of fields: numbers by value, before expressions, which are ordered by reference. */
static int compare_fields(const ir_graph *g, const ir_ref *a, uint32_t a_count, const ir_ref *b,
                          uint32_t b_count) {
  for (uint32_t i = 0; i < a_count && i < b_count; i++) {
    int64_t x = a[i], y = b[i];
    bool x_known = ir_is_const(g, a[i], &x), y_known = ir_is_const(g, b[i], &y);
    if (a[i] == b[i]) continue;
    if (x_known != y_known) return x_known ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a_count < b_count ? -1 : a_count > b_count;
}

int pass_view_compare(const ir_graph *g, const pass_view *a, const pass_view *b) {
  ir_ref masks[2][2 * IR_MAX_RANK];
  const pass_view *views[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < views[k]->rank; i++) {
      masks[k][2 * i] = views[k]->begin[i];
      masks[k][2 * i + 1] = views[k]->end[i];
    }
  int order = compare_fields(g, a->shape, a->rank, b->shape, b->rank);
  if (!order) order = compare_fields(g, a->stride, a->rank, b->stride, b->rank);
  if (!order) order = compare_fields(g, &a->offset, 1, &b->offset, 1);
  return order ? order : compare_fields(g, masks[0], 2 * a->rank, masks[1], 2 * b->rank);
}

static void print_tuple(const ir_graph *g, const ir_ref *items, uint32_t count, ir_text *out) {
  ir_text_str(out, "(");
  for (uint32_t i = 0; i < count; i++) {
    ir_text_str(out, i ? "," : "");
    ir_print_expr(g, items[i], out);
  }
  ir_text_str(out, count == 1 ? ",)" : ")");
}

void pass_view_print(const ir_graph *g, const pass_view *v, ir_text *out) {
  ir_text_str(out, "V(");
  print_tuple(g, v->shape, v->rank, out);
  ir_text_str(out, ";");
  print_tuple(g, v->stride, v->rank, out);
  ir_text_str(out, ";");
  ir_print_expr(g, v->offset, out);
  if (v->masked) {
    ir_text_str(out, ";(");
    for (uint32_t i = 0; i < v->rank; i++) {
      ir_text_str(out, i ? "," : "");
      print_tuple(g, (ir_ref[]){v->begin[i], v->end[i]}, 2, out);
    }
    ir_text_str(out, v->rank == 1 ? ",)" : ")");
  }
  ir_text_str(out, ")");
}

/* numbers */

bool pass_view_numbers_of(const ir_graph *g, const pass_view *v, pass_view_numbers *out) {
  bool known = ir_is_const(g, v->offset, &out->offset);
  out->rank = v->rank;
  for (uint32_t i = 0; i < v->rank && known; i++)
    known = ir_is_const(g, v->shape[i], &out->shape[i]) && ir_is_const(g, v->stride[i], &out->stride[i]) &&
            ir_is_const(g, v->begin[i], &out->begin[i]) && ir_is_const(g, v->end[i], &out->end[i]);
  return known;
}

pass_view_status view_of_numbers(ir_graph *g, const pass_view_numbers *v, pass_view *out) {
  *out = (pass_view){.rank = v->rank, .offset = ir_index(g, v->offset)};
  for (uint32_t i = 0; i < v->rank; i++) {
    out->shape[i] = ir_index(g, v->shape[i]);
    out->stride[i] = ir_index(g, v->stride[i]);
    out->begin[i] = ir_index(g, v->begin[i]);
    out->end[i] = ir_index(g, v->end[i]);
  }
  return view_canonical(g, "view", out);
}
