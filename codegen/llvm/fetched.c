/* Prefetches of what is `fetched`: lines of memory that the next tile of sums is stored to, and those that
 * are read when its sums are ready. Each iteration of the outermost loop of the sums prefetches one line of
 * each access at most, so that they take few of the buffers for lines that are on their way (24 of Zen 4's L1
 * cache), through which the sums' operands pass as well. */
#include "codegen/llvm/llvm.h"

#include <stdlib.h>

/* An access in lines: along each loop of unrolled values, the number of lines and bytes from one to the next,
 * the loop with the fewest bytes last. */
typedef struct lines {
  int64_t count[CG_FETCHED_LOOPS], bytes[CG_FETCHED_LOOPS], all;
  uint32_t loops;
} lines;

static bool is_ready(const cg_emitter *e, ir_ref ref) {
  const uint64_t *deps = cg_deps(e->nest, ref);
  for (int64_t l = -1; (l = cg_set_next(e->nest, deps, l)) >= 0;)
    if (!e->order.open[l]) return false;
  return true;
}

/* False: the access is no vector of neighbours, or depends on loops that are not open. */
static bool lines_of(const cg_emitter *e, ir_ref access, lines *out) {
  const ir_node *n = ir_get(e->g, access);
  const uint64_t *lanes = cg_lanes(e->nest, access);
  cg_access how = cg_access_of(e->nest, n->src[1]);
  int64_t step, bytes = ir_dtypes[ir_dtype_of(e->g, n->src[0])].bytes, line = IR_CACHE_LINE_BYTES;
  if (!how.affine || how.stride != 1 || (how.base && !is_ready(e, how.base))) return false;
  *out = (lines){.all = 1};
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    int64_t count = e->nest->loops[l].extent;
    if (e->nest->loops[l].binding != IR_UNROLL) continue;
    if (out->loops == CG_FETCHED_LOOPS || !cg_stride(e->nest, n->src[1], (uint32_t)l, &step)) return false;
    step *= bytes;
    if (step > 0 && step < line) count = (count * step + line - 1) / line, step = line;
    uint32_t k = out->loops++;
    for (; k > 0 && llabs(out->bytes[k - 1]) < llabs(step); k--)
      out->bytes[k] = out->bytes[k - 1], out->count[k] = out->count[k - 1];
    out->count[k] = count, out->bytes[k] = step, out->all *= count;
  }
  return true;
}

static void open_access(cg_emitter *e, ir_ref access) {
  cg_order *o = &e->order;
  const ir_node *n = ir_get(e->g, access);
  ir_ref base = cg_access_of(e->nest, n->src[1]).base;
  cg_begin_visit(o);
  if (base) cg_visit(o, base);
  cg_emit_visited(o, false);
  cg_first_lane(o, cg_lanes(e->nest, access));
  if (o->failed || (base && !o->values[base])) return;
  cg_place a = cg_place_of(e, n->src[0], n->src[1], e->nest->width[access]);
  LLVMValueRef ahead = LLVMConstInt(e->i64, (unsigned long long)(ir_arg_int(n) * a.bytes), 0);
  e->fetched[e->fetched_count].access = access;
  e->fetched[e->fetched_count++].first =
      LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), cg_low_address(e, &a), &ahead, 1, "");
}

bool cg_open_fetched(cg_emitter *e, const cg_loop *loop) {
  lines l;
  int64_t iterations;
  if (e->fetched_count || !loop->carries || loop->binding != IR_SERIAL ||
      !ir_is_const(e->g, ir_src(e->g, loop->range, 0), &iterations))
    return false;
  for (ir_ref ref = 1; ref < e->nest->count && e->fetched_count < CG_FETCHED; ref++) {
    const ir_node *n = ir_get(e->g, ref);
    if ((n->op == IR_OP_LOAD || n->op == IR_OP_STORE) && ir_arg_mode(n) == IR_FETCHED &&
        lines_of(e, ref, &l) && l.all <= iterations)
      open_access(e, ref);
  }
  return e->fetched_count;
}

/* Prefetches line number `number` of the access. */
static void fetch_line(cg_emitter *e, uint32_t i, const lines *l, LLVMValueRef number) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  LLVMValueRef at = LLVMConstInt(e->i64, 0, 0);
  for (uint32_t k = l->loops; k-- > 0;) {
    LLVMValueRef count = LLVMConstInt(e->i64, (unsigned long long)l->count[k], 0);
    LLVMValueRef digit = k ? LLVMBuildURem(e->b, number, count, "") : number;
    LLVMValueRef bytes = LLVMConstInt(e->i64, (unsigned long long)l->bytes[k], 1);
    at = LLVMBuildAdd(e->b, at, LLVMBuildMul(e->b, digit, bytes, ""), "");
    number = LLVMBuildUDiv(e->b, number, count, "");
  }
  bool writes = ir_op_of(e->g, e->fetched[i].access) == IR_OP_STORE;
  LLVMValueRef to = LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->context), e->fetched[i].first, &at, 1, "");
  LLVMValueRef args[] = {to, LLVMConstInt(i32, writes, 0), LLVMConstInt(i32, 3, 0), LLVMConstInt(i32, 1, 0)};
  cg_intrinsic(e, "llvm.prefetch", &e->pointer, 1, args, 4); /* locality; data cache */
}

void cg_emit_fetched(cg_emitter *e, const cg_loop *loop, LLVMValueRef counter) {
  lines l;
  int64_t iterations;
  if (!ir_is_const(e->g, ir_src(e->g, loop->range, 0), &iterations)) return;
  for (uint32_t i = 0; i < e->fetched_count; i++) {
    if (!lines_of(e, e->fetched[i].access, &l)) continue;
    unsigned bits =
        0; /* a shift, and no comparison with the last line: those behind are of the tile after next */
    while (l.all << (bits + 1) <= iterations) bits++;
    fetch_line(e, i, &l, LLVMBuildLShr(e->b, counter, LLVMConstInt(e->i64, bits, 0), ""));
  }
}
