/* Cumulative operations and sorting: each line along the axis on its own, element by element. */
#include "impl.h"

#include <inttypes.h>
#include <string.h>

/* One line of operand and result: element i is at start + i * step. */
typedef struct line {
  const ir_slot *x;
  ir_slot *out;
  int64_t start, step, size;
} line;

static ir_value element(const line *l, int64_t i) {
  return ir_value_load(l->x->data + (size_t)(l->start + i * l->step) * ir_dtypes[l->x->dtype].bytes,
                       l->x->dtype);
}
static void put_element(const line *l, int64_t i, ir_value v) {
  ir_value_store(l->out->data + (size_t)(l->start + i * l->step) * ir_dtypes[l->out->dtype].bytes,
                 l->out->dtype, v);
}

/* cumulative */

static ir_value narrowed(long double v, ir_dtype type) {
  if (type == IR_F32) return (ir_value){.f = (float)v};
  return ir_value_cast((ir_value){.f = (double)v}, IR_F64, type);
}

/* Sums and products of floats: accumulated in long double, each prefix rounded once. */
static void accumulate_floats(const line *l, bool product) {
  long double total = product;
  for (int64_t i = 0; i < l->size; i++) {
    if (product) total *= (long double)element(l, i).f;
    else total += (long double)element(l, i).f;
    put_element(l, i, narrowed(total, l->out->dtype));
  }
}

static void scan_line(const line *l, ir_op with) {
  ir_dtype type = l->out->dtype;
  ir_value value = {.i = 0};
  for (int64_t i = 0; i < l->size; i++) {
    ir_value next = ir_value_cast(element(l, i), l->x->dtype, type);
    value = i == 0 ? next : ir_scalar_apply(with, type, type, (ir_value[]){value, next});
    put_element(l, i, value);
  }
}

static void eval_cumulative(const line *l, ir_op op) {
  bool sums = op == IR_OP_CUMSUM || op == IR_OP_CUMPROD;
  if (sums && ir_is_float(l->out->dtype)) accumulate_floats(l, op == IR_OP_CUMPROD);
  else
    scan_line(l, op == IR_OP_CUMSUM    ? IR_OP_ADD
                 : op == IR_OP_CUMPROD ? IR_OP_MUL
                 : op == IR_OP_CUMMAX  ? IR_OP_MAX
                                       : IR_OP_MIN);
  uint32_t seen = 0;
  for (int64_t i = 0; l->out->taint && i < l->size; i++) {
    if (!seen) seen = l->x->taint[l->start + i * l->step];
    l->out->taint[l->start + i * l->step] = seen;
  }
}

/* sorting */

static bool sorts_before(ir_value a, ir_value b, ir_dtype type) {
  if (!ir_is_float(type)) return type == IR_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
  if (a.f != a.f) return false;
  return b.f != b.f || a.f < b.f;
}

/* Bottom-up stable merge sort of the indices 0 .. size-1. Returns whichever of the two arrays holds the
 * result. */
static int64_t *sort_positions(const line *l, bool descending, int64_t *from, int64_t *to) {
  ir_dtype type = l->x->dtype;
  for (int64_t i = 0; i < l->size; i++) from[i] = i;
  for (int64_t run = 1; run < l->size; run *= 2) {
    for (int64_t start = 0; start < l->size; start += 2 * run) {
      int64_t a = start, middle = l->size - start < run ? l->size : start + run, b = middle;
      int64_t end = l->size - middle < run ? l->size : middle + run;
      for (int64_t k = start; k < end; k++) {
        ir_value x = element(l, from[a < middle ? a : b]), y = element(l, from[b < end ? b : a]);
        bool second =
            a >= middle || (b < end && (descending ? sorts_before(x, y, type) : sorts_before(y, x, type)));
        to[k] = second ? from[b++] : from[a++];
      }
    }
    int64_t *swap = from;
    from = to, to = swap;
  }
  return from;
}

static void eval_sort(const line *l, const ir_node *n, int64_t *room) {
  const int64_t *at = sort_positions(l, ir_arg_mode(n) != 0, room, room + l->size);
  uint32_t seen = 0;
  for (int64_t i = 0; i < l->size; i++)
    put_element(l, i, n->op == IR_OP_ARGSORT ? (ir_value){.i = at[i]} : element(l, at[i]));
  for (int64_t i = 0; l->x->taint && i < l->size && !seen; i++) seen = l->x->taint[l->start + i * l->step];
  for (int64_t i = 0; l->out->taint && i < l->size; i++) l->out->taint[l->start + i * l->step] = seen;
}

ir_status ir_eval_ordered(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  const ir_slot *x = ir_eval_operand(run, ref, 0);
  int64_t axis = ir_arg_int(n), strides[IR_MAX_RANK], coord[IR_MAX_RANK] = {0}, lines[IR_MAX_RANK];
  if (axis < 0 || axis >= x->rank)
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s: axis %" PRId64 " of an operand of rank %u; takes 0 to the rank less 1, each once",
                   ir_ops[n->op].text, axis, x->rank);
  out->rank = x->rank;
  memcpy(out->shape, x->shape, sizeof out->shape);
  memcpy(lines, x->shape, sizeof lines);
  ir_status status = ir_eval_alloc(run, ref, out, x->taint != NULL);
  if (status || out->count == 0) return status;
  ir_eval_strides(x->shape, x->rank, strides);
  line l = {.x = x, .out = out, .step = strides[axis], .size = x->shape[axis]};
  lines[axis] = 1;
  bool sorts = n->op == IR_OP_SORT || n->op == IR_OP_ARGSORT;
  size_t bytes = sorts ? 2 * (size_t)l.size * sizeof(int64_t) : 0;
  int64_t *room = sorts ? ir_alloc(run->mem, bytes) : NULL;
  if (sorts && !room) return ir_eval_no_memory(run, ref);
  do {
    l.start = 0;
    for (uint32_t k = 0; k < x->rank; k++) l.start += coord[k] * strides[k];
    if (sorts) eval_sort(&l, n, room);
    else eval_cumulative(&l, (ir_op)n->op);
  } while (ir_eval_next(coord, lines, x->rank));
  ir_free(run->mem, room, bytes);
  return IR_OK;
}
