/* Products of f16 or bf16 on targets with matrix instructions: which can be computed by these, and how their
 * operands lie in locals.
 *
 * The instruction may truncate each addend where an f32 as large as the largest addend ends: an error of up
 * to 2u of that one for each term, and 2u of each sum. So the sum of a K block begins with zero, and is added
 * to the sum of the K blocks before it, rounded to nearest: of k terms, in K blocks of s of them, the error
 * is below (2.25 s + k/s) u of the sum of absolute products, and within k u of it where k is at least
 * MATRIX_MIN_TERMS and s at most MATRIX_TERMS. */
#include "gpu.h"

#include "passes/index/index.h"
#include "passes/patterns/contraction.h"

enum { LINE_PAD = 8 }; /* elements of f16 between lines: 16 bytes, the unit in which locals are read */

ir_ref loop_narrow(const ir_graph *g, ir_ref value) {
  if (ir_op_of(g, value) != IR_OP_CAST || ir_dtype_of(g, value) != IR_F32) return 0;
  ir_ref from = ir_src(g, value, 0);
  ir_dtype t = ir_dtype_of(g, from);
  return t == IR_F16 || t == IR_BF16 ? from : 0;
}

bool loop_suits_matrix(const loop_nest *n, ir_ref reduce) {
  const ir_node *r = ir_get(n->g, reduce), *term = ir_get(n->g, r->src[0]);
  int64_t terms = 1, size;
  if (!n->target->matrix || n->target->together != IR_MATRIX_ITEMS || !n->target->has_fma ||
      r->dtype != IR_F32 || !pass_is_product(n->g, r->src[0]))
    return false;
  ir_ref a = loop_narrow(n->g, term->src[0]), b = loop_narrow(n->g, term->src[1]);
  for (uint32_t i = 1; i < r->nsrc; i++) {
    if (!ir_is_const(n->g, ir_src(n->g, r->src[i], 0), &size) || size < 1 || size > LOOP_MAX_WORK)
      return false;
    terms = terms * size < LOOP_MAX_WORK ? terms * size : LOOP_MAX_WORK;
  }
  return a && b && ir_dtype_of(n->g, a) == ir_dtype_of(n->g, b) && terms >= MATRIX_MIN_TERMS;
}

/* Lines are padded against bank conflicts: eight rows, of any eight terms or of one after the other, are in
 * different banks 16 bytes at a time, or two by two where lines of a tile eight wide are read. */
int64_t loop_matrix_pitch(int64_t width, bool transposed) {
  return (transposed ? width : MATRIX_TERMS) + LINE_PAD;
}

int64_t loop_matrix_elements(int64_t width, bool transposed) {
  return (transposed ? MATRIX_TERMS : width) * loop_matrix_pitch(width, transposed);
}

/* Contiguous elements in memory are staged one unit at a time, in order of work-items. Where lines are the
 * terms of rows, 20 words apart in the local, neighbours stage rows that are four apart: so the stores of
 * work-items that run in lockstep go to different banks. */
ir_ref loop_matrix_unit(ir_graph *g, ir_ref copy, ir_ref item, int items, int64_t units, bool terms,
                        ir_ref *line) {
  enum { ROWS = 8, APART = 4 }; /* lines, of 32 terms, in an order in which ROWS of them alternate by APART */
  ir_ref number = pass_add(g, pass_mul_int(g, copy, items), item);
  ir_ref at = *line = pass_div_int(g, number, units);
  if (terms && items / units % ROWS == 0)
    *line = pass_add(g, pass_mul_int(g, pass_mod_int(g, at, 2), APART),
                     pass_add(g, pass_mod_int(g, pass_div_int(g, at, 2), APART),
                              pass_mul_int(g, pass_div_int(g, at, ROWS), ROWS)));
  return pass_mod_int(g, number, units);
}
