/* Index descriptors made of numbers, and read back. */
#include "descriptor.h"

#include "impl.h"

/* building */

/* A scalar as i64. */
static ir_ref scalar(ir_graph *g, const char *who, const char *what, ir_ref x) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  if (ir_rank(g, x) == 0 && ir_is_data_int(ir_dtype_of(g, x)) && ir_dtype_of(g, x) != IR_U64)
    return op_cast(g, x, IR_I64);
  return op_refuse(g, "%s: the %s has shape %s; takes a scalar of an integer dtype that i64 holds", who, what,
                   OP_TYPE(x));
}

/* The array of the scalars; of constants alone a constant. */
static ir_ref array_of(ir_graph *g, const char *who, const ir_ref *numbers, size_t n) {
  enum { MOST = 7 /* numbers of an interval, which has most */ };
  int64_t known[MOST];
  size_t count = 0;
  ir_ref size = ir_index(g, (int64_t)n);
  for (size_t i = 0; i < n; i++)
    if (!numbers[i]) return op_compose_end(g, who, 0);
  while (count < n && ir_is_const(g, numbers[count], &known[count])) count++;
  ir_ref made =
      count == n ? op_data(g, IR_I64, &size, 1, known, n * sizeof *known) : op_stack(g, numbers, n, 0);
  return op_compose_end(g, who, made);
}

static ir_ref number(ir_graph *g, int64_t value) { return ir_int(g, IR_I64, value); }

ir_ref op_index_point(ir_graph *g, ir_ref position) {
  ir_ref at = scalar(g, "index_point", "position", position);
  ir_ref all[] = {number(g, OP_INDEX_POINT), number(g, 1), number(g, 1), at, number(g, 1)};
  return array_of(g, "index_point", all, 5);
}

ir_ref op_index_interval(ir_graph *g, ir_ref start, ir_ref end, ir_ref stride, ir_ref inclusive) {
  const char *who = "index_interval";
  if (inclusive && ir_dtype_of(g, inclusive) == IR_BOOL) inclusive = op_cast(g, inclusive, IR_I64);
  ir_ref all[] = {number(g, OP_INDEX_INTERVAL),
                  number(g, 2),
                  number(g, 1),
                  scalar(g, who, "start", start),
                  scalar(g, who, "end", end),
                  scalar(g, who, "stride", stride),
                  scalar(g, who, "inclusive flag", inclusive)};
  return array_of(g, who, all, 7);
}

ir_ref op_index_window(ir_graph *g, ir_ref start, int64_t length, int64_t stride) {
  const char *who = "index_window";
  int64_t span = 0;
  if (length < 1 || stride == 0 || !ir_mul_ok(length - 1, stride, &span))
    return op_refuse(g,
                     "index_window: %lld elements with stride %lld; takes 1 element or more, and a stride "
                     "other than 0",
                     (long long)length, (long long)stride);
  ir_ref from = scalar(g, who, "start", start), to = from ? op_add(g, from, number(g, span)) : 0;
  int64_t first, last;
  if (from && ir_is_const(g, from, &first) && ir_add_ok(first, span, &last)) to = number(g, last);
  ir_ref made = to ? op_index_interval(g, from, to, number(g, stride), number(g, 1)) : 0;
  return op_compose_end(g, who, made);
}

ir_ref op_index_all(ir_graph *g) {
  ir_ref all[] = {number(g, OP_INDEX_ALL), number(g, 0), number(g, 1), number(g, 1)};
  return array_of(g, "index_all", all, 4);
}

ir_ref op_index_new_axis(ir_graph *g) {
  ir_ref all[] = {number(g, OP_INDEX_NEW_AXIS), number(g, 1), number(g, 1), number(g, 0), number(g, 1)};
  return array_of(g, "index_new_axis", all, 5);
}

/* reading */

/* The scalar as a constant more than another one. */
static void split_constant(ir_graph *g, op_index_number *out) {
  enum { MOST_SUMS = 16 /* written one in the other; of more, the rest is the base */ };
  out->base = out->node;
  for (int i = 0; i < MOST_SUMS; i++) {
    const ir_node *n = ir_get(g, out->base);
    int64_t value, sum;
    bool adds = n->op == IR_OP_ADD && n->nsrc == 2, right;
    if (!adds && n->op != IR_OP_SUB) return;
    right = ir_is_const(g, n->src[1], &value);
    if (!right && !(adds && ir_is_const(g, n->src[0], &value))) return;
    if (!(adds ? ir_add_ok(out->offset, value, &sum)
               : value != INT64_MIN && ir_add_ok(out->offset, -value, &sum)))
      return;
    out->offset = sum;
    out->base = n->src[right ? 0 : 1];
  }
}

/* Element `at` of an array of one axis, a scalar; 0: it is none of the values that the array is made of. */
static ir_ref part_of(ir_graph *g, ir_ref array, uint32_t at) {
  const ir_node *n = ir_get(g, array);
  if (n->op == IR_OP_STACK) return n->src[at];
  if (n->op == IR_OP_RESHAPE && ir_rank(g, n->src[0]) == 0) return n->src[0];
  for (uint32_t i = 0; n->op == IR_OP_CONCAT && i < n->nsrc; i++) {
    int64_t size;
    if (!ir_is_const(g, ir_dim(g, n->src[i], 0), &size)) return 0;
    if (at < size) return part_of(g, n->src[i], at);
    at -= (uint32_t)size;
  }
  return 0;
}

bool op_index_element(ir_graph *g, ir_ref descriptor, uint32_t at, op_index_number *out) {
  *out = (op_index_number){0};
  const ir_node *n = ir_get(g, descriptor);
  if (n->op == IR_OP_DATA) {
    const char *elements = ir_name_text(g, n->arg);
    *out =
        (op_index_number){.known = true, .value = ir_value_load(elements + at * sizeof(int64_t), IR_I64).i};
    out->node = number(g, out->value);
    return out->node != 0;
  }
  out->node = part_of(g, descriptor, at);
  if (!out->node) out->node = op_point(g, descriptor, ir_index(g, at), 0);
  if (!out->node) return false;
  out->known = ir_is_const(g, out->node, &out->value);
  if (!out->known) split_constant(g, out);
  return true;
}
