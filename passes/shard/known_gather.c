/* A gather along a divided axis whose indices are known: where each device needs neighbouring elements, which
 * lie in order, one EXCHANGE brings them. Permutations of blocks and shifts are such. */
#include "impl.h"

#include <string.h>

/* The first index that part p of the result needs. */
typedef struct firsts {
  int64_t *of;
  int64_t parts;
} firsts;

/* The elements of an i64 array that the graph holds; NULL: it is none. */
static const int64_t *known_indices(const ir_graph *g, ir_ref x, int64_t *count) {
  const ir_node *n = ir_get(g, x);
  if (n->op != IR_OP_DATA || n->dtype != IR_I64 || ir_rank(g, x) != 1) return NULL;
  if (!ir_is_const(g, ir_dim(g, x, 0), count)) return NULL;
  return (const int64_t *)(const void *)ir_name_text(g, n->arg);
}

/* Does each part need indices that follow each other, in range? Fills in the first ones. */
static bool in_order(const int64_t *text, int64_t count, int64_t size, firsts *out) {
  int64_t chunk = ir_part_size(count, out->parts);
  for (int64_t i = 0; i < count; i++) {
    int64_t index, before = 0;
    memcpy(&index, text + i, sizeof index); /* interned bytes are not aligned */
    if (i % chunk) memcpy(&before, text + i - 1, sizeof before);
    if (index < 0 || index >= size || (i % chunk && index != before + 1)) return false;
    if (i % chunk == 0) out->of[i / chunk] = index;
  }
  for (int64_t p = chunk ? (count + chunk - 1) / chunk : 0; p < out->parts; p++) out->of[p] = 0;
  return true;
}

/* The first index as an expression of the position: runs of equal distances, from the last. */
static ir_ref first_at(ir_graph *g, const firsts *f, ir_ref position) {
  ir_ref out = 0;
  for (int64_t end = f->parts; end > 0 && g->error->status == IR_OK;) {
    int64_t begin = end - 1, step = begin > 0 ? f->of[begin] - f->of[begin - 1] : 0;
    while (begin > 0 && f->of[begin] - f->of[begin - 1] == step) begin--;
    if (end - begin == 1) step = 0;
    ir_ref run = pass_add_int(g, pass_mul_int(g, pass_add_int(g, position, -begin), step), f->of[begin]);
    out = out ? pass_where(g, pass_compare(g, IR_OP_LT, position, ir_index(g, end)), run, out) : run;
    end = begin;
  }
  return out;
}

/* The exchange, of parts under `spec` of x and of the result. */
static ir_ref exchanged(shard_state *s, ir_ref node, ir_ref local, const ir_spec *spec, uint32_t axis,
                        const firsts *f) {
  static const char kind[] = "permute";
  ir_graph *g = s->g;
  ir_ref x = ir_src(g, node, 0), shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK];
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &count);
  if (!shard_local_shape(s, op_dims(g, node), spec, shape) || !shard_local_start(s, op_dims(g, x), spec, at))
    return 0;
  memcpy(start, at, sizeof start);
  start[axis] = first_at(g, f, shard_position(s, axes, count));
  if (!start[axis]) return 0;
  return shard_exchange(s, local, shape, start, at, spec->rank, kind);
}

bool shard_known_gather(shard_state *s, ir_ref node, const ir_spec *spec, ir_ref local, ir_ref *made) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  *made = 0;
  if (n->op != IR_OP_GATHER || ir_arg_small(n) || ir_spec_count(spec, IR_PLACE_PENDING)) return false;
  uint32_t axis = (uint32_t)ir_arg_int(n);
  int64_t size, count = 0;
  const int64_t *indices = known_indices(g, n->src[1], &count);
  if (!indices || !ir_spec_count(spec, axis) || !ir_is_const(g, ir_dim(g, n->src[0], axis), &size))
    return false;
  uint32_t along;
  const ir_subaxis *axes = ir_spec_axes(spec, axis, &along);
  if (ir_is_weighted(axes, along)) return false;
  firsts f = {.parts = ir_spec_parts(spec, axis)};
  if (!(f.of = ir_alloc(g->mem, (size_t)f.parts * sizeof *f.of)))
    return ir_fail(g->error, IR_ERR_MEMORY, "shard: out of memory") != IR_OK;
  bool one_box = in_order(indices, count, size, &f);
  if (one_box) *made = exchanged(s, node, local, spec, axis, &f);
  ir_free(g->mem, f.of, (size_t)f.parts * sizeof *f.of);
  return one_box;
}
