/* Fused row groups that compute one axis, the keys, in blocks: sums of weights exp(x - s), where s follows
 * the maximum of x over the keys and whole rows of x do not fit (passes/patterns/online_softmax.c,
 * passes/fold/key_blocks.c).
 *
 * The members are the maximum; the weight; the sums that have the weight as a factor and follow the same
 * maximum; the values over the same rows and keys that these are made of (role block); and the values that
 * the sums are fused into (role plain). The shared loops are the axes of the weight without the keys; which
 * axis of a member a loop walks is found by tracing the member down to other members. Nothing outside the
 * group may read a value over rows and keys, and nothing that runs before the group may read any other
 * member. */
#include "row_group.h"

#include "passes/patterns/contraction.h"

#include <stdlib.h>
#include <string.h>

/* Capacities: where there is more, the values are computed by kernels of their own. */
enum {
  MAX_MEMBERS = 16,   /* members, of which attention has five: each of its locals is kept in two halves */
  MAX_TRACED = 512,   /* nodes fused into a member, of which attention has 17 */
  MAX_SUM_INPUTS = 64 /* values in memory that sums read beside the weight */
};

typedef struct traced {
  ir_ref node;
  view_axes axes;
  bool stops; /* its operands are not traced */
} traced;

typedef struct builder {
  fuse_plan *p;
  fuse_group *group;
  const pass_rescaled *rescaled;
  traced nodes[MAX_TRACED]; /* of the last trace, descending by node */
  uint32_t count;
  ir_ref sum_inputs[MAX_SUM_INPUTS]; /* values in memory that sums read beside the weight */
  uint32_t sum_input_count;
  bool failed; /* out of memory */
} builder;

static bool is_shared_loop(const fuse_group *group, int8_t loop) { return group->shared[loop]; }

static int8_t keys_of(const builder *b) { return (int8_t)b->rescaled->axis; }

/* tracing */

static int descending(const void *a, const void *b) {
  const traced *x = a, *y = b;
  return x->node < y->node ? 1 : x->node > y->node ? -1 : 0;
}

/* Is the node a STORED copy of something that the weight is a factor of? */
static bool is_copy(builder *b, ir_ref node) {
  ir_graph *g = b->p->s->g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool found = false;
  if (ir_op_of(g, node) != IR_OP_STORED || node < b->rescaled->weight) return false;
  b->failed |= ir_reachable(g, &node, 1, &live, &count, &cap) != IR_OK;
  for (size_t i = 0; i < count && !found; i++) found = live[i] == b->rescaled->weight;
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

static bool stops_at(builder *b, ir_ref node, bool through_copies) {
  if (fuse_member_of(b->group, node) >= 0) return true;
  return fuse_in_memory(b->p->s, node) && !(through_copies && is_copy(b, node));
}

/* Traces the nodes fused into root, and the members and values in memory below it. axes: by axis of the node,
 * the axis of root that walks it. through_copies: goes on below copies of the weight. False on failure, and
 * where MAX_TRACED nodes are not enough. */
static bool trace_fused(builder *b, ir_ref root, bool through_copies) {
  scheduler *s = b->p->s;
  ir_graph *g = s->g;
  b->nodes[0] = (traced){.node = root};
  b->count = 1;
  s->sharing.walk++;
  s->sharing.seen[root] = s->sharing.walk;
  for (uint32_t next = 0; next < b->count; next++) {
    const ir_node *n = ir_get(g, b->nodes[next].node);
    b->nodes[next].stops = next > 0 && stops_at(b, b->nodes[next].node, through_copies);
    for (uint32_t k = 0; k < ir_operand_count(n) && !b->nodes[next].stops; k++) {
      ir_ref operand = n->src[k];
      if (!ir_shape(g, operand) || s->sharing.seen[operand] == s->sharing.walk) continue;
      if (b->count == MAX_TRACED) return false;
      s->sharing.seen[operand] = s->sharing.walk;
      b->nodes[b->count++] = (traced){.node = operand, .axes = {.loop = {INT8_MIN}}};
    }
  }
  qsort(b->nodes, b->count, sizeof *b->nodes, descending);
  for (uint32_t i = 0; i < b->count; i++) s->sharing.place[b->nodes[i].node] = (ir_ref)i;
  b->nodes[0].axes = view_no_axes;
  for (uint32_t a = 0; a < ir_rank(g, root); a++) b->nodes[0].axes.loop[a] = (int8_t)a;
  for (uint32_t i = 0; i < b->count; i++) {
    const ir_node *n = ir_get(g, b->nodes[i].node);
    for (uint32_t k = 0; k < ir_operand_count(n) && !b->nodes[i].stops; k++) {
      view_axes below;
      if (!ir_shape(g, n->src[k])) continue;
      view_axes *known = &b->nodes[s->sharing.place[n->src[k]]].axes;
      if (!view_axes_below(g, b->nodes[i].node, k, &b->nodes[i].axes, &below)) return false;
      if (known->loop[0] == INT8_MIN) *known = below;
      else view_axes_intersect(known, &below);
    }
  }
  return !b->failed;
}

static const traced *traced_node(const builder *b, ir_ref node) {
  for (uint32_t i = 0; i < b->count; i++)
    if (b->nodes[i].node == node) return &b->nodes[i];
  return NULL;
}

/* members */

/* Adds a member unless it is one already; false where there is no room. */
static bool add_member(builder *b, const fuse_member *m) {
  fuse_group *group = b->group;
  if (fuse_member_of(group, m->value) >= 0) return true;
  if (group->count == MAX_MEMBERS || !fuse_insert(group, m)) return false;
  int64_t item = fuse_item_of(b->p, m->value);
  if (item >= 0 && (uint32_t)item > group->last) group->last = (uint32_t)item;
  return true;
}

/* Sets m->axis from those of another member that it reads. other: that member's axes, by loop; axes: by axis
 * of that member's value, the axis of what reads it. False where a shared loop walks no axis of m, or two
 * walk the same. without: an axis that the member's value does not have (it is summed over), or -1. */
static bool set_axes(const builder *b, fuse_member *m, const int8_t *other, const view_axes *axes,
                     int without) {
  uint32_t taken = 0;
  for (int8_t l = 0; l < b->group->loops; l++) {
    int8_t axis = is_shared_loop(b->group, l) ? axes->loop[other[l]] : -1;
    if (!is_shared_loop(b->group, l)) {
      m->axis[l] = -1;
      continue;
    }
    if (axis < 0 || axis == without) return false;
    if (without >= 0 && axis > without) axis--;
    if (taken >> axis & 1) return false;
    taken |= (uint32_t)1 << axis;
    m->axis[l] = axis;
  }
  return true;
}

/* The first members: the weight, whose axes are the loops, and the maximum. */
static bool start_group(builder *b) {
  ir_graph *g = b->p->s->g;
  const pass_rescaled *st = b->rescaled;
  fuse_group *group = b->group;
  *group = (fuse_group){.loops = (int8_t)ir_rank(g, st->weight),
                        .before = UINT32_MAX,
                        .next_group = FUSE_NO_GROUP,
                        .block = KEY_BLOCK};
  fuse_member weight = {.value = st->weight, .local = true, .role = IR_FUSED_WEIGHT, .keys = keys_of(b)},
              greatest = {.value = st->greatest, .local = true, .role = IR_FUSED_MAXIMUM};
  for (int8_t l = 0; l < group->loops; l++) {
    group->extent[l] = ir_dim(g, st->weight, (uint32_t)l);
    ir_bounds size = ir_bounds_of(g, group->extent[l]);
    if (size.lo < 1) return false;
    group->shared[l] = l != keys_of(b) && size.hi > 1;
    weight.axis[l] = l;
    greatest.axis[l] = l < keys_of(b) ? l : (int8_t)(l - 1);
  }
  return add_member(b, &weight) && add_member(b, &greatest);
}

static bool add_copies(builder *b) {
  for (uint32_t i = 0; i < b->count; i++) {
    const traced *t = &b->nodes[i];
    if (!fuse_in_memory(b->p->s, t->node) || fuse_member_of(b->group, t->node) >= 0) continue;
    if (t->stops) {
      if (b->sum_input_count == MAX_SUM_INPUTS) return false;
      b->sum_inputs[b->sum_input_count++] = t->node;
      continue;
    }
    bool again = false;
    for (uint32_t k = 0; k < b->group->copy_count; k++) again |= b->group->copies[k] == t->node;
    if (again) continue;
    if (b->group->copy_count == FUSE_MAX_COPIES || fuse_item_of(b->p, t->node) < 0) return false;
    b->group->copies[b->group->copy_count++] = t->node;
  }
  return true;
}

static bool add_sum(builder *b, const pass_rescaled *st) {
  ir_graph *g = b->p->s->g;
  const ir_node *n = ir_get(g, st->sum);
  int8_t keys = (int8_t)ir_get(g, n->src[1])->arg, own[IR_MAX_RANK];
  if (st->late || st->weight != b->rescaled->weight || !trace_fused(b, n->src[0], true)) return false;
  const traced *weight = traced_node(b, st->weight);
  if (!weight || weight->axes.loop[keys_of(b)] != keys) return false;
  for (int8_t l = 0; l < b->group->loops; l++) own[l] = l;
  fuse_member m = {.value = st->sum, .local = true, .role = IR_FUSED_SUM, .keys = keys};
  return set_axes(b, &m, own, &weight->axes, keys) && (n->src[0] == st->weight || add_copies(b)) &&
         add_member(b, &m);
}

/* Adds a value that a sum or the maximum is fused into. False where it reads a block or a weight, or members
 * at different indices. */
static bool add_plain(builder *b, ir_ref value) {
  fuse_member m = {.value = value, .role = IR_FUSED_PLAIN};
  bool any = false;
  if (fuse_member_of(b->group, value) >= 0) return true;
  if (!trace_fused(b, value, false)) return false;
  for (uint32_t i = 1; i < b->count; i++) {
    int64_t k = fuse_member_of(b->group, b->nodes[i].node);
    fuse_member found = m;
    if (k < 0) continue;
    fuse_member *other = &b->group->members[k];
    if (other->role == IR_FUSED_BLOCK || other->role == IR_FUSED_WEIGHT) return false;
    if (!set_axes(b, &found, other->axis, &b->nodes[i].axes, -1)) return false;
    if (any && memcmp(found.axis, m.axis, sizeof m.axis) != 0) return false;
    m = found, any = true;
    other->local = true;
  }
  return any && add_member(b, &m);
}

/* Where the maximum has no item of its own, adds the item that it is fused into. */
static bool add_plain_maximum(builder *b) {
  const fuse_plan *p = b->p;
  ir_ref fused[MAX_TRACED];
  if (fuse_item_of(p, b->rescaled->greatest) >= 0) return true;
  for (uint32_t j = 0; j < p->count; j++) {
    ir_ref node = p->items[j].node;
    if (node < b->rescaled->greatest || !p->items[j].joins) continue;
    size_t count = fuse_nodes_of(p->s, node, fused, MAX_TRACED);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) found = fused[i] == b->rescaled->greatest;
    if (found) return add_plain(b, node);
  }
  return false;
}

static bool is_inside(const builder *b, uint32_t item) {
  ir_ref node = b->p->items[item].node;
  bool inside = fuse_member_of(b->group, node) >= 0;
  for (uint32_t c = 0; c < b->group->copy_count; c++) inside |= b->group->copies[c] == node;
  return inside;
}

/* Does the group alone read the value? */
static bool is_private(const builder *b, ir_ref value) {
  const fuse_plan *p = b->p;
  int64_t item = fuse_item_of(p, value);
  if (item < 0) return true;
  if (p->read_outside[item]) return false;
  for (uint32_t j = 0; j < p->count; j++)
    for (uint32_t k = 0; k < p->items[j].read_count; k++) {
      if (p->reads[p->items[j].first_read + k].node != value) continue;
      if (!is_inside(b, j)) return false;
    }
  return true;
}

/* Adds the values that the member reads, over the same rows and keys and for the group alone, as block
 * members. False where a sum reads one of them beside the weight, or there is no room. */
static bool add_blocks_below(builder *b, fuse_member above) {
  if (!trace_fused(b, above.value, false)) return false;
  for (uint32_t i = 1; i < b->count; i++) {
    const traced *t = &b->nodes[i];
    int64_t item = t->stops ? fuse_item_of(b->p, t->node) : FUSE_NO_ITEM;
    fuse_member m = {.value = t->node, .local = true, .role = IR_FUSED_BLOCK, .keys = VIEW_NO_LOOP};
    bool all = true;
    if (item < 0 || !b->p->items[item].joins) continue;
    for (int8_t l = 0; l < b->group->loops; l++) {
      int8_t *axis = l == keys_of(b) ? &m.keys : &m.axis[l],
             from = l == keys_of(b) ? above.keys : above.axis[l];
      *axis = -1;
      if (l != keys_of(b) && !is_shared_loop(b->group, l)) continue;
      for (uint32_t a = 0; a < ir_rank(b->p->s->g, t->node); a++)
        if (t->axes.loop[a] == from) *axis = (int8_t)a;
      all &= *axis >= 0;
    }
    if (!all) continue;
    if (!is_private(b, t->node)) continue;
    for (uint32_t k = 0; k < b->sum_input_count; k++)
      if (b->sum_inputs[k] == t->node) return false;
    if (!add_member(b, &m)) return false;
  }
  return true;
}

static bool add_blocks(builder *b) {
  ir_ref done[FUSE_MAX_MEMBERS];
  uint32_t count = 0;
  for (uint32_t m = 0; m < b->group->count;) {
    fuse_member member = b->group->members[m++];
    bool again = member.role != IR_FUSED_WEIGHT && member.role != IR_FUSED_BLOCK;
    for (uint32_t i = 0; i < count; i++) again |= done[i] == member.value;
    if (again) continue;
    done[count++] = member.value;
    if (!add_blocks_below(b, member)) return false;
    m = 0;
  }
  return true;
}

static bool reads_member(const builder *b, const fuse_item *item) {
  bool found = false;
  for (uint32_t k = 0; k < item->read_count && !found; k++)
    found = fuse_member_of(b->group, b->p->reads[item->first_read + k].node) >= 0;
  return found;
}

/* An item that would run before the group, and reads a member, has to become a member. */
static bool add_early(builder *b) {
  for (uint32_t j = 0; j < b->group->last; j++) {
    const fuse_item *item = &b->p->items[j];
    if (is_inside(b, j)) continue;
    if (!item->joins && !item->read_count) return false; /* what it reads is not known */
    if (reads_member(b, item) && (!item->joins || !add_plain(b, item->node))) return false;
  }
  return true;
}

/* Does nothing outside the group read a value over rows and keys, and is every member free to join? */
static bool is_alone(const builder *b) {
  const fuse_group *group = b->group;
  for (uint32_t m = 0; m < group->count; m++) {
    const fuse_member *member = &group->members[m];
    int64_t item = fuse_item_of(b->p, member->value);
    bool block = member->role == IR_FUSED_BLOCK || member->role == IR_FUSED_WEIGHT;
    if (block && !is_private(b, member->value)) return false;
    if (item >= 0 && (b->p->group_of[item] != FUSE_NO_GROUP || !b->p->items[item].joins)) return false;
  }
  for (uint32_t c = 0; c < group->copy_count; c++)
    if (!is_private(b, group->copies[c])) return false;
  return true;
}

/* rows */

static int64_t most_elements(ir_graph *g, ir_ref size) {
  int64_t hi = ir_bounds_of(g, size).hi;
  return hi < 1 ? 1 : hi > INT32_MAX ? INT32_MAX : hi;
}

static bool is_block(const fuse_member *m) { return m->role == IR_FUSED_BLOCK || m->role == IR_FUSED_WEIGHT; }

/* How many buffers of the size of the member's local a block of keys touches: one for a value over keys; else
 * three, as a sum has two halves (for this block and the one before) and its final value. */
static int64_t buffers_in_block(const fuse_member *m) {
  enum { BUFFERS = 3 }; /* buffers of a sum, as above */
  return is_block(m) ? 1 : BUFFERS;
}

/* Bytes of one row in the member's local. */
static int64_t row_bytes(const builder *b, const fuse_member *m) {
  ir_graph *g = b->p->s->g;
  int64_t elements = 1;
  if (!m->local) return 0;
  for (uint32_t a = 0; a < ir_rank(g, m->value) && elements < INT32_MAX; a++) {
    bool walked = false;
    for (int8_t l = 0; l < b->group->loops; l++)
      walked |= is_shared_loop(b->group, l) && m->axis[l] == (int8_t)a;
    if (is_block(m) && m->keys == (int8_t)a) elements *= KEY_BLOCK;
    else if (!walked) elements *= most_elements(g, ir_dim(g, m->value, a));
  }
  return elements * ir_dtypes[ir_dtype_of(g, m->value)].bytes;
}

/* How many locals of the size of the member's exist at once (passes/fold/key_blocks.c). */
static int64_t buffers_of(const builder *b, const fuse_member *m) {
  enum {
    OF_MAXIMUM = 8, /* value, maximum of a block, two factors; running maximum, reference: two halves each */
    OF_SUM = 4,     /* its value, two halves of the running total, what was left out */
    COMPENSATED = 3 /* terms of the block; rounding errors, two halves */
  };
  const ir_graph *g = b->p->s->g;
  if (m->role == IR_FUSED_MAXIMUM) return OF_MAXIMUM;
  if (m->role != IR_FUSED_SUM) return m->local;
  return OF_SUM + (pass_is_product(g, ir_src(g, m->value, 0)) ? 0 : COMPENSATED);
}

static bool choose_rows(builder *b) {
  fuse_group *group = b->group;
  pass_rows r = {.iterations = 1, .room = fuse_local_room(b->p->s)};
  for (uint32_t m = 0; m < group->count; m++) {
    int64_t once = row_bytes(b, &group->members[m]);
    r.bytes += once * buffers_in_block(&group->members[m]);
    r.locals += once * buffers_of(b, &group->members[m]);
  }
  for (int8_t l = 0; l < group->loops; l++) {
    if (!is_shared_loop(group, l)) continue;
    r.extent = most_elements(b->p->s->g, group->extent[l]);
    r.iterations = r.iterations > INT32_MAX ? r.iterations : r.iterations * r.extent;
  }
  group->rows = b->p->s->strategy->choose_block_rows(&r);
  return group->rows > 0;
}

static bool build_group(builder *b) {
  fuse_plan *p = b->p;
  if (b->rescaled->late || !start_group(b)) return false;
  uint32_t sums = 0;
  for (size_t k = 0; k < p->sum_count; k++)
    if (p->sums[k].rescaled.greatest == b->rescaled->greatest &&
        (++sums > KEY_BLOCK_SUMS || !add_sum(b, &p->sums[k].rescaled)))
      return false;
  if (!add_plain_maximum(b)) return false;
  for (size_t k = 0; k < p->sum_count; k++)
    if (p->sums[k].rescaled.greatest == b->rescaled->greatest &&
        !add_plain(b, p->items[p->sums[k].item].node))
      return false;
  return add_blocks(b) && add_early(b) && is_alone(b) && fuse_fits_arguments(p, b->group) && choose_rows(b);
}

bool fuse_key_blocks(fuse_plan *p, size_t sum, fuse_group *group) {
  const ir_mem *mem = p->s->g->mem;
  builder *b = ir_alloc(mem, sizeof *b);
  if (!b) return false;
  *b = (builder){.p = p, .group = group, .rescaled = &p->sums[sum].rescaled};
  bool good = build_group(b);
  ir_free(mem, b, sizeof *b);
  return good;
}
