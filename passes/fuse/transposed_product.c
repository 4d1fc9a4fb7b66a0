/* Slabs of products whose lanes run across the rows.
 *
 * A product of rows with weights has its lanes along the columns, and weights of which neighbouring columns
 * lie apart are copied in panels (passes/pack/pack.c). In a slab the rows of a round lie in locals, and are
 * few: there they can be turned instead. With rows side by side the lanes run across them, a weight is the
 * same for all lanes, and the weights are read as they lie, [N, K]:
 *
 *   panels   weights [N/W, K, W] copied once; rows [M, K]    lanes along W
 *   turned   weights [N, K] as they are; rows [K, M]         lanes along M, the rows of a round
 *
 * What products hand to one another is turned by itself: one stores [K, M] as the next one reads it. Turned
 * by a copy is what the first one reads, and what the last one makes. That is worth it where these are fewer
 * elements than the copies of the weights have, of which then there is none, and no memory for them. The
 * order of additions is that of the terms in any case. */
#include "row_group.h"

#include "passes/fold/fold.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/patterns/contraction.h"
#include "passes/view/index_map.h"

enum {
  LANES_BYTES = 256,       /* side by side: a tile of four of the longest vectors */
  LOCAL_BYTES = 768 << 10, /* of all locals: they share the second cache with what passes through it */
  MAX_VIEWS = 64
};

/* A product of the slab that could read its weights as they lie. */
typedef struct product {
  uint32_t member;
  ir_ref sum, panels, weights, rows; /* rows: what they are read from, a value in memory */
  int8_t axis[IR_MAX_RANK];          /* by loop of the slab: that of rows */
  bool others;                       /* what is done with the sum reads more by rows */
} product;

typedef struct turning {
  slab_plan *p;
  slab_group *group;
  product products[SLAB_MOST];
  uint32_t count;
} turning;

/* finding */

static const slab_item *item_of(const slab_plan *p, ir_ref value) {
  int64_t item = slab_item_of(p, value);
  return item == SLAB_NO_ITEM ? NULL : &p->items[item];
}

static slab_read *read_of(const slab_plan *p, const slab_item *item, ir_ref node) {
  for (uint32_t k = 0; k < item->read_count; k++)
    if (p->reads[item->first_read + k].node == node) return &p->reads[item->first_read + k];
  return NULL;
}

/* Does some shared loop of the slab walk what is read, or a part of it? */
static bool is_walked(const slab_group *group, const slab_member *m, const slab_read *read) {
  for (int8_t l = 0; l < group->loops; l++) {
    if (!group->shared[l]) continue;
    if (read->axes.parts >> m->axis[l] & 1) return true;
    for (uint32_t a = 0; a < IR_MAX_RANK; a++)
      if (read->axes.loop[a] == m->axis[l]) return true;
  }
  return false;
}

/* The array that was copied in panels, where the terms of the product follow one another in it, and all axes
 * make equal steps; 0: they do not, or it is no array in memory. Nothing but views may stand between. */
static ir_ref behind_panels(const pass_contraction *c, const pass_operand *o, const scheduler *s) {
  ir_graph *g = c->g;
  ir_ref node = o->value;
  pass_position at = {.rank = c->rank};
  for (uint32_t i = 0; i < c->rank; i++) at.at[i] = c->range[i];
  for (uint32_t views = 0; node == o->base || !slab_in_memory(s, node); views++, node = ir_src(g, node, 0)) {
    const ir_node *n = ir_get(g, node);
    if (views == MAX_VIEWS) return 0;
    if (n->op == IR_OP_STORED) continue;
    if (ir_ops[n->op].cls != IR_CLASS_VIEW || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK) return 0;
    ir_ref valid = pass_view_index(g, &pass_canonical, node, &at);
    if (!valid || !(valid = pass_settle(g, valid)) || !ir_is_true(g, valid)) return 0;
  }
  ir_ref index = pass_flatten(g, &pass_canonical, ir_shape(g, node), &at);
  int64_t step, longest = 0, near = 0;
  for (uint32_t i = 0; i < c->rank && index; i++) {
    if (c->size[i] == 1) continue;
    if (!loop_stride(g, index, c->range[i], &step)) return 0;
    if (!(c->reduced >> i & 1) || c->size[i] < longest) continue;
    longest = c->size[i], near = step;
  }
  return index && near == 1 ? node : 0;
}

/* What the member reads that is a copy in panels for it alone, the same in all rounds; 0: nothing. */
static ir_ref own_panels(const turning *t, const slab_member *m, const slab_item *item) {
  const slab_plan *p = t->p;
  for (uint32_t k = 0; k < item->read_count; k++) {
    const slab_read *read = &p->reads[item->first_read + k];
    const slab_item *copy = slab_is_panels(p->s->g, read->node) ? item_of(p, read->node) : NULL;
    if (copy && copy->readers == 1 && !copy->result && p->group_of[copy - p->items] == SLAB_NO_GROUP &&
        !is_walked(t->group, m, read))
      return read->node;
  }
  return 0;
}

static bool find_product(turning *t, uint32_t member, const slab_item *item) {
  const slab_plan *p = t->p;
  ir_graph *g = p->s->g;
  const slab_member *m = &t->group->members[member];
  pass_contraction c;
  ir_ref panels = item->product ? own_panels(t, m, item) : 0;
  if (!panels || !pass_contraction_of(g, item->product, &c)) return false;
  int first = c.operand[0].base == panels ? 0 : 1;
  const pass_operand *weights = &c.operand[first], *down = &c.operand[1 - first];
  product found = {.member = member, .sum = item->product, .panels = panels, .rows = down->base};
  if (weights->base != panels || slab_is_panels(g, down->base) || c.term == IR_OP_DOT2 ||
      ir_dtypes[c.dtype].bytes < 4 || t->group->rows * (int64_t)ir_dtypes[c.dtype].bytes < LANES_BYTES)
    return false;
  const slab_read *rows = slab_in_memory(p->s, down->base) ? read_of(p, item, down->base) : NULL;
  if (!rows || !ir_is_true(g, down->valid) || !slab_walked(t->group, m, &rows->axes, found.axis) ||
      !(found.weights = behind_panels(&c, weights, p->s)))
    return false;
  for (uint32_t k = 0; k < item->read_count; k++) {
    const slab_read *read = &p->reads[item->first_read + k];
    found.others |= read->node != rows->node && is_walked(t->group, m, read);
  }
  t->products[t->count++] = found;
  return true;
}

/* All products of the slab. */
static bool find_products(turning *t) {
  for (uint32_t m = 0; m < t->group->count; m++) {
    const slab_item *item = item_of(t->p, t->group->members[m].value);
    if (item && item->contracts && !find_product(t, m, item)) return false;
  }
  return t->count > 0;
}

/* Are there as many rows in every round? */
static bool is_even(ir_graph *g, const slab_group *group) {
  int8_t inner = -1;
  int64_t rows;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) inner = l;
  return inner >= 0 && ir_is_const(g, group->extent[inner], &rows) &&
         pass_slab_is_even(g, group->extent[inner], group->rows);
}

/* turning */

static bool is_read_by_rows(const turning *t, ir_ref value) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->products[i].rows == value) return true;
  return false;
}

/* Does the product store its value as another one reads it? Otherwise the sum is turned before anything is
 * done with it. */
static bool hands_on(const turning *t, const product *k) {
  return is_read_by_rows(t, t->group->members[k->member].value) && !k->others;
}

static bool add(slab_group *group, const slab_member *m) {
  int64_t known = slab_member_of(group, m->value);
  if (known < 0) return slab_insert(group, m);
  group->members[known].local = group->members[known].turned = true;
  return true;
}

/* The slab with what is turned in it, from what it is; false where there is no room. */
static bool turn(const turning *t, slab_group *with) {
  *with = *t->group;
  for (uint32_t i = 0; i < t->count; i++) {
    const product *k = &t->products[i];
    const slab_member *m = &t->group->members[k->member];
    slab_member rows = {.value = k->rows, .local = true, .turned = true, .copied = true},
                sum = {.value = k->sum, .local = true, .turned = true};
    for (int8_t l = 0; l < with->loops; l++) rows.axis[l] = k->axis[l];
    if (!slab_walked(with, m, &item_of(t->p, m->value)->product_axes, sum.axis)) return false;
    if (!add(with, &rows) || (!hands_on(t, k) && !add(with, &sum))) return false;
  }
  return true;
}

/* Elements that one slab has turned, or bytes of the locals of a round. */
static int64_t measure(const turning *t, const slab_group *with, bool locals) {
  const scheduler *s = t->p->s;
  int64_t all = 0, rounds = 1;
  for (int8_t l = 0; l < with->loops; l++)
    if (with->shared[l]) rounds *= ir_bounds_of(s->g, with->extent[l]).hi;
  for (uint32_t m = 0; m < with->count; m++) {
    const slab_member *one = &with->members[m];
    if (locals && one->local) all += slab_bytes(s, one->value) / rounds * with->rows;
    if (!locals && one->turned) all += slab_elements(s->g, one->value);
  }
  for (uint32_t i = 0; i < t->count && !locals; i++) /* stored as they are read */
    if (hands_on(t, &t->products[i]))
      all -= slab_elements(s->g, t->group->members[t->products[i].member].value);
  return all;
}

bool slab_turn(slab_plan *p, slab_group *group) {
  scheduler *s = p->s;
  turning t = {.p = p, .group = group};
  slab_group with;
  int64_t copied = 0;
  if (!group->count || group->block || s->target->lanes || group->rows * 8 < LANES_BYTES ||
      !is_even(s->g, group) || !find_products(&t) || !turn(&t, &with))
    return s->g->error->status != IR_ERR_MEMORY;
  for (uint32_t i = 0; i < t.count; i++) copied += slab_elements(s->g, t.products[i].panels);
  int64_t locals = measure(&t, &with, true);
  if (measure(&t, &with, false) > copied || locals > LOCAL_BYTES || locals > slab_room(s->target))
    return true;
  for (uint32_t i = 0; i < t.count; i++) {
    const product *k = &t.products[i];
    s->flags[k->panels] &= (uint8_t)~SCHEDULE_STORED;
    read_of(p, item_of(p, group->members[k->member].value), k->panels)->node = k->weights;
  }
  *group = with;
  return true;
}
