#include "test/lib/view_record.h"

#include "passes/index/index.h"
#include "passes/ops/ops.h"

ir_ref view_record_base(ir_graph *g, const model_shape *shape, int serial) {
  ir_ref dims[MODEL_RANK];
  for (int i = 0; i < shape->rank; i++) dims[i] = ir_index(g, shape->size[i]);
  return op_input(g, "x", serial, IR_F32, dims, (size_t)shape->rank);
}

ir_ref view_record_step(ir_graph *g, ir_ref x, const model_step *s) {
  ir_ref list[2 * MODEL_RANK];
  int rank = (int)ir_rank(g, x), n = s->kind == MODEL_RESHAPE || s->kind == MODEL_FLIP ? s->n : rank;
  for (int i = 0; i < n; i++) list[i] = ir_index(g, s->a[i]);
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE: return op_permute(g, x, list, (size_t)n);
  case MODEL_RESHAPE: return op_reshape(g, x, list, (size_t)n);
  case MODEL_EXPAND: return op_expand(g, x, list, (size_t)n);
  case MODEL_FLIP: return op_flip(g, x, list, (size_t)n);
  case MODEL_STRIDE: return op_stride(g, x, list, (size_t)n);
  case MODEL_UNSQUEEZE: return op_unsqueeze(g, x, s->a[0]);
  case MODEL_SQUEEZE: return op_squeeze(g, x, (list[0] = ir_index(g, s->a[0]), list), 1);
  case MODEL_POINT: return op_point(g, x, ir_index(g, s->b[0]), s->a[0]);
  case MODEL_SHRINK:
  case MODEL_PAD:
    for (int i = 0; i < rank; i++) {
      list[2 * i] = ir_index(g, s->a[i]);
      bool pad = s->kind == MODEL_PAD;
      list[2 * i + 1] = pad ? ir_index(g, s->b[i]) : pass_add_int(g, ir_dim(g, x, (uint32_t)i), -s->b[i]);
    }
    return s->kind == MODEL_PAD ? op_pad(g, x, list, (size_t)rank, 0, s->mode)
                                : op_shrink(g, x, list, (size_t)rank);
  default: return 0;
  }
}

ir_ref view_record_chain(ir_graph *g, const model_chain *chain) {
  ir_ref x = view_record_base(g, &chain->base, 1);
  for (int i = 0; i < chain->count && x; i++) x = view_record_step(g, x, &chain->steps[i]);
  return x;
}
