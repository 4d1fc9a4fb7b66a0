/* Vector lanes and unroll factors of a kernel's loops, and what prevents faster loops. */
#include "frontend/report/explain_kernels.h"
#include "ir/regions.h"
#include "passes/loops/loops.h"

/* Facts about the loops of a kernel. */
typedef struct code {
  const fe_explained *e;
  const ir_regions *r;
  size_t number;
  int64_t lanes, unroll;    /* the largest */
  int64_t widest;           /* bytes of the widest element in a vectorized loop */
  unsigned loads, gathered; /* whose index depends on a vectorized range; of these, not contiguous */
  bool updates, streams;
  int64_t blocks; /* trip count of the thread loop; -1: not known */
} code;

static int binding_of(const code *c, ir_ref range) {
  ir_ref loop = c->r->loop_of[range];
  return loop ? ir_arg_mode(ir_get(c->e->g, loop)) : IR_SERIAL;
}

static bool is_range(const code *c, ir_ref ref) {
  return ir_op_of(c->e->g, ref) == IR_OP_RANGE && c->r->loop_of[ref];
}

/* The product of the trip counts of the unrolled loops around this one, itself included. */
static int64_t unroll_around(const code *c, ir_ref loop) {
  int64_t product = 1, count;
  for (; loop; loop = ir_region_of(c->r, loop)) {
    ir_ref extent = ir_src(c->e->g, ir_src(c->e->g, loop, 0), 0);
    if (ir_arg_mode(ir_get(c->e->g, loop)) == IR_UNROLL && ir_is_const(c->e->g, extent, &count))
      product *= count;
  }
  return product;
}

static void note_loop(code *c, ir_ref range) {
  int64_t count = -1;
  ir_is_const(c->e->g, ir_src(c->e->g, range, 0), &count);
  switch (binding_of(c, range)) {
  case IR_VECTOR: c->lanes = count > c->lanes ? count : c->lanes; break;
  case IR_THREAD: c->blocks = count; break;
  case IR_UNROLL: {
    int64_t unroll = unroll_around(c, c->r->loop_of[range]);
    c->unroll = unroll > c->unroll ? unroll : c->unroll;
    break;
  }
  default: break;
  }
}

/* Is the index contiguous (stride 1 or -1) along a range of this binding? *along: does it depend on one? */
static bool is_contiguous(const code *c, ir_ref index, int binding, bool *along) {
  bool contiguous = false;
  *along = false;
  for (size_t i = 0; i < c->r->count; i++) {
    int64_t stride;
    ir_ref range = c->r->order[i];
    if (!is_range(c, range) || binding_of(c, range) != binding || !affine_depends(c->e->g, index, range))
      continue;
    *along = true;
    contiguous |= affine_stride(c->e->g, index, range, &stride) && (stride == 1 || stride == -1);
  }
  return contiguous;
}

static void note_load(code *c, ir_ref load) {
  bool along, copied;
  ir_ref index = ir_src(c->e->g, load, 1);
  bool contiguous = is_contiguous(c, index, IR_VECTOR, &along);
  c->loads += along;
  c->gathered +=
      along && !contiguous && !is_contiguous(c, index, IR_UNROLL, &copied); /* else transposed in registers */
}

static bool in_vector_loop(const code *c, ir_ref ref) {
  ir_ref loop = ir_region_of(c->r, ref);
  while (loop && ir_arg_mode(ir_get(c->e->g, loop)) != IR_VECTOR) loop = ir_region_of(c->r, loop);
  return loop != 0;
}

static void note_code(code *c) {
  for (size_t i = 0; i < c->r->count; i++) {
    ir_ref ref = c->r->order[i];
    const ir_node *n = ir_get(c->e->g, ref);
    if (is_range(c, ref)) note_loop(c, ref);
    if (n->op == IR_OP_LOAD) note_load(c, ref);
    int64_t bytes = n->dtype == IR_INDEX ? 0 : ir_dtypes[n->dtype].bytes;
    if (bytes > c->widest && in_vector_loop(c, ref)) c->widest = bytes;
    c->updates |= n->op == IR_OP_UPDATE && n->nsrc > 4; /* with ranges whose iterations may meet */
    c->streams |= n->op == IR_OP_STORE && ir_streams(ir_arg_mode(n));
  }
}

static void put_lanes(const code *c) {
  if (c->lanes < 2) {
    ir_text_str(c->e->out, "  lanes   none: no loop is vectorised\n");
    return;
  }
  const ir_plan *plan = c->e->plan;
  ir_dtype dtype = ir_dtype_of(c->e->g, plan->slots[plan->steps[c->number].slots[0]].value);
  ir_textf(c->e->out, "  lanes   %lld of %s", (long long)c->lanes, ir_dtypes[dtype].name);
  if (c->unroll > 1) ir_textf(c->e->out, ", unroll factor %lld", (long long)c->unroll);
  ir_text_str(c->e->out, c->streams ? ", with non-temporal stores\n" : "\n");
}

static bool is_large(const code *c) {
  fe_kernel_work work = fe_work_of(c->e, c->number);
  int64_t read, written;
  return ir_is_const(c->e->g, work.read, &read) && ir_is_const(c->e->g, work.written, &written) &&
         read + written > 2 * c->e->target->l3_bytes && 2 * written >= read;
}

static void put_blocked(const code *c) {
  ir_text *out = c->e->out;
  int64_t bytes = c->lanes * c->widest, elements;
  const ir_slot *slot = &c->e->plan->slots[c->e->plan->steps[c->number].slots[0]];
  bool single = ir_is_const(c->e->g, slot->elements, &elements) && elements < 2;
  if (c->lanes < 2)
    ir_textf(out, "  blocked no lanes, because %s\n",
             c->updates ? "updates may write the same element and stay in order"
             : single   ? "there is one element only"
                        : "no axis along which elements are contiguous is long enough");
  else if (bytes < c->e->target->vector_bytes)
    ir_textf(out, "  blocked lanes fill %lld of the %d bytes of a vector\n", (long long)bytes,
             c->e->target->vector_bytes);
  if (c->gathered)
    ir_textf(out, "  blocked %u of %u loads gather%s: along the lanes their elements are not contiguous\n",
             c->gathered, c->loads, c->gathered == 1 ? "s" : "");
  if (!c->streams && is_large(c))
    ir_text_str(out, "  blocked stores go through the caches, which read each line before it is written\n");
  if (c->blocks == 1) ir_text_str(out, "  blocked one thread, because the work is one thread block\n");
}

void fe_explain_code(const fe_explained *e, size_t number, const struct ir_regions *regions) {
  code c = {.e = e, .r = regions, .number = number, .unroll = 1, .blocks = -1};
  note_code(&c);
  put_lanes(&c);
  put_blocked(&c);
}
