/* Sizes of arrays and of their parts. */
#include "impl.h"

#include <string.h>

enum {
  USUAL = 4096 /* elements of a dimension of any size, that all devices divide; as passes/shard plans */
};

int64_t auto_size(const auto_model *m, ir_ref dim) {
  int64_t size = (int64_t)m->mesh->device_count * USUAL;
  if (ir_is_const(m->g, dim, &size)) return size;
  ir_bounds b = ir_bounds_of(m->g, dim);
  return size < b.lo ? b.lo : size > b.hi ? b.hi : size;
}

uint32_t auto_array_number(auto_model *m, const auto_array *a) {
  for (size_t i = 0; i < m->array_count; i++) {
    const auto_array *b = &m->arrays[i];
    if (b->rank == a->rank && b->item == a->item && b->rounds == a->rounds && b->begins == a->begins &&
        !memcmp(b->shape, a->shape, a->rank * sizeof *a->shape))
      return (uint32_t)i;
  }
  if (!IR_RESERVE(m->g->mem, m->arrays, m->array_cap, m->array_count + 1))
    return auto_no_memory(m), UINT32_MAX;
  m->arrays[m->array_count++] = *a;
  return (uint32_t)m->array_count - 1;
}

uint32_t auto_array_of(auto_model *m, ir_ref node, bool begins) {
  ir_dtype dtype = ir_dtype_of(m->g, node);
  auto_array a = {.rank = ir_rank(m->g, node),
                  .item = ir_dtypes[dtype].bytes,
                  .rounds = ir_is_float(dtype),
                  .begins = begins};
  for (uint32_t d = 0; d < a.rank; d++) a.shape[d] = auto_size(m, ir_dim(m->g, node, d));
  return auto_array_number(m, &a);
}

static double bytes_of(const auto_model *m, ir_ref node) {
  double bytes = ir_dtypes[ir_dtype_of(m->g, node)].bytes;
  for (uint32_t d = 0; d < ir_rank(m->g, node); d++) bytes *= (double)auto_size(m, ir_dim(m->g, node, d));
  return bytes;
}

int64_t auto_most_of(const auto_model *m, const ir_spec *spec, uint32_t d, int64_t size) {
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
  ir_shares shares = ir_shares_of(m->mesh, axes, count);
  return ir_most_of(&shares, size);
}

double auto_part_bytes(const auto_model *m, ir_ref node, const ir_spec *spec) {
  double bytes = ir_dtypes[ir_dtype_of(m->g, node)].bytes;
  for (uint32_t d = 0; d < spec->rank; d++)
    bytes *= (double)auto_most_of(m, spec, d, auto_size(m, ir_dim(m->g, node, d)));
  for (;;) {
    ir_op op = ir_op_of(m->g, node);
    if (op != IR_OP_EXPAND && op != IR_OP_RESHAPE && op != IR_OP_PERMUTE) return bytes;
    node = ir_src(m->g, node, 0);
    double below = bytes_of(m, node);
    if (below < bytes) bytes = below;
  }
}
