/* Products of integers of 8 bits, four at a time.
 *
 * Four consecutive terms of each operand fit in a word of 32 bits, and DOT4 of two words is the sum of their
 * products, of unsigned bytes of one operand with signed bytes of the other. On targets that have the
 * instruction, it does four times as many multiplications as one of 32 bits.
 *
 * An operand is u + p, where u holds bytes, and p does not vary along the terms: the zero point of a
 * quantised tensor, and 128 where bytes are made unsigned, or signed, by subtracting or adding it. The sum
 * over k is then
 *
 *   sum (u + p) (s + q)  =  sum u s  +  p sum s  +  q sum u  +  K p q
 *
 * in integers that wrap, in any order. Of a constant operand the sum of its bytes is computed once. */
#include "pack.h"

#include "passes/ops/check.h"

enum {
  MIN_TERMS = 16, /* of the summed axis: four words; making these costs about as much as multiplying fewer */
  MIN_PART = 3, /* of that of an operand of windows, whose words are made once: three channels of an image */
  MAX_DEPTH = PASS_MAX_VIEWS, /* operations between an operand and its conversion from 8 bits */
  SHIFT = 128                 /* between unsigned and signed bytes */
};

/* bytes + point, or bytes - point where it is subtracted. */
typedef struct split {
  ir_ref bytes; /* in 32 bits */
  ir_ref point; /* of the shape of the bytes, or a CONST; 0: none */
  bool subtracted, is_signed;
} split;

static bool is_zero(const ir_graph *g, ir_ref value) {
  return ir_op_of(g, value) == IR_OP_CONST && ir_const_value(g, value).i == 0;
}

/* pads: padding is not read, so that it may have any values. */
static bool split_value(ir_graph *g, ir_ref value, int depth, bool pads, split *out) {
  const ir_node *n = ir_get(g, value);
  if (depth == MAX_DEPTH) return false;
  if (n->op == IR_OP_STORED) return split_value(g, n->src[0], depth + 1, pads, out);
  if (n->op == IR_OP_CAST) {
    ir_dtype from = ir_dtype_of(g, n->src[0]);
    *out = (split){.bytes = value, .is_signed = from == IR_I8};
    return from == IR_I8 || from == IR_U8 || from == IR_BOOL;
  }
  if (ir_ops[n->op].cls == IR_CLASS_VIEW) {
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK || (n->op == IR_OP_PAD && !pads) ||
        !split_value(g, n->src[0], depth + 1, pads, out))
      return false;
    out->bytes = pack_view_on(g, value, out->bytes);
    if (out->point && ir_op_of(g, out->point) != IR_OP_CONST) out->point = pack_view_on(g, value, out->point);
    return out->bytes != 0;
  }
  if (n->op != IR_OP_ADD && n->op != IR_OP_SUB) return false;
  int point = 1;
  if (!split_value(g, n->src[0], depth + 1, pads, out)) {
    if (n->op == IR_OP_SUB || !split_value(g, n->src[1], depth + 1, pads, out)) return false;
    point = 0;
  }
  if (is_zero(g, n->src[point])) return true;
  if (out->point) return false;
  out->point = n->src[point], out->subtracted = n->op == IR_OP_SUB;
  return true;
}

static bool split_operand(const pass_contraction *c, const pass_operand *o, split *out) {
  return pass_contraction_size(c, c->reduced & ~o->varies) == 1 &&
         split_value(c->g, o->value, 0, ir_is_true(c->g, o->valid), out) &&
         (!out->point || pass_contraction_is_fixed(c, out->point));
}

static ir_ref grown(const pass_contraction *c, ir_ref x) {
  const ir_node *shape = ir_get(c->g, ir_shape(c->g, c->sum));
  return x ? op_grow(c->g, x, shape->src, shape->nsrc) : 0;
}

/* What is added to the bytes of an operand, of the shape of the sum, or one number: the point, and `shift`. 0
 * where *any is false: nothing. */
static ir_ref added(const pass_contraction *c, const split *s, int shift, bool *any) {
  ir_graph *g = c->g;
  ir_ref number = ir_int(g, c->dtype, shift);
  *any = s->point || shift;
  if (!s->point) return shift ? number : 0;
  if (ir_op_of(g, s->point) == IR_OP_CONST) {
    int64_t point = ir_const_value(g, s->point).i;
    return ir_int(g, c->dtype, (s->subtracted ? -point : point) + shift);
  }
  ir_ref x = pass_contraction_kept(c, s->point);
  if (x && s->subtracted) x = ir_unary(g, IR_OP_NEG, x);
  return x && shift ? ir_binary(g, IR_OP_ADD, x, number) : x;
}

/* The sum of an operand's bytes over the terms, stored, in the shape of the sum. */
static ir_ref sum_of_bytes(const pass_contraction *c, const pass_operand *o) {
  ir_ref x = pack_unexpanded(c, o), sum = x ? pack_sum(c, x, c->reduced) : 0;
  return grown(c, sum ? ir_unary(c->g, IR_OP_STORED, sum) : 0);
}

/* The product of two numbers, of arrays, or of an array and a number, which comes second. */
static ir_ref product_of(ir_graph *g, ir_ref a, ir_ref b) {
  bool number[2] = {ir_op_of(g, a) == IR_OP_CONST, ir_op_of(g, b) == IR_OP_CONST};
  if (number[0] && number[1])
    return ir_int(g, ir_dtype_of(g, a),
                  (int32_t)((uint32_t)ir_const_value(g, a).i * (uint32_t)ir_const_value(g, b).i));
  return number[0] ? ir_binary(g, IR_OP_MUL, b, a) : ir_binary(g, IR_OP_MUL, a, b);
}

/* Adds product times factor to *more. */
static bool add_times(const pass_contraction *c, ir_ref *more, ir_ref product, ir_ref factor) {
  ir_ref term = product && factor ? product_of(c->g, product, factor) : 0;
  *more = term && *more ? ir_binary(c->g, IR_OP_ADD, *more, term) : term;
  return *more != 0;
}

static bool terms_of(const pass_contraction *c, int64_t *terms) {
  int64_t size;
  *terms = 1;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!(c->reduced >> i & 1)) continue;
    if (!ir_is_const(c->g, ir_dim(c->g, c->operand[0].value, i), &size) || *terms > INT32_MAX) return false;
    *terms *= size;
  }
  return true;
}

/* The operand whose bytes are unsigned. Where one of both is shifted, the other one's bytes are added up:
 * those of a constant, once, or of the smaller operand. */
static int operand_of_unsigned(const pass_contraction *c, const split s[2], const bool constant[2]) {
  if (s[0].is_signed != s[1].is_signed) return s[0].is_signed;
  int smaller =
          pass_contraction_size(c, c->operand[1].varies) < pass_contraction_size(c, c->operand[0].varies),
      added_up = constant[0] != constant[1] ? constant[1] : smaller;
  return s[0].is_signed ? !added_up : added_up;
}

/* The longest axis along which four terms can be one word of each operand. */
static bool find_axis(const pass_contraction *c, const split s[2], uint32_t *axis) {
  bool window[2] = {pack_is_window(c, &c->operand[0]), pack_is_window(c, &c->operand[1])};
  int64_t longest = 0, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    uint32_t both = c->reduced & c->operand[0].varies & c->operand[1].varies;
    if (!(both >> i & 1) || !ir_is_const(c->g, ir_dim(c->g, c->operand[0].value, i), &size)) continue;
    bool good = size > longest && size >= (window[0] || window[1] ? MIN_PART : MIN_TERMS);
    for (int k = 0; k < 2 && good; k++) good = !window[k] || pack_has_window_words(c, s[k].bytes, i, 4);
    if (good) longest = size, *axis = i;
  }
  return longest > 0;
}

ir_ref pack_quads(const pass_contraction *c, const bool constant[2], ir_ref *more) {
  ir_graph *g = c->g;
  split s[2];
  uint32_t axis;
  int64_t terms;
  *more = 0;
  if ((c->dtype != IR_I32 && c->dtype != IR_U32) || c->term != IR_OP_MUL || c->rank == IR_MAX_RANK ||
      !terms_of(c, &terms) || !split_operand(c, &c->operand[0], &s[0]) ||
      !split_operand(c, &c->operand[1], &s[1]) || terms < MIN_TERMS || !find_axis(c, s, &axis))
    return c->sum;
  int u = operand_of_unsigned(c, s, constant);
  int shift[2] = {0, 0};
  if (s[u].is_signed) shift[u] = -SHIFT;
  if (!s[!u].is_signed) shift[!u] = SHIFT;
  pass_operand o[2] = {c->operand[0], c->operand[1]};
  ir_ref words[2], point[2];
  bool any[2];
  for (int i = 0; i < 2; i++) {
    ir_ref moved = shift[i] ? ir_binary(g, IR_OP_SUB, s[i].bytes, ir_int(g, c->dtype, shift[i])) : s[i].bytes;
    if (!(o[i].value = moved)) return 0;
    words[i] = pack_is_window(c, &c->operand[i]) ? pack_window_words(c, s[i].bytes, shift[i], axis, 4)
                                                 : pack_words(c, &o[i], axis, 4);
    if (!words[i]) return 0;
    point[i] = added(c, &s[i], shift[i], &any[i]);
    if (any[i] && !point[i]) return 0;
  }
  for (int i = 0; i < 2; i++)
    if (any[i] && !add_times(c, more, sum_of_bytes(c, &o[!i]), point[i])) return 0;
  if (any[0] && any[1]) {
    ir_ref both = product_of(g, point[0], point[1]);
    if (!both || !add_times(c, more, both, ir_int(g, c->dtype, terms))) return 0;
  }
  return pack_sum(c, ir_binary(g, IR_OP_DOT4, words[u], words[!u]), c->reduced);
}
