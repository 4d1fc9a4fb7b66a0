/* Counts the operations in the loops of a kernel, plain and weighed by the width of their elements. */
#include "frontend/report/explain_kernels.h"
#include "ir/regions.h"
#include "passes/cost/cost.h"
#include "passes/index/index.h"

enum { MAX_LOOPS = 64, F32_BYTES = 4 };

typedef struct arithmetic {
  ir_graph *g;
  const ir_regions *r;
  ir_ref floats, float_bytes, integers,
      integer_bytes; /* bytes: operations times the bytes of their element */
} arithmetic;

/* How often the node is evaluated. */
static ir_ref times_of(const arithmetic *a, ir_ref node) {
  ir_ref ranges[MAX_LOOPS], loop = ir_region_of(a->r, node);
  uint32_t count = 0;
  for (; loop && count < MAX_LOOPS; loop = ir_region_of(a->r, loop)) ranges[count++] = ir_src(a->g, loop, 0);
  return pass_trip_count(a->g, ranges, count);
}

static void add_product(ir_graph *g, ir_ref *sum, ir_ref times, int64_t each) {
  *sum = pass_add(g, *sum, pass_mul_int(g, times, each));
}

static void note_node(arithmetic *a, ir_ref ref) {
  const ir_node *n = ir_get(a->g, ref);
  int64_t flops = pass_flops_of(n), bytes = ir_dtypes[n->dtype].bytes;
  bool product = ir_is_data_int((ir_dtype)n->dtype) &&
                 (n->op == IR_OP_MUL || n->op == IR_OP_DOT2 || n->op == IR_OP_DOT4);
  if (flops) { /* f16 and bf16 are computed as f32 */
    if (bytes < F32_BYTES) bytes = F32_BYTES;
    ir_ref times = times_of(a, ref);
    add_product(a->g, &a->floats, times, flops);
    add_product(a->g, &a->float_bytes, times, flops * bytes);
  } else if (product) {
    ir_ref times = times_of(a, ref);
    add_product(a->g, &a->integers, times, n->op == IR_OP_DOT4 ? 8 : n->op == IR_OP_DOT2 ? 4 : 2);
    add_product(a->g, &a->integer_bytes, times, 2 * bytes);
  }
}

fe_arithmetic fe_arithmetic_of(const fe_explained *e, size_t number) {
  ir_regions regions;
  ir_ref none = ir_index(e->g, 0);
  arithmetic a = {e->g, &regions, none, none, none, none};
  if (ir_regions_find(e->g, e->plan->steps[number].kernel, &regions) != IR_OK) {
    e->out->failed = true;
    return (fe_arithmetic){none, none, none, none};
  }
  for (size_t i = 0; i < regions.count; i++) note_node(&a, regions.order[i]);
  ir_regions_free(&regions);
  return (fe_arithmetic){a.floats, pass_div_int(e->g, a.float_bytes, F32_BYTES), a.integers,
                         pass_div_int(e->g, a.integer_bytes, F32_BYTES)};
}
