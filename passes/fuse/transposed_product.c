/* Products of a fused row group with vector lanes along the rows.
 *
 * A product of rows with weights has its vector lanes along the columns, and weights whose neighbouring
 * columns are not contiguous are copied in panels (passes/pack/pack.c). In a fused row group the rows of an
 * iteration are few and lie in locals: there they can be transposed instead. The lanes then run along the
 * rows, a weight is the same for all lanes, and the weights are read in place, [N, K]:
 *
 *   panels       weights [N/W, K, W] copied once; rows [M, K]    lanes along W
 *   transposed   weights [N, K] in place; rows [K, M]            lanes along M, the rows of an iteration
 *
 * Between two products nothing is copied: the first one stores [K, M] as the next one reads it. What the
 * first product reads, and what the last one makes, are transposed by a copy. That pays where these have
 * fewer elements than the copies of the weights, which then need not be made or stored. The order of
 * additions is that of the terms in both forms. */
#include "row_group.h"

#include "passes/fold/fold.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/patterns/contraction.h"
#include "passes/view/index_map.h"

enum {
  MIN_COLUMN_BYTES = 256 /* of the rows of an iteration: a tile of four of the longest vectors */
};

/* A product of the group that could read its weights in place. */
typedef struct product {
  uint32_t member;
  ir_ref sum, panels, weights, rows; /* rows: the value in memory that the rows are read from */
  int8_t axis[IR_MAX_RANK];          /* by loop: the axis of `rows` that it walks */
  bool reads_other_rows;             /* elementwise work after the sum reads other values by rows */
} product;

typedef struct transposition {
  fuse_plan *p;
  fuse_group *group;
  product products[FUSE_MAX_MEMBERS];
  uint32_t count;
} transposition;

/* finding */

static const fuse_item *item_of(const fuse_plan *p, ir_ref value) {
  int64_t item = fuse_item_of(p, value);
  return item == FUSE_NO_ITEM ? NULL : &p->items[item];
}

static fuse_read *read_of(const fuse_plan *p, const fuse_item *item, ir_ref node) {
  for (uint32_t k = 0; k < item->read_count; k++)
    if (p->reads[item->first_read + k].node == node) return &p->reads[item->first_read + k];
  return NULL;
}

/* Does a shared loop walk what is read, as a whole axis or as one level of a split one? */
static bool is_walked(const fuse_group *group, const fuse_member *m, const fuse_read *read) {
  for (int8_t l = 0; l < group->loops; l++) {
    if (!group->shared[l]) continue;
    if (read->axes.strided >> m->axis[l] & 1) return true;
    for (uint32_t a = 0; a < IR_MAX_RANK; a++)
      if (read->axes.loop[a] == m->axis[l]) return true;
  }
  return false;
}

/* The array that was copied in panels; 0 where it is not in memory, its index is not affine in all axes, or
 * its longest summed axis is not contiguous. Only views without masks may stand between. */
static ir_ref unpacked_weights(const pass_contraction *c, const pass_operand *o, const scheduler *s) {
  ir_graph *g = c->g;
  ir_ref node = o->value;
  pass_point at = {.rank = c->rank};
  for (uint32_t i = 0; i < c->rank; i++) at.at[i] = c->range[i];
  for (uint32_t views = 0; node == o->base || !fuse_in_memory(s, node); views++, node = ir_src(g, node, 0)) {
    const ir_node *n = ir_get(g, node);
    if (views == PASS_MAX_VIEWS) return 0;
    if (n->op == IR_OP_STORED) continue;
    if (ir_ops[n->op].cls != IR_CLASS_VIEW || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK) return 0;
    ir_ref valid = pass_view_index(g, &pass_canonical, node, &at);
    if (!valid || !(valid = pass_finalize_clauses(g, valid)) || !ir_is_true(g, valid)) return 0;
  }
  ir_ref index = pass_flatten(g, &pass_canonical, ir_shape(g, node), &at);
  int64_t step, longest = 0, near = 0;
  for (uint32_t i = 0; i < c->rank && index; i++) {
    if (c->size[i] == 1) continue;
    if (!affine_stride(g, index, c->range[i], &step)) return 0;
    if (!(c->reduced >> i & 1) || c->size[i] < longest) continue;
    longest = c->size[i], near = step;
  }
  return index && near == 1 ? node : 0;
}

/* A copy in panels that only this member reads and that is the same in all iterations; 0: none. */
static ir_ref private_panels(const transposition *t, const fuse_member *m, const fuse_item *item) {
  const fuse_plan *p = t->p;
  for (uint32_t k = 0; k < item->read_count; k++) {
    const fuse_read *read = &p->reads[item->first_read + k];
    const fuse_item *copy = fuse_is_panels(p->s->g, read->node) ? item_of(p, read->node) : NULL;
    if (copy && copy->readers == 1 && !copy->result && p->group_of[copy - p->items] == FUSE_NO_GROUP &&
        !is_walked(t->group, m, read))
      return read->node;
  }
  return 0;
}

static bool find_product(transposition *t, uint32_t member, const fuse_item *item) {
  const fuse_plan *p = t->p;
  ir_graph *g = p->s->g;
  const fuse_member *m = &t->group->members[member];
  pass_contraction c;
  ir_ref panels = item->product ? private_panels(t, m, item) : 0;
  if (!panels || !pass_contraction_of(g, item->product, &c)) return false;
  int first = c.operand[0].base == panels ? 0 : 1;
  const pass_operand *weights = &c.operand[first], *row_operand = &c.operand[1 - first];
  product found = {.member = member, .sum = item->product, .panels = panels, .rows = row_operand->base};
  if (weights->base != panels || fuse_is_panels(g, row_operand->base) || c.term == IR_OP_DOT2 ||
      c.term == IR_OP_DOT4 || c.term == IR_OP_FMA2 || ir_dtypes[c.dtype].bytes < 4 ||
      t->group->rows * (int64_t)ir_dtypes[c.dtype].bytes < MIN_COLUMN_BYTES)
    return false;
  const fuse_read *rows =
      fuse_in_memory(p->s, row_operand->base) ? read_of(p, item, row_operand->base) : NULL;
  if (!rows || !ir_is_true(g, row_operand->valid) || !fuse_loop_axes(t->group, m, &rows->axes, found.axis) ||
      !(found.weights = unpacked_weights(&c, weights, p->s)))
    return false;
  for (uint32_t k = 0; k < item->read_count; k++) {
    const fuse_read *read = &p->reads[item->first_read + k];
    found.reads_other_rows |= read->node != rows->node && is_walked(t->group, m, read);
  }
  t->products[t->count++] = found;
  return true;
}

/* Finds all products of the group; false where there is none, or one that cannot read its weights in place.
 */
static bool find_products(transposition *t) {
  for (uint32_t m = 0; m < t->group->count; m++) {
    const fuse_item *item = item_of(t->p, t->group->members[m].value);
    if (item && item->contracts && !find_product(t, m, item)) return false;
  }
  return t->count > 0;
}

/* Has every iteration the same number of rows? */
static bool is_even(ir_graph *g, const fuse_group *group) {
  int8_t inner = -1;
  int64_t rows;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) inner = l;
  return inner >= 0 && ir_is_const(g, group->extent[inner], &rows) &&
         pass_row_group_is_even(g, group->extent[inner], group->rows);
}

/* transposing */

static bool is_read_by_rows(const transposition *t, ir_ref value) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->products[i].rows == value) return true;
  return false;
}

/* Does the product store its value in the layout in which another one reads it? If not, its sum is transposed
 * before anything else is done with it. */
static bool feeds_product(const transposition *t, const product *k) {
  return is_read_by_rows(t, t->group->members[k->member].value) && !k->reads_other_rows;
}

static bool add_member(fuse_group *group, const fuse_member *m) {
  int64_t known = fuse_member_of(group, m->value);
  if (known < 0) return fuse_insert(group, m);
  group->members[known].local = group->members[known].transposed = true;
  return true;
}

/* *with: the group with its transposed members; false where there is no room. */
static bool apply_transposition(const transposition *t, fuse_group *with) {
  *with = *t->group;
  for (uint32_t i = 0; i < t->count; i++) {
    const product *k = &t->products[i];
    const fuse_member *m = &t->group->members[k->member];
    fuse_member rows = {.value = k->rows, .local = true, .transposed = true, .copied = true},
                sum = {.value = k->sum, .local = true, .transposed = true};
    for (int8_t l = 0; l < with->loops; l++) rows.axis[l] = k->axis[l];
    if (!fuse_loop_axes(with, m, &item_of(t->p, m->value)->product_axes, sum.axis)) return false;
    if (!add_member(with, &rows) || (!feeds_product(t, k) && !add_member(with, &sum))) return false;
  }
  return true;
}

/* Bytes of the locals of an iteration (`locals`), or else the elements that copies transpose in all
 * iterations together. */
static int64_t measure_locals(const transposition *t, const fuse_group *with, bool locals) {
  const scheduler *s = t->p->s;
  int64_t all = 0, iterations = 1;
  for (int8_t l = 0; l < with->loops; l++)
    if (with->shared[l]) iterations *= ir_bounds_of(s->g, with->extent[l]).hi;
  for (uint32_t m = 0; m < with->count; m++) {
    const fuse_member *one = &with->members[m];
    if (locals && one->local) all += fuse_bytes(s, one->value) / iterations * with->rows;
    if (!locals && one->transposed) all += fuse_elements(s->g, one->value);
  }
  for (uint32_t i = 0; i < t->count && !locals; i++) /* stored in the layout in which they are read */
    if (feeds_product(t, &t->products[i]))
      all -= fuse_elements(s->g, t->group->members[t->products[i].member].value);
  return all;
}

bool fuse_transpose(fuse_plan *p, fuse_group *group) {
  scheduler *s = p->s;
  transposition t = {.p = p, .group = group};
  fuse_group with;
  int64_t copied = 0, most = s->strategy->transposed_locals_bytes;
  if (!group->count || group->block || !most || group->rows * 8 < MIN_COLUMN_BYTES || !is_even(s->g, group) ||
      !find_products(&t) || !apply_transposition(&t, &with))
    return !ir_gives_up(s->g->error->status);
  for (uint32_t i = 0; i < t.count; i++) copied += fuse_elements(s->g, t.products[i].panels);
  int64_t locals = measure_locals(&t, &with, true);
  if (measure_locals(&t, &with, false) > copied || locals > most || locals > fuse_local_room(s)) return true;
  for (uint32_t i = 0; i < t.count; i++) {
    const product *k = &t.products[i];
    s->flags[k->panels] &= (uint8_t)~SCHEDULE_STORED;
    read_of(p, item_of(p, group->members[k->member].value), k->panels)->node = k->weights;
  }
  *group = with;
  return true;
}
