/* Operations on the parts of an axis, which are blocks of equal size. */
#include "impl.h"
#include "passes/ops/mesh.h"

#include <string.h>

/* An axis, divided along axes of the mesh, with its blocks as an axis of their own in front of it. */
typedef struct blocks {
  ir_ref x; /* 0 after failing */
  int64_t axis, count;
} blocks;

static int64_t devices_along(const ir_spec *over) { return ir_spec_parts(over, 0); }

/* The same shape with axis k cut in `count`. */
static ir_ref cut(ir_graph *g, ir_ref x, int64_t axis, int64_t count) {
  ir_ref dims[IR_MAX_RANK + 1];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < ir_rank(g, x); d++) {
    ir_ref size = ir_dim(g, x, d);
    if (d == axis) dims[rank++] = ir_index(g, count), size = pass_div_int(g, size, count);
    dims[rank++] = size;
  }
  return op_reshape(g, x, dims, rank);
}

/* Puts the blocks behind each other again. */
static ir_ref joined(ir_graph *g, ir_ref x, int64_t axis) {
  ir_ref dims[IR_MAX_RANK + 1];
  uint32_t rank = 0;
  for (uint32_t d = 0; x && d < ir_rank(g, x); d++) {
    ir_ref size = ir_dim(g, x, d);
    if (d == axis) size = pass_mul(g, size, ir_dim(g, x, ++d));
    dims[rank++] = size;
  }
  return x ? op_reshape(g, x, dims, rank) : 0;
}

static blocks blocks_of(ir_graph *g, const char *who, ir_ref x, op_over over, int64_t axis) {
  ir_spec spec;
  blocks out = {0};
  if (!op_compose_begin(g, who, &x, 1) || !op_over_spec(g, who, over, &spec)) return out;
  if (spec.rank == 0)
    return op_refuse(g, "%s: over is missing; it names the axes of the mesh whose devices have the blocks",
                     who),
           out;
  if ((out.axis = op_axis(g, who, x, axis, ir_rank(g, x))) < 0) return out;
  out.count = devices_along(&spec);
  ir_ref size = ir_dim(g, x, (uint32_t)out.axis), count = ir_index(g, out.count);
  if (!count) return out;
  if (!pass_divides(g, count, size))
    return op_refuse(
               g,
               "%s: size %s of axis %lld does not %sdivide by %lld, the number of devices along %.*s; x has "
               "shape %s; blocks must be of equal size%s",
               who, OP_EXPR(size), (long long)out.axis, ir_is_const(g, size, NULL) ? "" : "provably ",
               (long long)out.count, (int)over.length, over.text, OP_TYPE(x),
               OP_FACT(IR_OP_MOD, size, count)),
           out;
  x = op_collective(g, IR_OP_REDUCE_SCATTER, x, over, &out.axis, 1);
  out.x = x ? op_compose_end(g, who, cut(g, x, out.axis, out.count)) : 0;
  return out;
}

const ir_op op_block_reductions[OP_REARRANGE_REDUCTIONS] = {
    IR_OP_ERROR, IR_OP_SUM, IR_OP_MEAN, IR_OP_REDUCE_MAX, IR_OP_REDUCE_MIN, IR_OP_PROD, IR_OP_ANY, IR_OP_ALL};

ir_ref op_reduce_blocks(ir_graph *g, ir_op by, ir_ref x, op_over over, int64_t axis) {
  static const char who[] = "all_reduce";
  blocks b = blocks_of(g, who, x, over, axis);
  ir_ref at = ir_index(g, b.axis), y = b.x && at ? op_reduce(g, by, b.x, &at, 1, false) : 0;
  return op_compose_end(g, who, y ? op_collective(g, IR_OP_ALL_REDUCE, y, over, NULL, 0) : 0);
}

ir_ref op_pmean(ir_graph *g, ir_ref x, op_over over) {
  static const char who[] = "pmean";
  ir_spec spec;
  if (!op_compose_begin(g, who, &x, 1) || !op_over_spec(g, who, over, &spec)) return 0;
  int64_t count = spec.rank ? devices_along(&spec) : ir_graph_mesh(g)->device_count;
  ir_ref sum = op_collective(g, IR_OP_ALL_REDUCE, x, spec.rank ? over : (op_over){0}, NULL, 0);
  return op_compose_end(g, who, sum ? op_div(g, sum, op_literal_int(g, count)) : 0);
}

/* Where block i of the result comes from, source[i], or -1: nowhere. False after failing. */
static bool sources_of(ir_graph *g, const blocks *b, const int64_t *pairs, size_t n, int64_t *source) {
  for (int64_t i = 0; i < b->count; i++) source[i] = -1;
  for (size_t i = 0; i < n; i++) {
    const int64_t *ends = pairs + 2 * i;
    for (int k = 0; k < 2; k++)
      if (ends[k] < 0 || ends[k] >= b->count)
        return op_refuse(g, "ppermute: pair %zu is [%lld,%lld]; takes numbers of devices, from 0 to %lld", i,
                         (long long)ends[0], (long long)ends[1], (long long)b->count - 1) != 0;
    if (source[ends[1]] >= 0)
      return op_refuse(g, "ppermute: devices %lld and %lld both send to %lld; each receives from one",
                       (long long)source[ends[1]], (long long)ends[0], (long long)ends[1]) != 0;
    source[ends[1]] = ends[0];
  }
  return true;
}

/* The rows of b->x along its axis of blocks that `source` says, and 0 where that is -1. */
static ir_ref permuted(ir_graph *g, const blocks *b, const int64_t *source, int64_t *rows, bool *there) {
  ir_ref count = ir_index(g, b->count), dims[IR_MAX_RANK + 1], one = ir_index(g, 1);
  bool all = true;
  if (!count || !one) return 0;
  for (int64_t i = 0; i < b->count; i++) {
    there[i] = source[i] >= 0;
    rows[i] = there[i] ? source[i] : i; /* a device that receives nothing asks nobody */
    all &= there[i];
  }
  ir_ref at = op_data(g, IR_I64, &count, 1, rows, (size_t)b->count * sizeof *rows);
  ir_ref y = at ? op_gather(g, b->x, at, b->axis, IR_GATHER_CLIP) : 0;
  if (!y || all) return y;
  for (uint32_t d = 0; d < ir_rank(g, y); d++) dims[d] = d == b->axis ? count : one;
  ir_ref mask = op_data(g, IR_BOOL, &count, 1, there, (size_t)b->count);
  mask = mask ? op_reshape(g, mask, dims, ir_rank(g, y)) : 0;
  return mask ? op_where(g, mask, y, op_const(g, ir_dtype_of(g, y), (ir_value){.i = 0})) : 0;
}

ir_ref op_ppermute(ir_graph *g, ir_ref x, op_over over, int64_t axis, const int64_t *pairs, size_t n) {
  blocks b = blocks_of(g, "ppermute", x, over, axis);
  if (!b.x) return 0;
  size_t count = (size_t)b.count;
  int64_t *source = ir_alloc(g->mem, 2 * count * sizeof *source);
  bool *there = ir_alloc(g->mem, count * sizeof *there);
  ir_ref y = 0;
  if (!source || !there) ir_fail(g->error, IR_ERR_MEMORY, "ppermute: out of memory");
  else if (sources_of(g, &b, pairs, n, source)) y = permuted(g, &b, source, source + count, there);
  if (source) ir_free(g->mem, source, 2 * count * sizeof *source);
  if (there) ir_free(g->mem, there, count * sizeof *there);
  return op_compose_end(g, "ppermute", joined(g, y, b.axis));
}

ir_ref op_all_to_all_stacked(ir_graph *g, ir_ref x, op_over over, int64_t to, int64_t from) {
  static const char who[] = "all_to_all";
  blocks b = blocks_of(g, who, x, over, from);
  if (!b.x) return 0;
  int64_t axis = op_axis(g, who, x, to, ir_rank(g, x));
  if (axis < 0) return 0;
  if (axis >= b.axis) axis++;
  return op_collective(g, IR_OP_REDUCE_SCATTER, b.x, over, &axis, 1);
}

ir_ref op_axis_index(ir_graph *g, op_over over) {
  ir_spec spec;
  if (g->error->status || !op_over_spec(g, "axis_index", over, &spec)) return 0;
  if (spec.rank == 0) return op_refuse(g, "axis_index: over is missing; it names axes of the mesh");
  ir_ref count = ir_index(g, devices_along(&spec)), y = count ? op_iota(g, IR_I32, &count, 1, 0) : 0;
  return y ? op_shard(g, y, over.text, over.length) : 0;
}

ir_ref op_replicated(ir_graph *g, const char *who, ir_ref x) {
  char text[2 * IR_MAX_RANK + 3] = "[";
  if (!op_compose_begin(g, who, &x, 1)) return 0;
  for (uint32_t d = 0; d < ir_rank(g, x); d++) strcat(text, d ? ",-" : "-");
  strcat(text, "]");
  return op_compose_end(g, who, op_shard(g, x, text, strlen(text)));
}

static bool has_device(const ir_mesh *mesh, op_over name) {
  if (!mesh->devices) return name.length == 3 && !memcmp(name.text, "cpu", 3);
  for (uint32_t d = 0; d < mesh->device_count; d++)
    if (strlen(mesh->devices[d].name) == name.length &&
        !memcmp(mesh->devices[d].name, name.text, name.length))
      return true;
  return false;
}

ir_ref op_transfer(ir_graph *g, ir_ref x, op_over to, op_over device) {
  static const char who[] = "transfer_to";
  const ir_mesh *mesh = ir_graph_mesh(g);
  if (to.text && device.text)
    return op_refuse(g,
                     "%s: to and device exclude each other: a value is divided among the devices of the "
                     "mesh, or on one of them",
                     who);
  if (!mesh && (to.text || device.text))
    return op_refuse(g,
                     "%s: the graph has no mesh whose devices %s could name; it is computed on the device "
                     "of its context; a text declares a mesh, as in mesh @m [x=2,y=4]",
                     who, to.text ? "to" : "device");
  if (device.text && !has_device(mesh, device))
    return op_refuse(g, "%s: device is \"%.*s\", which the mesh @%s does not have", who, (int)device.length,
                     device.text, mesh->name);
  if (!op_compose_begin(g, who, &x, 1)) return 0;
  ir_ref made = to.text ? op_shard(g, x, to.text, to.length) : mesh ? op_replicated(g, who, x) : x;
  return op_compose_end(g, who, made);
}

ir_ref op_first_block(ir_graph *g, ir_ref x, op_over over, int64_t axis) {
  static const char who[] = "distributed_broadcast";
  blocks b = blocks_of(g, who, x, over, axis);
  ir_ref zero = ir_index(g, 0), y = b.x && zero ? op_point(g, b.x, zero, b.axis) : 0;
  return y ? op_replicated(g, who, y) : 0;
}
