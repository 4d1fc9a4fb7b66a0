/* Pseudorandom values for parameters without a given value. They are for measuring, where values matter
 * little, and are the same every time. Floats lie between -1 and 1. Integers that a gather or a scatter uses
 * as indices lie within the smallest axis that they index; other integers lie between -8 and 8. */
#include <string.h>

#include "frontend/cli/bind.h"
#include "frontend/files/npy_header.h"

enum { MOST_INTEGER = 8 };

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
uint64_t cli_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

bool cli_seed_shapes(cli_binder *b, size_t *bytes) {
  ir_graph *g = &b->s->g;
  *bytes = 0;
  for (size_t p = 0; p < b->block->param_count; p++) {
    fe_array *a = &b->out->arrays[p];
    ir_ref ref = b->block->params[p].ref;
    if (a->data) continue;
    a->dtype = ir_dtype_of(g, ref);
    a->rank = (int)(ir_batch_rank(g, ref) + ir_rank(g, ref));
    for (int i = 0; i < a->rank; i++)
      if (!cli_size_of(b, p, i, &a->shape[i])) return false;
    if (!fe_shape_bytes(a->dtype, a->rank, a->shape, &a->bytes) || a->bytes > SIZE_MAX - *bytes) return false;
    *bytes += a->bytes;
  }
  return true;
}

/* Size of the smallest axis that values computed from the parameter index; 0: they index none. from: scratch,
 * by node. */
static int64_t axis_size_indexed(const cli_binder *b, const ir_ref *live, size_t count, ir_ref param,
                                 uint8_t *from) {
  ir_graph *g = &b->s->g;
  int64_t least = 0, size;
  for (size_t i = 0; i < count; i++) { /* topological order */
    const ir_node *n = ir_get(g, live[i]);
    bool indirect = n->op == IR_OP_GATHER || n->op == IR_OP_SCATTER || n->op == IR_OP_SCATTER_ADD;
    from[live[i]] = live[i] == param;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) from[live[i]] |= from[n->src[k]];
    if (!indirect || !from[n->src[1]]) continue;
    const ir_node *shape = ir_get(g, ir_shape(g, n->src[0]));
    uint32_t axis = (uint32_t)ir_arg_int(n);
    if (axis < shape->nsrc && cli_value_of(b, shape->src[axis], &size) && (least == 0 || size < least))
      least = size;
  }
  return least;
}

static ir_value value_of(const fe_array *a, int64_t index_limit, uint64_t *state) {
  uint64_t bits = cli_random(state);
  double unit = (double)(bits >> 40) * 0x1p-24; /* multiples of 2^-24, so that no value is subnormal */
  switch ((ir_kind)ir_dtypes[a->dtype].kind) {
  case IR_KIND_FLOAT: return (ir_value){.f = 2 * unit - 1};
  case IR_KIND_BOOL: return (ir_value){.i = (int64_t)(bits & 1)};
  case IR_KIND_SIGNED:
    if (!index_limit) return (ir_value){.i = (int64_t)(bits % (2 * MOST_INTEGER + 1)) - MOST_INTEGER};
    break;
  default: break;
  }
  return (ir_value){.i = (int64_t)(bits % (uint64_t)(index_limit ? index_limit : MOST_INTEGER))};
}

static void fill_array(fe_array *a, int64_t index_limit, uint64_t state) {
  size_t size = ir_dtypes[a->dtype].bytes, count = size ? a->bytes / size : 0;
  for (size_t i = 0; i < count; i++)
    ir_value_store((uint8_t *)a->data + i * size, a->dtype, value_of(a, index_limit, &state));
}

bool cli_seed_values(cli_binder *b, ir_ref results) {
  ir_graph *g = &b->s->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, nodes = g->count;
  uint8_t *from = ir_alloc(g->mem, nodes);
  bool ok = from && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t p = 0; p < b->block->param_count && ok; p++) {
    fe_array *a = &b->out->arrays[p];
    if (a->data) continue;
    memset(from, 0, nodes);
    int64_t index_limit =
        ir_is_float(a->dtype) ? 0 : axis_size_indexed(b, live, count, b->block->params[p].ref, from);
    ok = (a->data = ir_alloc(&cli_array_mem, a->bytes)) != NULL;
    if (ok) fill_array(a, index_limit, p);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  if (from) ir_free(g->mem, from, nodes);
  return ok;
}
