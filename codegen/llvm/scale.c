/* Products with a power of two whose result may be subnormal or overflow. Elementary functions write them in
 * two steps, each with a normal power (ir/elementary/exp.c):
 *
 *   s = ... + (1.5 2^f + 2 bias)     n = s - (1.5 2^f + 2 bias), an integer
 *   u = bits of s, h = u >> 1        the lowest bits of u are n + 2 bias
 *   (p * float of h << f) * float of (u - h) << f
 *
 * or, where what rounds to 0 is to be 0 without an underflow, with the last factor `where zero, 0, ...`.
 * These lanes are masked.
 *
 * Since p is near 1, the first product is exact and the second one is rounded once, just as p 2^n is by
 * AVX-512's instruction for it (scalef). */
#include "codegen/llvm/llvm.h"

#include <math.h>

enum {
  ZMM_BYTES = 64, /* of a zmm register: only AVX-512 intrinsics of that width take a rounding mode */
  MASK_BITS = 8   /* of the smallest mask of an intrinsic */
};

typedef struct scaled {
  ir_ref p, s, zero; /* zero: a bool, or 0 */
  double magic;
} scaled;

static bool is_int(const ir_graph *g, ir_ref ref, int64_t value) {
  int64_t found;
  return ir_is_const(g, ref, &found) && found == value;
}

/* The integer v where ref is the float whose bits are v << fraction; else 0. */
static ir_ref exponent_of(const ir_graph *g, ir_ref ref, int fraction) {
  const ir_node *n = ir_get(g, ref);
  if (n->op != IR_OP_BITCAST) return 0;
  n = ir_get(g, n->src[0]);
  return n->op == IR_OP_SHL && is_int(g, n->src[1], fraction) ? n->src[0] : 0;
}

/* Is ref the product of *other and the float of an exponent? */
static bool read_product(const ir_graph *g, ir_ref ref, int fraction, ir_ref *other, ir_ref *exponent) {
  const ir_node *n = ir_get(g, ref);
  for (uint32_t i = 0; i < 2 && n->op == IR_OP_MUL; i++) {
    *other = n->src[1 - i];
    if ((*exponent = exponent_of(g, n->src[i], fraction)) != 0) return true;
  }
  return false;
}

/* Is ref such a product whose float may be 0 in some lanes, those of *zero? */
static bool read_masked_product(const ir_graph *g, ir_ref ref, int fraction, ir_ref *other, ir_ref *exponent,
                                ir_ref *zero) {
  const ir_node *n = ir_get(g, ref);
  *zero = 0;
  if (read_product(g, ref, fraction, other, exponent)) return true;
  for (uint32_t i = 0; i < 2 && n->op == IR_OP_MUL; i++) {
    const ir_node *chosen = ir_get(g, n->src[i]);
    if (chosen->op != IR_OP_WHERE || ir_op_of(g, chosen->src[1]) != IR_OP_CONST ||
        ir_const_value(g, chosen->src[1]).f != 0 || signbit(ir_const_value(g, chosen->src[1]).f))
      continue;
    *other = n->src[1 - i], *zero = chosen->src[0];
    if ((*exponent = exponent_of(g, chosen->src[2], fraction)) != 0) return true;
  }
  return false;
}

static bool read_scaled(const ir_graph *g, ir_ref ref, scaled *out) {
  bool wide = ir_dtype_of(g, ref) == IR_F64;
  int fraction = wide ? 52 : 23, bias = wide ? 1023 : 127;
  ir_ref first, half, rest;
  if (!read_masked_product(g, ref, fraction, &first, &rest, &out->zero) ||
      !read_product(g, first, fraction, &out->p, &half))
    return false;
  const ir_node *h = ir_get(g, half), *r = ir_get(g, rest);
  if (h->op != IR_OP_SHR || !is_int(g, h->src[1], 1) || r->op != IR_OP_SUB || r->src[0] != h->src[0] ||
      r->src[1] != half)
    return false;
  const ir_node *bits = ir_get(g, h->src[0]);
  if (bits->op != IR_OP_BITCAST || ir_dtype_of(g, bits->src[0]) != ir_dtype_of(g, ref)) return false;
  out->s = bits->src[0];
  out->magic = ldexp(1.5, fraction) + 2 * bias;
  const ir_node *sum = ir_get(g, out->s);
  if (sum->op != IR_OP_FMA && sum->op != IR_OP_ADD) return false;
  ir_ref added = sum->src[sum->nsrc - 1];
  return ir_op_of(g, added) == IR_OP_CONST && ir_const_value(g, added).f == out->magic;
}

/* The intrinsic for ref if that is a product with a power of two; NULL if it is none, or the target has
 * none. */
static const char *find_scaled(const cg_emitter *e, ir_ref ref, scaled *out) {
  ir_dtype dtype = ir_dtype_of(e->g, ref);
  if (ir_op_of(e->g, ref) != IR_OP_MUL || (dtype != IR_F32 && dtype != IR_F64)) return NULL;
  const char *name = cg_target_scale(e->target, (unsigned)ir_dtypes[dtype].bytes, e->nest->width[ref]);
  if (!name || !read_scaled(e->g, ref, out)) return NULL;
  return out->zero && e->nest->width[ref] < MASK_BITS ? NULL : name;
}

bool cg_visit_scaled(void *emitter, ir_ref ref, void (*visit)(void *, ir_ref), void *user) {
  scaled found;
  if (!find_scaled(emitter, ref, &found)) return false;
  visit(user, found.p);
  visit(user, found.s);
  if (found.zero) visit(user, found.zero);
  return true;
}

LLVMValueRef cg_emit_scaled(cg_emitter *e, ir_ref ref) {
  ir_dtype dtype = ir_dtype_of(e->g, ref);
  uint32_t width = e->nest->width[ref];
  scaled found;
  const char *name = find_scaled(e, ref, &found);
  if (!name) return NULL;
  LLVMTypeRef type = cg_type(e, dtype, 1), mask = LLVMIntTypeInContext(e->context, width < 8 ? 8 : width);
  LLVMValueRef p = cg_fetch(e, found.p, width), magic = cg_real_const(type, width, found.magic);
  LLVMValueRef n = LLVMBuildFSub(e->b, cg_fetch(e, found.s, width), magic, "");
  LLVMValueRef nearest = LLVMConstInt(LLVMInt32TypeInContext(e->context), 4, 0); /* in the current mode */
  bool whole = width * (unsigned)ir_dtypes[dtype].bytes == ZMM_BYTES;
  LLVMValueRef lanes = LLVMConstAllOnes(mask), other = p;
  if (found.zero) {
    LLVMValueRef kept = LLVMBuildNot(e->b, cg_fetch(e, found.zero, width), "");
    lanes = LLVMBuildBitCast(e->b, kept, mask, "");
    other = LLVMConstNull(LLVMTypeOf(p));
  }
  LLVMValueRef args[] = {p, n, other, lanes, nearest};
  return cg_intrinsic(e, name, NULL, 0, args, whole ? 5 : 4);
}
