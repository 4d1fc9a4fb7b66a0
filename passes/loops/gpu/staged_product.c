/* Products of groups of work-items, staged in locals. A tile of rows and columns needs each element of one
 * operand once for each of its columns, and of the other once for each of its rows. So operands are staged, a
 * K block of terms at a time: each iteration of a loop over K blocks first copies what the tile needs of the
 * block to locals, as the views of the operands say, with work-items along what is contiguous in memory; then
 * every work-item adds the products of its rows and columns.
 *
 * Double buffering. Where there is room for two K blocks, an iteration copies the block of the next one, and
 * adds the products of the block that the iteration before copied: memory is read while sums are computed,
 * and one barrier in each iteration is enough. The first K block is copied before the loop; the last
 * iteration copies its own block again.
 *
 * The ranges of a sum become one range of terms: the index along each is divided out of the term's number
 * where a K block is copied, and not where products are added. The order of terms stays. Terms past the last
 * one are zero. */
#include "gpu.h"

#include "passes/index/index.h"
#include "passes/loops/reduce.h"
#include "passes/patterns/identity.h"

enum { LINE_PAD = 1 }; /* element between lines of a local, where they are read one element at a time */

typedef struct product {
  loop_place *p;
  loop_nest *n;
  ir_ref reduce;
  int items; /* work-items of the group */
  ir_ref terms;
  int64_t k_block;  /* terms of a K block */
  bool ahead;       /* double buffering */
  bool matrix;      /* by matrix instructions: f16 or bf16 */
  ir_ref range[2];  /* over K blocks, over the terms of one */
  const ir_ref *at; /* by axis: the index of a work-item */
  struct {
    ir_ref value, local;
    uint32_t axis;
    int64_t width, pitch; /* of the tile along the axis; from one line of the local to the next */
    bool transposed; /* a line holds the rows or columns of one term, else the terms of one row or column */
  } side[2];
} product;

static int64_t known_value(const ir_graph *g, ir_ref e) {
  int64_t value;
  return e && ir_is_const(g, e, &value) ? value : 0;
}

/* The only axis with lanes that the operand depends on; axis_count: there are none, or several. */
static uint32_t side_of(const loop_nest *n, ir_ref value) {
  uint32_t found = n->axis_count, count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].lanes > 1 && affine_depends(n->g, value, n->axes[a].range)) found = a, count++;
  return count == 1 ? found : n->axis_count;
}

/* Does a load below the value give the index of another one? Then it cannot be masked past the last term. */
static bool is_indirect(const loop_nest *n, ir_ref value) {
  ir_ref loads[LOOP_MAX_LOADS], inner[2];
  uint32_t count = affine_find_range(n->g, value, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  bool indirect = count == LOOP_MAX_LOADS || affine_find_range(n->g, value, IR_OP_BOUND, inner, 1);
  for (uint32_t i = 0; i < count && !indirect; i++)
    indirect = affine_find_range(n->g, loads[i], IR_OP_LOAD, inner, 2) > 1;
  return indirect;
}

/* Bytes that are left for locals of the kernel. */
static int64_t room_of(const loop_nest *n) { return n->target->local_bytes - n->locals->bytes; }

/* Are the operand's terms contiguous in memory, rather than its rows or columns? */
static bool terms_are_contiguous(const product *s, int i) {
  const ir_node *r = ir_get(s->n->g, s->reduce);
  ir_ref value = s->side[i].value, last = r->src[r->nsrc - 1];
  return loop_lane_score(s->n, value, last, 1) >
         loop_lane_score(s->n, value, s->n->axes[s->side[i].axis].range, 1);
}

/* Plans operands of matrix instructions: they stay as narrow as in memory, and transposed or not as there. */
static bool plan_matrix(product *s) {
  loop_nest *n = s->n;
  uint32_t column = s->side[0].axis == n->lane_axis ? 0 : 1;
  const loop_axis *a = &n->axes[s->side[!column].axis], *b = &n->axes[s->side[column].axis];
  bool transposed[] = {!terms_are_contiguous(s, 0), !terms_are_contiguous(s, 1)};
  int64_t size = 0;
  if (!loop_suits_matrix(n, s->reduce) || !loop_is_matrix_tile(n, a, b)) return false;
  for (int i = 0; i < 2; i++) size += loop_matrix_elements(s->side[i].width, transposed[i]);
  if (size * ir_dtypes[IR_BF16].bytes > room_of(n)) return false;
  for (int i = 0; i < 2; i++) {
    s->side[i].transposed = transposed[i];
    s->side[i].value = loop_narrow(n->g, s->side[i].value);
    s->side[i].pitch = loop_matrix_pitch(s->side[i].width, transposed[i]);
  }
  s->k_block = MATRIX_TERMS;
  return true;
}

/* Bytes of one term in both locals. */
static int64_t bytes_each(const product *s) {
  int64_t each = 0;
  for (int i = 0; i < 2; i++)
    each += s->side[i].pitch * ir_dtypes[ir_dtype_of(s->n->g, s->side[i].value)].bytes;
  return each;
}

/* Fills in the plan. False where the place does not hold the whole tile of the group, with equal unroll
 * factors in all work-items, where the operands do not depend on one side of the tile each, or there is no
 * room. */
static bool plan_staging(product *s) {
  loop_nest *n = s->n;
  const loop_place *p = s->p;
  const ir_node *r = ir_get(n->g, s->reduce), *term = ir_get(n->g, r->src[0]);
  s->terms = ir_index(n->g, 1), s->items = 1;
  for (uint32_t i = 1; i < r->nsrc; i++) s->terms = pass_mul(n->g, s->terms, ir_src(n->g, r->src[i], 0));
  for (uint32_t i = 0; i < p->lane_count; i++)
    if (p->bindings[i] == IR_VECTOR) s->items *= (int)known_value(n->g, ir_src(n->g, p->lanes[i], 0));
  for (int i = 0; i < 2; i++) {
    s->side[i].value = term->src[i];
    s->side[i].axis = side_of(n, term->src[i]);
    if (s->side[i].axis == n->axis_count || ir_dtype_of(n->g, term->src[i]) != r->dtype) return false;
    s->side[i].width = known_value(n->g, p->tile_left[s->side[i].axis]);
    if (!s->side[i].width) return false;
    int contiguous_count = n->axes[s->side[i].axis].contiguous_elements;
    s->side[i].transposed = true;
    s->side[i].pitch = s->side[i].width + (contiguous_count ? contiguous_count : LINE_PAD);
  }
  int64_t items = (int64_t)n->axes[s->side[0].axis].lanes * n->axes[s->side[1].axis].lanes;
  if (s->side[0].axis == s->side[1].axis || items != s->items ||
      known_value(n->g, s->terms) < LOOP_MIN_K_TERMS)
    return false;
  s->matrix = plan_matrix(s);
  if (!s->matrix) {
    const loop_k_room room = {.all = known_value(n->g, s->terms),
                              .width = {s->side[0].width, s->side[1].width},
                              .items = s->items,
                              .bytes_each = bytes_each(s),
                              .bytes = room_of(n)};
    s->k_block = loop_choose_k_block(&room, &s->ahead);
  }
  bool even = known_value(n->g, s->terms) % s->k_block == 0;
  for (int i = 0; i < 2 && !even; i++)
    if (is_indirect(n, s->side[i].value)) return false;
  return s->k_block >= LOOP_MIN_K_TERMS && (n->bound_count || !s->ahead) &&
         n->locals->count + 2 <= IR_MAX_LOCALS;
}

/* The indices of the sum's ranges at a term; the last one varies fastest. */
static void indices_of(const product *s, ir_ref term, ir_ref *ranges, ir_ref *at) {
  ir_graph *g = s->n->g;
  const ir_node *r = ir_get(g, s->reduce);
  for (uint32_t i = r->nsrc; i-- > 1;) {
    ir_ref size = ir_src(g, r->src[i], 0);
    ranges[i - 1] = r->src[i];
    at[i - 1] = i > 1 ? pass_mod(g, term, size) : term;
    if (i > 1) term = pass_div(g, term, size);
  }
}

/* The index in operand i's local, for row or column `across` at `term` of K block number `k_block`. */
static ir_ref local_index(const product *s, int i, ir_ref k_block, ir_ref term, ir_ref across) {
  ir_graph *g = s->n->g;
  int64_t pitch = s->side[i].pitch;
  if (!s->side[i].transposed) return pass_add(g, pass_mul_int(g, across, pitch), term);
  ir_ref half = s->ahead ? pass_mul_int(g, pass_mod_int(g, k_block, 2), s->k_block * pitch) : ir_index(g, 0);
  return pass_add(g, half, pass_add(g, pass_mul_int(g, term, pitch), across));
}

/* The ranges of the loops around the group's tile that the nest's `bound` lacks: these loops are also around
 * the copies of operands to locals. */
static uint32_t tile_ranges(const loop_place *p, ir_ref out[MAX_LEVELS]) {
  const loop_nest *n = p->n;
  uint32_t count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    ir_ref found[MAX_FOUND_RANGES];
    uint32_t all = affine_find_range(n->g, p->tile_start[a], IR_OP_RANGE, found, MAX_FOUND_RANGES);
    for (uint32_t i = 0; i < all; i++) {
      bool bound = false;
      for (uint32_t k = 0; k < n->bound_count; k++) bound |= n->bound[k] == found[i];
      if (!bound && count < MAX_LEVELS) out[count++] = found[i];
    }
  }
  return count;
}

/* Contiguous elements that each work-item copies as one unit, all work-items as many units. */
typedef struct unit {
  ir_ref copy, item, element; /* ranges; 0: not copied in units */
} unit;

static unit in_units(product *s, int i, int64_t size, ir_ref *term, ir_ref *across) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  bool transposed = s->side[i].transposed;
  int64_t all = s->side[i].width * s->k_block / size,
          line = (transposed ? s->side[i].width : s->k_block) / size;
  if (!s->matrix || all % s->items != 0) return (unit){0};
  unit u = {.copy = loop_fresh_range(n, ir_index(g, all / s->items)),
            .item = loop_fresh_range(n, ir_index(g, s->items)),
            .element = loop_fresh_range(n, ir_index(g, size))};
  ir_ref number, at = loop_matrix_unit(g, u.copy, u.item, s->items, line, !transposed, &number);
  at = pass_add(g, pass_mul_int(g, at, size), u.element);
  *term = transposed ? number : at, *across = transposed ? at : number;
  return u;
}

/* The operand at a term of the K block; zero past the last term. */
static ir_ref operand_at(product *s, int i, ir_ref k_block, ir_ref term, ir_ref across) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref from[2 * MAX_NEST], to[2 * MAX_NEST], value = s->side[i].value;
  uint32_t axis = s->side[i].axis, count = n->axis_count, terms = ir_get(g, s->reduce)->nsrc - 1;
  ir_ref term_index = pass_add(g, pass_mul_int(g, k_block, s->k_block), term);
  for (uint32_t a = 0; a < count; a++) {
    from[a] = n->axes[a].range;
    to[a] = a == axis ? pass_add(g, s->p->tile_start[a], across) : s->at[a];
  }
  indices_of(s, term_index, from + count, to + count);
  value = pass_substitute(g, value, from, to, count + terms);
  return loop_masked_value(g, value, pass_compare(g, IR_OP_LT, term_index, s->terms),
                           pass_identity(g, IR_OP_ADD, ir_dtype_of(g, value)));
}

/* Is the value an unmasked load of `size` contiguous elements, the first at a multiple of `size`? */
static bool reads_whole(const product *s, ir_ref value, ir_ref element, int64_t size) {
  ir_graph *g = s->n->g;
  const ir_node *n = ir_get(g, value);
  int64_t stride, remainder;
  if (n->op != IR_OP_LOAD || !ir_is_true(g, n->src[2]) || !affine_stride(g, n->src[1], element, &stride) ||
      stride != 1)
    return false;
  ir_ref zero = ir_index(g, 0), first = pass_substitute(g, n->src[1], &element, &zero, 1);
  return first && ir_is_const(g, pass_mod_int(g, first, size), &remainder) && remainder == 0;
}

/* Copies operand i's part of K block number `k_block` to its local, to the place of block number `place`. */
static ir_ref copy_to_local(product *s, int i, ir_ref k_block, ir_ref place) {
  enum {
    WHOLE = 8, /* elements of f16 or bf16 in 16 bytes, the most that is read at once */
    PAIR = 2   /* elements in one word, the unit of the matrix instruction */
  };
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref term = 0, across = 0;
  unit units = in_units(s, i, WHOLE, &term, &across);
  ir_ref value = units.copy ? operand_at(s, i, k_block, term, across) : 0;
  if (!value || !reads_whole(s, value, units.element, WHOLE)) {
    units = in_units(s, i, PAIR, &term, &across);
    bool contiguous = terms_are_contiguous(s, i);
    for (int k = 0; k < 2 && !units.copy; k++) /* the inner range is numbered last */
      if (k == contiguous) term = loop_fresh_range(n, ir_index(g, s->k_block));
      else across = loop_fresh_range(n, ir_index(g, s->side[i].width));
    value = operand_at(s, i, k_block, term, across);
  }
  ir_ref index = local_index(s, i, place, term, across);
  if (!value || !index) return 0;
  ir_ref store = ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){s->side[i].local, index, value}, 3);
  if (units.copy)
    return loop_wrap(g, units.copy, IR_UNROLL,
                     loop_wrap(g, units.item, IR_VECTOR, loop_wrap(g, units.element, IR_UNROLL, store)));
  ir_ref bound[MAX_LEVELS + 1] = {s->range[0]};
  return loop_inside_group(n, store, bound, 1 + tile_ranges(s->p, bound + 1), s->items);
}

/* The operand in the work-item's row or column, at a term of the K block, from the local. */
static ir_ref factor(const product *s, int i) {
  ir_graph *g = s->n->g;
  uint32_t axis = s->side[i].axis;
  ir_dtype t = ir_dtype_of(g, s->side[i].value);
  ir_ref index =
      local_index(s, i, s->range[0], s->range[1], pass_sub(g, s->at[axis], s->p->tile_start[axis]));
  ir_ref load =
      ir_make(g, IR_OP_LOAD, t, 0,
              (ir_ref[]){s->side[i].local, index, ir_bool(g, true), pass_identity(g, IR_OP_ADD, t)}, 4);
  return s->matrix && load ? ir_make(g, IR_OP_CAST, IR_F32, 0, &load, 1) : load;
}

static ir_ref carried(const product *s, int loop) {
  return ir_make(s->n->g, IR_OP_CARRY, ir_dtype_of(s->n->g, s->reduce), ir_pack_arg(0, 0), &s->range[loop],
                 1);
}

/* The operand's local: one of each iteration, or one of all iterations inside the loop over groups. */
static ir_ref local_of(product *s, int i) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref over = s->ahead ? n->bound[0] : s->range[0];
  ir_dtype t = ir_dtype_of(g, s->side[i].value);
  int64_t size =
      (s->ahead ? 2 : 1) * (s->side[i].transposed ? s->k_block : s->side[i].width) * s->side[i].pitch;
  n->locals->bytes += size * ir_dtypes[t].bytes;
  return ir_make(g, IR_OP_LOCAL, t,
                 ir_pack_arg(n->locals->count++, s->ahead ? IR_LOCAL_AHEAD : IR_LOCAL_ONCE),
                 (ir_ref[]){ir_index(g, size), over}, 2);
}

/* What an iteration copies. */
static ir_ref copy_for_iteration(product *s, int i, ir_ref iterations) {
  ir_graph *g = s->n->g;
  if (!s->ahead) return copy_to_local(s, i, s->range[0], s->range[0]);
  ir_ref next = pass_add_int(g, s->range[0], 1);
  return copy_to_local(s, i, pass_min(g, next, pass_add_int(g, iterations, -1)), next);
}

ir_ref loop_staged_product(loop_place *p, ir_ref reduce, const ir_ref *at) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  product s = {.p = p, .n = n, .reduce = reduce, .at = at};
  p->before[0] = p->before[1] = 0;
  if (!n->target->local_bytes || !p->is_tile || !loop_multiplies(g, reduce) || !plan_staging(&s)) return 0;
  ir_ref iterations = pass_ceil_div(g, s.terms, ir_index(g, s.k_block)), effects[2], factors[2];
  s.range[0] = loop_fresh_range(n, iterations), s.range[1] = loop_fresh_range(n, ir_index(g, s.k_block));
  for (int i = 0; i < 2; i++) {
    s.side[i].local = local_of(&s, i);
    if (s.ahead && !(p->before[i] = copy_to_local(&s, i, ir_index(g, 0), ir_index(g, 0)))) return 0;
    effects[i] = copy_for_iteration(&s, i, iterations), factors[i] = factor(&s, i);
    if (!effects[i] || !factors[i]) return 0;
  }
  ir_dtype t = ir_dtype_of(g, reduce);
  ir_ref next = loop_add_product(n, ir_src(g, reduce, 0), factors, carried(&s, 1)), first = carried(&s, 0),
         so_far = first;
  if (s.matrix) first = pass_identity(g, IR_OP_ADD, t);
  ir_ref inner[] = {s.range[1], first, next};
  ir_ref sum = next ? ir_make(g, IR_OP_LOOP, t, ir_pack_arg(1, IR_SERIAL), inner, 3) : 0;
  if (s.matrix && sum) sum = ir_binary(g, IR_OP_ADD, so_far, sum);
  ir_ref outer[] = {s.range[0], pass_identity(g, IR_OP_ADD, t), sum,
                    ir_make(g, IR_OP_SEQ, IR_NONE, 0, effects, 2)};
  return sum ? ir_make(g, IR_OP_LOOP, t, ir_pack_arg(1, IR_SERIAL), outer, 4) : 0;
}
