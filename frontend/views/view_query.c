/* Queries about vf_view. */
#include "frontend/views/handle.h"

/* One query. Its error goes to the caller; the graph notes none. */
typedef struct query {
  ir_graph *g;
  vf_graph *graph;
  ir_error *noted, error;
  pass_view_chain chain;
  unsigned failures; /* of allocations, before the query */
} query;

static bool begin_query(query *q, vf_view v) {
  *q = (query){.graph = v.graph};
  if (!v.graph || v.epoch != v.graph->epoch || v.id == 0 || v.id >= v.graph->ir.count) {
    ir_fail(&q->error, IR_ERR_INVALID, "view: the error value of an earlier failure");
    return false;
  }
  q->g = &v.graph->ir;
  q->failures = fe_failures(v.graph->context);
  q->noted = q->g->error;
  q->g->error = &q->error;
  return fe_view_open(q->g, v.id, &q->chain);
}

/* good: the query had an answer. */
static vf_status end_query(query *q, bool good, vf_error *error) {
  if (q->g) {
    pass_view_chain_free(&q->chain);
    q->g->error = q->noted;
    if (!good && !q->error.status) ir_fail(&q->error, IR_ERR_MEMORY, "view: out of memory");
    fe_report_as_memory(q->graph->context, q->failures, &q->error);
  }
  return fe_report(error, &q->error);
}

bool vf_view_ok(vf_view v) { return vf_ok(fe_view_value(v)); }

int vf_view_count(vf_view v) { return vf_view_ok(v) ? (int)ir_get(&v.graph->ir, v.id)->nsrc : -1; }

int vf_view_rank(vf_view v) {
  query q;
  int rank = begin_query(&q, v) ? (int)pass_view_last(&q.chain)->rank : -1;
  end_query(&q, true, NULL);
  return rank;
}

int vf_view_get(vf_view v, int number, int64_t *shape, int64_t *strides, int64_t *offset, int64_t *mask) {
  query q;
  pass_view_numbers n;
  bool known = begin_query(&q, v) && number >= 0 && (size_t)number < q.chain.count &&
               pass_view_numbers_of(q.g, &q.chain.views[number], &n);
  for (uint32_t i = 0; known && i < n.rank; i++) {
    if (shape) shape[i] = n.shape[i];
    if (strides) strides[i] = n.stride[i];
    if (mask) mask[2 * i] = n.begin[i], mask[2 * i + 1] = n.end[i];
  }
  if (known && offset) *offset = n.offset;
  end_query(&q, true, NULL);
  return known ? (int)n.rank : -1;
}

bool vf_view_contiguous(vf_view v) {
  query q;
  bool is = begin_query(&q, v) && q.chain.count == 1 && pass_view_contiguous(q.g, q.chain.views);
  end_query(&q, true, NULL);
  return is;
}

bool vf_view_consecutive(vf_view v) {
  query q;
  bool is = begin_query(&q, v) && q.chain.count == 1 && pass_view_consecutive(q.g, q.chain.views);
  end_query(&q, true, NULL);
  return is;
}

int64_t vf_view_size(vf_view v) {
  query q;
  int64_t size = -1;
  if (begin_query(&q, v)) {
    ir_ref product = pass_view_size(q.g, pass_view_last(&q.chain));
    ir_bounds b = product ? ir_bounds_of(q.g, product) : (ir_bounds){0};
    if (product && b.hi != INT64_MAX) size = b.hi;
  }
  end_query(&q, true, NULL);
  return size;
}

int64_t vf_view_real_size(vf_view v, vf_error *error) {
  query q;
  int64_t size = -1;
  bool known = begin_query(&q, v) && pass_view_real_size(q.g, &q.chain, &size);
  return end_query(&q, known, error) == VF_OK ? size : -1;
}

vf_status vf_view_real_strides(vf_view v, bool ignore_valid, int64_t *strides, bool *known, vf_error *error) {
  query q;
  ir_ref found[IR_MAX_RANK];
  bool good = begin_query(&q, v) && pass_view_real_strides(q.g, &q.chain, ignore_valid, found);
  for (uint32_t i = 0; good && i < pass_view_last(&q.chain)->rank; i++) {
    int64_t stride = 0;
    bool is = found[i] && ir_is_const(q.g, found[i], &stride);
    if (strides) strides[i] = stride;
    if (known) known[i] = is;
  }
  return end_query(&q, good, error);
}

uint32_t vf_view_unit_axes(vf_view v, bool ignore_valid, vf_error *error) {
  query q;
  uint32_t axes = 0;
  bool good = begin_query(&q, v) && pass_view_unit_axes(q.g, &q.chain, ignore_valid, &axes);
  return end_query(&q, good, error) == VF_OK ? axes : 0;
}

uint32_t vf_view_masked_axes(vf_view v, vf_error *error) {
  query q;
  uint32_t axes = 0;
  bool good = begin_query(&q, v) && pass_view_masked_axes(q.g, &q.chain, &axes);
  return end_query(&q, good, error) == VF_OK ? axes : 0;
}

int vf_view_variables(vf_view v, int room, vf_value *variables) {
  query q;
  ir_ref *list = NULL;
  size_t count = 0;
  bool listed = begin_query(&q, v) && pass_view_variables(q.g, &q.chain, &list, &count);
  for (size_t i = 0; listed && i < count && (int)i < room; i++)
    variables[i] = (vf_value){v.graph, list[i], v.epoch};
  if (listed) ir_free(q.g->mem, list, count * sizeof *list);
  end_query(&q, true, NULL);
  return listed ? (int)count : -1;
}

bool vf_view_equal(vf_view a, vf_view b) {
  return vf_view_ok(a) && a.graph == b.graph && a.id == b.id && a.epoch == b.epoch;
}

int vf_view_compare(vf_view a, vf_view b) {
  query x, y;
  int order = 0;
  bool open = begin_query(&x, a);
  if (begin_query(&y, b) && open && x.g == y.g) {
    for (size_t i = 0; i < x.chain.count && i < y.chain.count && !order; i++)
      order = pass_view_compare(x.g, &x.chain.views[i], &y.chain.views[i]);
    if (!order) order = (x.chain.count > y.chain.count) - (x.chain.count < y.chain.count);
  }
  end_query(&y, true, NULL);
  end_query(&x, true, NULL);
  return order;
}

/* text */

static char *text_answer(query *q, ir_text *text, bool good, vf_error *error) {
  vf_context *context = q->graph ? q->graph->context : NULL;
  char *out = NULL;
  if (good && context) out = fe_text_out(context, text, &q->error);
  else ir_text_free(text);
  end_query(q, good, error);
  return out;
}

char *vf_view_text(vf_view v, vf_error *error) {
  query q;
  ir_text text;
  bool good = begin_query(&q, v);
  ir_text_init(&text, good ? q.g->mem : &ir_mem_libc);
  for (size_t i = 0; good && i < q.chain.count; i++) {
    if (i) ir_text_str(&text, "\n");
    pass_view_print(q.g, &q.chain.views[i], &text);
  }
  return text_answer(&q, &text, good, error);
}

/* Read the caller's index: an expression of sizes for each axis. */
static bool read_point(query *q, vf_view v, int count, const vf_value *at, ir_ref *out) {
  const pass_view *last = pass_view_last(&q->chain);
  if (count != (int)last->rank) {
    ir_fail(&q->error, IR_ERR_INVALID,
            "view: the number of indices is %d, that of axes %u; takes one for each axis", count, last->rank);
    return false;
  }
  for (int i = 0; i < count; i++) {
    bool own = at[i].graph == v.graph && at[i].epoch == v.epoch && at[i].id && at[i].id < q->g->count;
    if (own && (out[i] = fe_as_size(q->g, at[i].id))) continue;
    ir_fail(
        &q->error, IR_ERR_INVALID,
        "view: index %d is no size of the view's graph; takes variables, integers and expressions of them",
        i);
    return false;
  }
  return true;
}

char *vf_view_index(vf_view v, int count, const vf_value *at, vf_error *error) {
  query q;
  ir_text text;
  ir_ref index, valid, here[IR_MAX_RANK];
  bool good = begin_query(&q, v) && (!at || read_point(&q, v, count, at, here)) &&
              pass_view_chain_lower(q.g, &q.chain, at ? here : NULL, &index, &valid);
  ir_text_init(&text, q.g ? q.g->mem : &ir_mem_libc);
  if (good) {
    ir_print_expr(q.g, index, &text);
    if (!ir_is_true(q.g, valid)) {
      ir_text_str(&text, "\nvalid: ");
      ir_print_expr(q.g, valid, &text);
    }
  }
  return text_answer(&q, &text, good, error);
}
