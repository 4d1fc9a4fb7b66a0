/* Products of groups of work-items. A tile of rows and columns reads each element of an operand once for each
 * of its columns, or rows. So an operand goes through a local, a slab of terms at a time: each round of a
 * loop over slabs first takes what the tile needs of them, as the views of the operand say, with work-items
 * along what is side by side in memory; then every work-item adds the products of its own rows and columns.
 *
 * Where both slabs of two rounds have room, a round takes the slab of the next one, and adds what the round
 * before took: memory is read while sums are computed, and one wait for each other is enough. The first slab
 * is taken before all rounds; the last round takes its own again.
 *
 * The ranges of a sum are one there: positions along each are divided out of the term's number while a slab
 * is taken, and not where terms are added. Their order is that of the terms. Terms behind the last one are
 * zero. */
#include "gpu.h"

#include "passes/index/index.h"
#include "passes/loops/reduce.h"
#include "passes/patterns/identity.h"

enum { MAX_LOADS = 64, MOST_TERMS = 32, TERMS = 16, FEWEST_TERMS = 8, PAD = 1 };
enum { FEW_AHEAD = 4 }; /* elements of an operand that wait in a work-item's registers */

typedef struct product {
  loop_place *p;
  loop_nest *n;
  ir_ref reduce;
  int items; /* work-items of the group */
  ir_ref terms;
  int64_t slab;     /* of so many terms */
  bool ahead;       /* slabs are taken a round ahead */
  bool matrix;      /* by matrix instructions: f16 or bf16 */
  ir_ref range[2];  /* over slabs, over the terms of one */
  const ir_ref *at; /* by axis: the position of a work-item */
  ir_ref position;  /* a term's */
  struct {
    ir_ref value, local;
    uint32_t axis;
    int64_t width, pitch; /* of the tile along it; from one line of the local to the next */
    bool turned;          /* lines are terms, else the terms of a row or column each */
  } side[2];
} product;

static int64_t known(const ir_graph *g, ir_ref e) {
  int64_t value;
  return e && ir_is_const(g, e, &value) ? value : 0;
}

/* Of the axes with lanes the one that the operand moves along; axis_count: it is not one of them. */
static uint32_t side_of(const loop_nest *n, ir_ref value) {
  uint32_t found = n->axis_count, count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (n->axes[a].lanes > 1 && loop_depends(n->g, value, n->axes[a].range)) found = a, count++;
  return count == 1 ? found : n->axis_count;
}

/* Loads below the value say where to read by others: these cannot be kept from reading behind the end. */
static bool is_indirect(const loop_nest *n, ir_ref value) {
  ir_ref loads[MAX_LOADS], inner[2];
  uint32_t count = loop_find(n->g, value, IR_OP_LOAD, loads, MAX_LOADS);
  bool indirect = count == MAX_LOADS || loop_find(n->g, value, IR_OP_BOUND, inner, 1);
  for (uint32_t i = 0; i < count && !indirect; i++)
    indirect = loop_find(n->g, loads[i], IR_OP_LOAD, inner, 2) > 1;
  return indirect;
}

/* Bytes of locals that the kernel has left. */
static int64_t room_of(const loop_nest *n) { return n->target->local_bytes - n->locals->bytes; }

/* Do the operand's terms lie side by side in memory, rather than its rows or columns? */
static bool lies_along(const product *s, int i) {
  const ir_node *r = ir_get(s->n->g, s->reduce);
  ir_ref value = s->side[i].value, last = r->src[r->nsrc - 1];
  return loop_lane_score(s->n, value, last, 1) >
         loop_lane_score(s->n, value, s->n->axes[s->side[i].axis].range, 1);
}

/* Operands by matrix instructions: they are as wide as in memory, and lie as they do there. */
static bool plan_matrix(product *s) {
  loop_nest *n = s->n;
  uint32_t column = s->side[0].axis == n->along ? 0 : 1;
  const loop_axis *a = &n->axes[s->side[!column].axis], *b = &n->axes[s->side[column].axis];
  bool turned[] = {!lies_along(s, 0), !lies_along(s, 1)};
  int64_t size = 0;
  if (!loop_suits_matrix(n, s->reduce) || !loop_is_matrix_tile(n, a, b)) return false;
  for (int i = 0; i < 2; i++) size += loop_matrix_elements(s->side[i].width, turned[i]);
  if (size * ir_dtypes[IR_BF16].bytes > room_of(n)) return false;
  for (int i = 0; i < 2; i++) {
    s->side[i].turned = turned[i];
    s->side[i].value = loop_narrow(n->g, s->side[i].value);
    s->side[i].pitch = loop_matrix_pitch(s->side[i].width, turned[i]);
  }
  s->slab = MATRIX_TERMS;
  return true;
}

/* Bytes of one term in both locals. */
static int64_t bytes_each(const product *s) {
  int64_t each = 0;
  for (int i = 0; i < 2; i++)
    each += s->side[i].pitch * ir_dtypes[ir_dtype_of(s->n->g, s->side[i].value)].bytes;
  return each;
}

/* So many terms that a slab of them is in the locals twice over, one that divides all of them if there is. */
static int64_t slab_of(const product *s) {
  const loop_nest *n = s->n;
  int64_t room = room_of(n) / 2, each = bytes_each(s), all = known(n->g, s->terms), most = MOST_TERMS;
  while (most >= FEWEST_TERMS && most * each > room) most--;
  if (most > all) most = all;
  for (int64_t terms = most; terms >= FEWEST_TERMS; terms--)
    if (all % terms == 0 && (terms % FEWEST_TERMS == 0 || terms == all)) return terms;
  return most < TERMS ? most : TERMS;
}

/* Is there room for two slabs of so many terms, of which each work-item takes few elements, and are there
 * several? */
static bool fits_ahead(const product *s, int64_t terms) {
  bool few = true;
  for (int i = 0; i < 2; i++) few &= s->side[i].width * terms <= (int64_t)FEW_AHEAD * s->items;
  return few && 2 * terms * bytes_each(s) <= room_of(s->n) && known(s->n->g, s->terms) > terms;
}

/* Terms of a slab that is taken a round ahead, which divide all of them if possible; 0: none fits. */
static int64_t slab_ahead(const product *s) {
  int64_t all = known(s->n->g, s->terms), most = 0;
  for (int64_t terms = MOST_TERMS; terms >= FEWEST_TERMS; terms -= FEWEST_TERMS) {
    if (!fits_ahead(s, terms)) continue;
    if (all % terms == 0) return terms;
    if (!most) most = terms;
  }
  return most;
}

/* Is the whole of the group's tile at hand, each work-item with as many copies as any other, and do the
 * operands have a side each? */
static bool plan(product *s) {
  loop_nest *n = s->n;
  const loop_place *p = s->p;
  const ir_node *r = ir_get(n->g, s->reduce), *term = ir_get(n->g, r->src[0]);
  s->terms = ir_index(n->g, 1), s->items = 1;
  for (uint32_t i = 1; i < r->nsrc; i++) s->terms = pass_mul(n->g, s->terms, ir_src(n->g, r->src[i], 0));
  for (uint32_t i = 0; i < p->lane_count; i++)
    if (p->bindings[i] == IR_VECTOR) s->items *= (int)known(n->g, ir_src(n->g, p->lanes[i], 0));
  for (int i = 0; i < 2; i++) {
    s->side[i].value = term->src[i];
    s->side[i].axis = side_of(n, term->src[i]);
    if (s->side[i].axis == n->axis_count || ir_dtype_of(n->g, term->src[i]) != r->dtype) return false;
    s->side[i].width = known(n->g, p->tile_left[s->side[i].axis]);
    if (!s->side[i].width) return false;
    int beside = n->axes[s->side[i].axis].beside;
    s->side[i].turned = true;
    s->side[i].pitch = s->side[i].width + (beside ? beside : PAD);
  }
  int64_t items = (int64_t)n->axes[s->side[0].axis].lanes * n->axes[s->side[1].axis].lanes;
  if (s->side[0].axis == s->side[1].axis || items != s->items || known(n->g, s->terms) < FEWEST_TERMS)
    return false;
  s->matrix = plan_matrix(s);
  if (!s->matrix) {
    s->slab = slab_ahead(s);
    s->ahead = s->slab > 0;
    if (!s->ahead) s->slab = slab_of(s);
  }
  bool even = known(n->g, s->terms) % s->slab == 0;
  for (int i = 0; i < 2 && !even; i++)
    if (is_indirect(n, s->side[i].value)) return false;
  return s->slab >= FEWEST_TERMS && (n->bound_count || !s->ahead) && n->locals->count + 2 <= IR_MAX_LOCALS;
}

/* The positions of the sum's ranges at a term, the last one fastest. */
static void positions_of(const product *s, ir_ref term, ir_ref *ranges, ir_ref *at) {
  ir_graph *g = s->n->g;
  const ir_node *r = ir_get(g, s->reduce);
  for (uint32_t i = r->nsrc; i-- > 1;) {
    ir_ref size = ir_src(g, r->src[i], 0);
    ranges[i - 1] = r->src[i];
    at[i - 1] = i > 1 ? pass_mod(g, term, size) : term;
    if (i > 1) term = pass_div(g, term, size);
  }
}

/* Of a term of slab number `slab`. */
static ir_ref local_index(const product *s, int i, ir_ref slab, ir_ref term, ir_ref across) {
  ir_graph *g = s->n->g;
  int64_t pitch = s->side[i].pitch;
  if (!s->side[i].turned) return pass_add(g, pass_mul_int(g, across, pitch), term);
  ir_ref half = s->ahead ? pass_mul_int(g, pass_mod_int(g, slab, 2), s->slab * pitch) : ir_index(g, 0);
  return pass_add(g, half, pass_add(g, pass_mul_int(g, term, pitch), across));
}

/* The loops around the group's tile, of which the nest's own are bound already: they are around what takes
 * its operands as well. */
static uint32_t tile_ranges(const loop_place *p, ir_ref out[MAX_DIGITS]) {
  const loop_nest *n = p->n;
  uint32_t count = 0;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    ir_ref found[MAX_FOUND_RANGES];
    uint32_t all = loop_find(n->g, p->tile_start[a], IR_OP_RANGE, found, MAX_FOUND_RANGES);
    for (uint32_t i = 0; i < all; i++) {
      bool bound = false;
      for (uint32_t k = 0; k < n->bound_count; k++) bound |= n->bound[k] == found[i];
      if (!bound && count < MAX_DIGITS) out[count++] = found[i];
    }
  }
  return count;
}

/* Elements side by side that each work-item takes together, all of them as many. */
typedef struct unit {
  ir_ref copy, item, element; /* ranges; 0: it goes otherwise */
} unit;

static unit in_units(product *s, int i, int64_t size, ir_ref *term, ir_ref *across) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  bool turned = s->side[i].turned;
  int64_t all = s->side[i].width * s->slab / size, line = (turned ? s->side[i].width : s->slab) / size;
  if (!s->matrix || all % s->items != 0) return (unit){0};
  unit u = {.copy = loop_fresh_range(n, ir_index(g, all / s->items)),
            .item = loop_fresh_range(n, ir_index(g, s->items)),
            .element = loop_fresh_range(n, ir_index(g, size))};
  ir_ref number, at = loop_matrix_unit(g, u.copy, u.item, s->items, line, !turned, &number);
  at = pass_add(g, pass_mul_int(g, at, size), u.element);
  *term = turned ? number : at, *across = turned ? at : number;
  return u;
}

/* What the operand is at a term of the slab, zero behind the last one. */
static ir_ref operand_at(product *s, int i, ir_ref slab, ir_ref term, ir_ref across) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref from[2 * MAX_NEST], to[2 * MAX_NEST], value = s->side[i].value;
  uint32_t axis = s->side[i].axis, count = n->axis_count, terms = ir_get(g, s->reduce)->nsrc - 1;
  ir_ref position = pass_add(g, pass_mul_int(g, slab, s->slab), term);
  for (uint32_t a = 0; a < count; a++) {
    from[a] = n->axes[a].range;
    to[a] = a == axis ? pass_add(g, s->p->tile_start[a], across) : s->at[a];
  }
  positions_of(s, position, from + count, to + count);
  value = pass_substitute(g, value, from, to, count + terms);
  return loop_only_where(g, value, pass_compare(g, IR_OP_LT, position, s->terms),
                         pass_identity(g, IR_OP_ADD, ir_dtype_of(g, value)));
}

/* Is it read from memory, so many elements side by side from a multiple of them on? */
static bool reads_whole(const product *s, ir_ref value, ir_ref element, int64_t size) {
  ir_graph *g = s->n->g;
  const ir_node *n = ir_get(g, value);
  int64_t stride, rest;
  if (n->op != IR_OP_LOAD || !ir_is_true(g, n->src[2]) || !loop_stride(g, n->src[1], element, &stride) ||
      stride != 1)
    return false;
  ir_ref zero = ir_index(g, 0), first = pass_substitute(g, n->src[1], &element, &zero, 1);
  return first && ir_is_const(g, pass_mod_int(g, first, size), &rest) && rest == 0;
}

/* Takes the operand's part of slab number `slab` into its local, to where that of number `place` is. */
static ir_ref taken(product *s, int i, ir_ref slab, ir_ref place) {
  enum { WHOLE = 8, PAIR = 2 };
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref term = 0, across = 0;
  unit own = in_units(s, i, WHOLE, &term, &across);
  ir_ref value = own.copy ? operand_at(s, i, slab, term, across) : 0;
  if (!value || !reads_whole(s, value, own.element, WHOLE)) {
    own = in_units(s, i, PAIR, &term, &across);
    bool along = lies_along(s, i);
    for (int turn = 0; turn < 2 && !own.copy; turn++) /* the inner one is numbered last */
      if (turn == along) term = loop_fresh_range(n, ir_index(g, s->slab));
      else across = loop_fresh_range(n, ir_index(g, s->side[i].width));
    value = operand_at(s, i, slab, term, across);
  }
  ir_ref index = local_index(s, i, place, term, across);
  if (!value || !index) return 0;
  ir_ref store = ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){s->side[i].local, index, value}, 3);
  if (own.copy)
    return loop_wrap(g, own.copy, IR_UNROLL,
                     loop_wrap(g, own.item, IR_VECTOR, loop_wrap(g, own.element, IR_UNROLL, store)));
  ir_ref bound[MAX_DIGITS + 1] = {s->range[0]};
  return loop_inside_group(n, store, bound, 1 + tile_ranges(s->p, bound + 1), s->items);
}

/* Of the work-item's row or column, at a term of the slab. */
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

/* The operand's local: that of a round, or of all rounds inside the group's. */
static ir_ref local_of(product *s, int i) {
  loop_nest *n = s->n;
  ir_graph *g = n->g;
  ir_ref over = s->ahead ? n->bound[0] : s->range[0];
  ir_dtype t = ir_dtype_of(g, s->side[i].value);
  int64_t size = (s->ahead ? 2 : 1) * (s->side[i].turned ? s->slab : s->side[i].width) * s->side[i].pitch;
  n->locals->bytes += size * ir_dtypes[t].bytes;
  return ir_make(g, IR_OP_LOCAL, t,
                 ir_pack_arg(n->locals->count++, s->ahead ? IR_LOCAL_AHEAD : IR_LOCAL_ONCE),
                 (ir_ref[]){ir_index(g, size), over}, 2);
}

/* What a round takes. */
static ir_ref taken_by_round(product *s, int i, ir_ref rounds) {
  ir_graph *g = s->n->g;
  if (!s->ahead) return taken(s, i, s->range[0], s->range[0]);
  ir_ref next = pass_add_int(g, s->range[0], 1);
  return taken(s, i, pass_min(g, next, pass_add_int(g, rounds, -1)), next);
}

ir_ref loop_staged_product(loop_place *p, ir_ref reduce, const ir_ref *at) {
  loop_nest *n = p->n;
  ir_graph *g = n->g;
  product s = {.p = p, .n = n, .reduce = reduce, .at = at};
  p->before[0] = p->before[1] = 0;
  if (!n->target->lanes || !n->target->local_bytes || !p->is_tile || !loop_multiplies(g, reduce) || !plan(&s))
    return 0;
  ir_ref rounds = pass_ceil_div(g, s.terms, ir_index(g, s.slab)), effects[2], factors[2];
  s.range[0] = loop_fresh_range(n, rounds), s.range[1] = loop_fresh_range(n, ir_index(g, s.slab));
  for (int i = 0; i < 2; i++) {
    s.side[i].local = local_of(&s, i);
    if (s.ahead && !(p->before[i] = taken(&s, i, ir_index(g, 0), ir_index(g, 0)))) return 0;
    effects[i] = taken_by_round(&s, i, rounds), factors[i] = factor(&s, i);
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
