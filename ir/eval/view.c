/* Views, one coordinate at a time: for each element of the result, the operand and the coordinate that it
 * comes from. */
#include "impl.h"

#include "ir/arith.h"

#include <inttypes.h>
#include <string.h>

/* A view with its attributes evaluated. */
typedef struct view {
  ir_op op;
  uint32_t operands;
  int64_t axis, mode;
  int64_t attr[2 * IR_MAX_RANK]; /* in the order of the node's sources */
  uint32_t attr_count;
  bool flipped[IR_MAX_RANK];
  const ir_slot *first;
} view;

static ir_status bad(ir_eval_run *run, const view *v, const char *what, int64_t value) {
  char shape[IR_SHAPE_TEXT];
  return ir_fail(run->error, IR_ERR_INVALID, "%s: %s %" PRId64 " does not fit an operand of shape %s",
                 ir_ops[v->op].text, what, value, ir_eval_shape_text(v->first->shape, v->first->rank, shape));
}

/* Shapes of the result */

static ir_status permute_shape(ir_eval_run *run, view *v, ir_slot *out) {
  bool seen[IR_MAX_RANK] = {false};
  for (uint32_t k = 0; k < v->attr_count; k++) {
    int64_t from = v->attr[k];
    if (v->attr_count != out->rank || from < 0 || from >= out->rank || seen[from])
      return bad(run, v, "axis", from);
    seen[from] = true;
    out->shape[k] = v->first->shape[from];
  }
  return v->attr_count == out->rank ? IR_OK : bad(run, v, "the number of axes", v->attr_count);
}

static ir_status set_result_shape(ir_eval_run *run, view *v, ir_slot *out) {
  int64_t count, had = v->first->count;
  if (v->attr_count > IR_MAX_RANK) return bad(run, v, "the number of axes", v->attr_count);
  out->rank = v->attr_count;
  memcpy(out->shape, v->attr, v->attr_count * sizeof *v->attr);
  for (uint32_t k = 0; k < out->rank; k++)
    if (out->shape[k] < 0) return bad(run, v, "the size", out->shape[k]);
  if (v->op == IR_OP_RESHAPE)
    return ir_eval_count(out->shape, out->rank, 1, &count) == IR_OK && count == had
               ? IR_OK
               : bad(run, v, "the number of elements", count);
  if (out->rank != v->first->rank) return bad(run, v, "the rank", out->rank);
  for (uint32_t k = 0; k < out->rank; k++)
    if (v->first->shape[k] != out->shape[k] && v->first->shape[k] != 1)
      return bad(run, v, "the size", out->shape[k]);
  return IR_OK;
}

static ir_status insert_or_drop(ir_eval_run *run, view *v, ir_slot *out) {
  bool insert = v->op == IR_OP_UNSQUEEZE || v->op == IR_OP_STACK;
  uint32_t rank = v->first->rank;
  if (v->axis < 0 || v->axis >= (int64_t)rank + insert || (insert && rank == IR_MAX_RANK))
    return bad(run, v, "axis", v->axis);
  if (v->op == IR_OP_SQUEEZE && v->first->shape[v->axis] != 1) return bad(run, v, "axis", v->axis);
  out->rank = insert ? rank + 1 : rank - 1;
  for (uint32_t k = 0, from = 0; k < out->rank; k++) {
    if (!insert && k == v->axis) from++;
    out->shape[k] = insert && k == v->axis ? v->operands : v->first->shape[from++];
  }
  return IR_OK;
}

static ir_status pairs_shape(ir_eval_run *run, view *v, ir_slot *out) {
  if (v->attr_count != 2 * out->rank) return bad(run, v, "the number of bounds", v->attr_count);
  for (uint32_t k = 0; k < out->rank; k++) {
    int64_t lo = v->attr[2 * k], hi = v->attr[2 * k + 1], size = v->first->shape[k];
    if (v->op == IR_OP_SHRINK) {
      if (lo < 0 || lo > hi || hi > size)
        return bad(run, v, lo < 0 || lo > hi ? "the bound" : "the end", lo < 0 || lo > hi ? lo : hi);
      out->shape[k] = hi - lo;
      continue;
    }
    if (lo < 0 || hi < 0) return bad(run, v, "the padding", lo < 0 ? lo : hi);
    if (size == 0 && v->mode != IR_PAD_CONSTANT && (lo || hi))
      return ir_fail(run->error, IR_ERR_INVALID,
                     "pad: axis %u has size 0, which mode=%s cannot extend; use mode=constant", k,
                     ir_pad_modes[v->mode & 3]);
    if (!ir_add_ok(lo, hi, &out->shape[k]) || !ir_add_ok(out->shape[k], size, &out->shape[k]))
      return bad(run, v, "the padding", hi);
  }
  return IR_OK;
}

static ir_status concat_shape(ir_eval_run *run, view *v, ir_ref ref, ir_slot *out) {
  if (v->axis < 0 || v->axis >= out->rank) return bad(run, v, "axis", v->axis);
  for (uint32_t i = 1; i < v->operands; i++) {
    const ir_slot *other = ir_eval_operand(run, ref, i);
    for (uint32_t k = 0; k < out->rank; k++)
      if (other->rank != out->rank || (k != v->axis && other->shape[k] != out->shape[k]))
        return bad(run, v, "operand", i);
    if (!ir_add_ok(out->shape[v->axis], other->shape[v->axis], &out->shape[v->axis]))
      return bad(run, v, "operand", i);
  }
  return IR_OK;
}

static ir_status stack_shape(ir_eval_run *run, view *v, ir_ref ref, ir_slot *out) {
  for (uint32_t i = 1; i < v->operands; i++) {
    const ir_slot *other = ir_eval_operand(run, ref, i);
    if (other->rank != v->first->rank ||
        memcmp(other->shape, v->first->shape, other->rank * sizeof *other->shape) != 0)
      return bad(run, v, "operand", i);
  }
  return insert_or_drop(run, v, out);
}

static ir_status stride_shape(ir_eval_run *run, view *v, ir_slot *out) {
  if (v->attr_count != out->rank) return bad(run, v, "the number of steps", v->attr_count);
  for (uint32_t k = 0; k < out->rank; k++) {
    if (v->attr[k] == 0 || v->attr[k] == INT64_MIN) return bad(run, v, "the step", v->attr[k]);
    int64_t step = v->attr[k] < 0 ? -v->attr[k] : v->attr[k], size = v->first->shape[k];
    out->shape[k] = size / step + (size % step != 0);
  }
  return IR_OK;
}

static ir_status flip_shape(ir_eval_run *run, view *v, ir_slot *out) {
  for (uint32_t i = 0; i < v->attr_count; i++) {
    if (v->attr[i] < 0 || v->attr[i] >= out->rank) return bad(run, v, "axis", v->attr[i]);
    v->flipped[v->attr[i]] = true;
  }
  return IR_OK;
}

static ir_status point_shape(ir_eval_run *run, view *v, ir_slot *out) {
  ir_status status = insert_or_drop(run, v, out);
  if (status) return status;
  return v->attr[0] >= 0 && v->attr[0] < v->first->shape[v->axis] ? IR_OK : bad(run, v, "index", v->attr[0]);
}

static ir_status view_shape(ir_eval_run *run, view *v, ir_ref ref, ir_slot *out) {
  out->rank = v->first->rank;
  memcpy(out->shape, v->first->shape, sizeof out->shape);
  switch ((int)v->op) {
  case IR_OP_PERMUTE: return permute_shape(run, v, out);
  case IR_OP_EXPAND:
  case IR_OP_RESHAPE: return set_result_shape(run, v, out);
  case IR_OP_UNSQUEEZE:
  case IR_OP_SQUEEZE: return insert_or_drop(run, v, out);
  case IR_OP_SHRINK:
  case IR_OP_PAD: return pairs_shape(run, v, out);
  case IR_OP_STRIDE: return stride_shape(run, v, out);
  case IR_OP_FLIP: return flip_shape(run, v, out);
  case IR_OP_POINT: return point_shape(run, v, out);
  case IR_OP_CONCAT: return concat_shape(run, v, ref, out);
  case IR_OP_STACK: return stack_shape(run, v, ref, out);
  default: return ir_fail(run->error, IR_ERR_INTERNAL, "%s: no such view", ir_ops[v->op].text);
  }
}

/* Where an element comes from */

/* The source index of padded index p (0 is the first element of an axis of n > 0 elements), under NumPy's
 * meaning of the mode. */
static int64_t pad_source(int64_t p, int64_t n, int64_t mode) {
  if (mode == IR_PAD_EDGE) return p < 0 ? 0 : p >= n ? n - 1 : p;
  if (mode == IR_PAD_WRAP) return ir_floor_mod(p, n);
  if (n == 1) return 0;
  int64_t q = ir_floor_mod(p, 2 * (n - 1)); /* reflect: ... 2 1 0 1 2 ... without repeating the ends */
  return q < n ? q : 2 * (n - 1) - q;
}

/* Fills the source coordinate and returns the operand's number, or -1 for a padded element. */
static int64_t source_of(ir_eval_run *run, const view *v, ir_ref ref, const int64_t *at, int64_t *from) {
  const ir_slot *first = v->first;
  int64_t operand = 0;
  for (uint32_t k = 0; k < first->rank; k++) {
    int64_t n = first->shape[k], dropped = k >= v->axis, axis_at = k < IR_MAX_RANK ? at[k] : 0;
    switch ((int)v->op) {
    case IR_OP_PERMUTE: from[v->attr[k]] = axis_at; break;
    case IR_OP_EXPAND: from[k] = n == 1 ? 0 : axis_at; break;
    case IR_OP_UNSQUEEZE:
    case IR_OP_STACK: from[k] = at[k + (uint32_t)dropped]; break;
    case IR_OP_SQUEEZE: from[k] = k == v->axis ? 0 : at[k - (uint32_t)dropped]; break;
    case IR_OP_POINT: from[k] = k == v->axis ? v->attr[0] : at[k - (uint32_t)dropped]; break;
    case IR_OP_SHRINK: from[k] = axis_at + v->attr[2 * k]; break;
    case IR_OP_STRIDE: from[k] = v->attr[k] > 0 ? axis_at * v->attr[k] : n - 1 + axis_at * v->attr[k]; break;
    case IR_OP_FLIP: from[k] = v->flipped[k] ? n - 1 - axis_at : axis_at; break;
    case IR_OP_PAD: {
      int64_t p = axis_at - v->attr[2 * k];
      if (p >= 0 && p < n) from[k] = p;
      else if (v->mode == IR_PAD_CONSTANT) operand = -1;
      else from[k] = pad_source(p, n, v->mode);
      break;
    }
    default: from[k] = axis_at;
    }
  }
  if (v->op == IR_OP_STACK) return at[v->axis];
  if (v->op != IR_OP_CONCAT) return operand;
  for (int64_t size; from[v->axis] >= (size = ir_eval_operand(run, ref, (uint32_t)operand)->shape[v->axis]);
       operand++)
    from[v->axis] -= size;
  return operand;
}

static void copy_elements(ir_eval_run *run, const view *v, ir_ref ref, ir_slot *out) {
  int64_t at[IR_MAX_RANK + 1] = {0}, from[IR_MAX_RANK], strides[IR_MAX_RANK];
  size_t element = ir_dtypes[out->dtype].bytes;
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(at, out->shape, out->rank)) {
    int64_t operand = source_of(run, v, ref, at, from), offset = 0;
    const ir_slot *source =
        ir_eval_operand(run, ref, operand < 0 ? 1 : (uint32_t)operand); /* 1: the padding value */
    ir_eval_strides(source->shape, source->rank, strides);
    for (uint32_t k = 0; k < source->rank && operand >= 0; k++) offset += from[k] * strides[k];
    if (v->op == IR_OP_RESHAPE) offset = i;
    memcpy(out->data + (size_t)i * element, source->data + (size_t)offset * element, element);
    if (source->taint) out->taint[i] = source->taint[offset];
  }
}

ir_status ir_eval_view(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  view v = {
      .op = (ir_op)n->op, .operands = ir_operand_count(n), .axis = ir_arg_int(n), .mode = ir_arg_mode(n)};
  if (v.operands == 0)
    return ir_fail(run->error, IR_ERR_INVALID, "%s: at least one operand is needed", ir_ops[v.op].text);
  v.first = ir_eval_operand(run, ref, 0);
  uint32_t first_attr = v.operands + (v.op == IR_OP_PAD);
  if (n->nsrc - v.operands > 2 * IR_MAX_RANK + 1 || first_attr > n->nsrc ||
      (v.op == IR_OP_POINT && n->nsrc != 2))
    return ir_fail(run->error, IR_ERR_INTERNAL, "%s: node %u has %u sources", ir_ops[v.op].text, ref,
                   n->nsrc);
  v.attr_count = n->nsrc - first_attr;
  if (v.attr_count > 2 * IR_MAX_RANK) return bad(run, &v, "the number of attributes", v.attr_count);
  for (uint32_t i = 0; i < v.attr_count; i++) {
    ir_status status = ir_eval_attribute(run, ref, first_attr + i, &v.attr[i]);
    if (status) return status;
  }
  bool tainted = false;
  for (uint32_t i = 0; i < first_attr; i++) {
    const ir_slot *source = ir_eval_operand(run, ref, i);
    tainted |= source->taint != NULL;
    if (source->dtype != out->dtype)
      return ir_fail(run->error, IR_ERR_INTERNAL, "%s: node %u of %s has an operand of %s", ir_ops[v.op].text,
                     ref, ir_dtypes[out->dtype].name, ir_dtypes[source->dtype].name);
  }
  ir_status status = view_shape(run, &v, ref, out);
  if (!status) status = ir_eval_alloc(run, ref, out, tainted);
  if (!status) copy_elements(run, &v, ref, out);
  return status;
}
