/* Fused row groups: which kernels share their outer loops.
 *
 * Softmax computes the maximum of a row, exponentials, their sum and quotients: four values in memory, of
 * which three are stored only because each element is needed at several indices of the row. Where a row fits
 * in a cache, one kernel computes all four row by row instead, and members pass values to one another in
 * locals.
 *
 * Elementary functions that follow one another are a group without a reduction (chains.c): each has a loop of
 * its own over a few rows.
 *
 * A loop may be shared if each member has an axis that the loop walks, and reads every other member at the
 * same index of that axis. Groups grow in the order of the kernels: a kernel that reads a member joins if
 * that leaves shared loops, and rows that fit (cache_fit.c). A kernel that needs a member and stays outside
 * runs after the group; from there on only kernels that need nothing computed after the group may join. */
#include "row_group.h"

#include <string.h>

/* Items behind the first member among which a group grows, so that the search takes linear time: those of
 * a transformer layer are 16. Later items are left to other groups. */
enum { MAX_ITEMS_AHEAD = 64 };

bool fuse_loop_axes(const fuse_group *group, const fuse_member *m, const view_axes *axes, int8_t *out) {
  bool all = true;
  for (int8_t l = 0; l < group->loops; l++) {
    out[l] = VIEW_NO_LOOP;
    for (int8_t a = 0; a < IR_MAX_RANK && group->shared[l]; a++)
      if (axes->loop[a] >= 0 && axes->loop[a] == m->axis[l]) out[l] = a;
    all &= !group->shared[l] || out[l] >= 0;
  }
  return all;
}

int64_t fuse_member_of(const fuse_group *group, ir_ref value) {
  for (uint32_t m = 0; m < group->count; m++)
    if (group->members[m].value == value) return m;
  return -1;
}

bool fuse_insert(fuse_group *group, const fuse_member *m) {
  uint32_t at = group->count;
  if (at == FUSE_MAX_MEMBERS) return false;
  for (; at > 0 && group->members[at - 1].value > m->value; at--) group->members[at] = group->members[at - 1];
  group->members[at] = *m;
  group->count++;
  return true;
}

/* Is it the axis along which the tiles of a product have their lanes, the last one of its value? A loop of
 * the group over a part of it would leave panels that are wider. */
static bool is_lane_axis(const fuse_plan *p, const fuse_item *item, int8_t axis) {
  ir_graph *g = p->s->g;
  bool last = item->contracts && axis >= 0;
  for (uint32_t a = (uint32_t)axis + 1; a < ir_rank(g, item->node) && last; a++)
    last = ir_bounds_of(g, ir_dim(g, item->node, a)).hi == 1;
  return last;
}

static void start_group(const fuse_plan *p, uint32_t i, fuse_group *out) {
  ir_graph *g = p->s->g;
  ir_ref value = p->items[i].node;
  bool any = false;
  *out = (fuse_group){.count = 1, .loops = (int8_t)ir_rank(g, value), .last = i, .before = UINT32_MAX};
  out->members[0].value = value;
  for (int8_t l = 0; l < out->loops; l++) {
    out->extent[l] = ir_dim(g, value, (uint32_t)l);
    ir_bounds size = ir_bounds_of(g, out->extent[l]);
    out->shared[l] = size.hi > 1 && (size.lo >= 1 || !any) && /* inner sizes divide the iteration's number */
                     !is_lane_axis(p, &p->items[i], l);
    any |= out->shared[l];
    out->members[0].axis[l] = l;
  }
}

/* *member: the item reads a member. *after: it reads something that is only computed after the group has run.
 */
static void needs_of(const fuse_plan *p, const fuse_group *group, const uint8_t *late, uint32_t i,
                     bool *member, bool *after) {
  const fuse_item *item = &p->items[i];
  *member = false;
  *after = !item->read_count && !item->joins; /* what it reads is not known */
  for (uint32_t k = 0; k < item->read_count; k++) {
    ir_ref node = p->reads[item->first_read + k].node;
    int64_t other = fuse_item_of(p, node);
    if (fuse_member_of(group, node) >= 0) *member = true;
    else if (other >= 0) *after |= late[other] || (uint32_t)other >= group->before;
  }
}

/* The axis of the item's value that walks the loop in all its reads of members; -1: there is none. */
static int8_t common_axis(const fuse_plan *p, const fuse_group *group, const fuse_item *item, int8_t loop) {
  int8_t found = -1;
  for (uint32_t k = 0; k < item->read_count; k++) {
    const fuse_read *read = &p->reads[item->first_read + k];
    int64_t m = fuse_member_of(group, read->node);
    if (m < 0) continue;
    int8_t axis = read->axes.loop[group->members[m].axis[loop]];
    if (axis < 0 || (found >= 0 && axis != found)) return -1;
    found = axis;
  }
  return found >= 0 && ir_dim(p->s->g, item->node, (uint32_t)found) == group->extent[loop] ? found : -1;
}

/* A contraction that is computed a few rows at a time reads its other operand again for every few rows. That
 * pays only if the bytes that it exchanges with the group are at least MIN_RATIO times all others that it
 * reads and writes. Exchanged: reads of members and, where the group reads what it `made`, its value. */
static bool pays_off(const fuse_plan *p, const fuse_group *group, const fuse_item *item, bool made) {
  enum { MIN_RATIO = 1 }; /* at 1 as many bytes no longer go through memory as are read again, from a cache */
  int64_t exchanged = made ? fuse_bytes(p->s, item->node) : 0,
          other = made ? 0 : fuse_bytes(p->s, item->node);
  for (uint32_t k = 0; k < item->read_count; k++) {
    const fuse_read *read = &p->reads[item->first_read + k];
    *(fuse_member_of(group, read->node) >= 0 ? &exchanged : &other) += fuse_read_bytes(p->s, read);
  }
  return !item->contracts || exchanged >= MIN_RATIO * other;
}

static uint32_t shared_loops(const fuse_group *group) {
  uint32_t count = 0;
  for (int8_t l = 0; l < group->loops; l++) count += group->shared[l];
  return count;
}

/* Would an item that leaves fewer shared loops push the data of an iteration out of the L1 cache? */
static bool leaves_l1(const fuse_group *group, const fuse_group *with) {
  return shared_loops(with) < shared_loops(group) && group->bytes <= FUSE_L1_BYTES &&
         with->bytes > FUSE_L1_BYTES;
}

/* Adds the item to the group, or says why not. */
static ir_not_fused try_join(const fuse_plan *p, fuse_group *group, uint32_t i) {
  const fuse_item *item = &p->items[i];
  fuse_group with = *group;
  bool taken[IR_MAX_RANK] = {false}, any = false;
  if (!item->joins) return IR_NOT_FUSED_MASKS;
  if (group->count == FUSE_MAX_MEMBERS) return IR_NOT_FUSED_ROWS;
  fuse_member *m = &with.members[with.count++];
  *m = (fuse_member){.value = item->node};
  for (int8_t l = 0; l < with.loops; l++) {
    m->axis[l] = with.shared[l] ? common_axis(p, group, item, l) : -1;
    with.shared[l] = m->axis[l] >= 0 && !taken[m->axis[l]] && !is_lane_axis(p, item, m->axis[l]);
    if (with.shared[l]) taken[m->axis[l]] = any = true;
  }
  for (uint32_t k = 0; k < item->read_count; k++) {
    int64_t other = fuse_member_of(group, p->reads[item->first_read + k].node);
    if (other < 0) continue;
    with.members[other].local = true;
    if (!pays_off(p, group, &p->items[fuse_item_of(p, with.members[other].value)], true))
      return IR_NOT_FUSED_TILES;
  }
  with.last = i;
  if (!any) return IR_NOT_FUSED_LOOPS;
  if (!pays_off(p, group, item, false)) return IR_NOT_FUSED_TILES;
  if (!fuse_choose_rows(p, &with) || leaves_l1(group, &with)) return IR_NOT_FUSED_ROWS;
  *group = with;
  return IR_NOT_FUSED_NONE;
}

static void grow_group(const fuse_plan *p, fuse_group *group, uint8_t *late) {
  uint32_t first = group->last;
  for (uint32_t i = first + 1; i < p->count && i < first + MAX_ITEMS_AHEAD; i++) {
    bool member, after;
    needs_of(p, group, late, i, &member, &after);
    if (member && !after && p->group_of[i] == FUSE_NO_GROUP &&
        (p->items[i].not_fused = try_join(p, group, i)) == IR_NOT_FUSED_NONE)
      continue;
    late[i] = member || after;
    if (late[i] && group->before == UINT32_MAX) group->before = i;
  }
}

/* When an item, or its group, runs: item i at 2*i + 1, a group that has to run before item i at 2*i. */
static uint64_t run_order(const fuse_plan *p, uint32_t item) {
  if (p->group_of[item] == FUSE_NO_GROUP) return 2 * (uint64_t)item + 1;
  const fuse_group *group = &p->groups[p->group_of[item]];
  return group->before < group->last ? 2 * (uint64_t)group->before : 2 * (uint64_t)group->last + 1;
}

/* A group with a member that would run before what it needs, or after what needs it; FUSE_NO_GROUP: none. */
static int32_t misplaced(const fuse_plan *p) {
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t k = 0; k < p->items[i].read_count; k++) {
      int64_t other = fuse_item_of(p, p->reads[p->items[i].first_read + k].node);
      if (other < 0 || (p->group_of[i] != FUSE_NO_GROUP && p->group_of[i] == p->group_of[other])) continue;
      if (run_order(p, (uint32_t)other) < run_order(p, i)) continue;
      return p->group_of[i] > p->group_of[other] ? p->group_of[i] : p->group_of[other];
    }
  return FUSE_NO_GROUP;
}

/* Each group alone runs in time; where two conflict, the one with the higher number is dissolved. */
static void dissolve_misplaced(fuse_plan *p) {
  for (int32_t wrong; (wrong = misplaced(p)) != FUSE_NO_GROUP;) {
    for (uint32_t i = 0; i < p->count; i++)
      if (p->group_of[i] == wrong) p->group_of[i] = FUSE_NO_GROUP;
    p->groups[wrong].count = 0;
  }
}

/* Marks items that something outside their group reads, and members that are stored for it. */
static void find_outside(fuse_plan *p) {
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t k = 0; k < p->items[i].read_count; k++) {
      int64_t other = fuse_item_of(p, p->reads[p->items[i].first_read + k].node);
      if (other >= 0 && (p->group_of[other] == FUSE_NO_GROUP || p->group_of[other] != p->group_of[i]))
        p->read_outside[other] = 1;
    }
  for (size_t g = 0; g < p->group_count; g++)
    for (uint32_t m = 0; m < p->groups[g].count; m++) {
      fuse_member *member = &p->groups[g].members[m];
      int64_t item = fuse_item_of(p, member->value); /* without an item: it is for other members alone */
      member->stored = item != FUSE_NO_ITEM && (!member->local || p->read_outside[item]);
    }
}

static bool reduces(const fuse_plan *p, const fuse_group *group) {
  bool any = false;
  for (uint32_t m = 0; m < group->count; m++)
    any |= p->items[fuse_item_of(p, group->members[m].value)].reduces;
  return any;
}

bool fuse_is_chain(const fuse_plan *p, const fuse_group *group) {
  const scheduler *s = p->s;
  bool chain = s->strategy->separates_functions && !reduces(p, group);
  for (uint32_t m = 0; m < group->count && chain; m++) {
    ir_ref value = group->members[m].value;
    const ir_node *shape = ir_get(s->g, ir_shape(s->g, value)),
                  *first = ir_get(s->g, ir_shape(s->g, group->members[0].value));
    chain = shape == first && (!group->members[m].local || s->cost[value] >= SCHEDULE_MIN_STORED_COST);
    for (int8_t l = 0; l < group->loops && chain; l++)
      chain = !group->shared[l] || group->members[m].axis[l] == l;
  }
  return chain;
}

/* Does a contraction of the group have readers outside as well? It is stored whole for them, so that fusion
 * would save next to nothing. */
static bool has_outside_readers(const fuse_plan *p, const fuse_group *group) {
  for (uint32_t m = 0; m < group->count; m++) {
    const fuse_item *item = &p->items[fuse_item_of(p, group->members[m].value)];
    uint32_t inside = 0;
    for (uint32_t i = 0; i < group->count && item->contracts && group->members[m].local; i++) {
      const fuse_item *reader = &p->items[fuse_item_of(p, group->members[i].value)];
      for (uint32_t k = 0; k < reader->read_count; k++)
        inside += p->reads[reader->first_read + k].node == item->node;
    }
    if (item->contracts && group->members[m].local && inside < item->readers) return true;
  }
  return false;
}

static bool add_group(fuse_plan *p, const fuse_group *group) {
  if (!IR_RESERVE(p->s->g->mem, p->groups, p->group_cap, p->group_count + 1)) return false;
  for (uint32_t m = 0; m < group->count; m++) {
    int64_t item = fuse_item_of(p, group->members[m].value);
    if (item != FUSE_NO_ITEM) p->group_of[item] = (int32_t)p->group_count;
  }
  for (uint32_t i = 0; i < group->copy_count; i++)
    p->group_of[fuse_item_of(p, group->copies[i])] = (int32_t)p->group_count;
  p->groups[p->group_count++] = *group;
  return true;
}

static bool find_blocks(fuse_plan *p) {
  for (size_t k = 0; k < p->sum_count && p->s->strategy->choose_block_rows; k++) {
    fuse_group group;
    if (p->group_of[p->sums[k].item] != FUSE_NO_GROUP || !fuse_key_blocks(p, k, &group)) continue;
    if (!add_group(p, &group)) return false;
  }
  return true;
}

static bool find_groups(fuse_plan *p) {
  const ir_mem *mem = p->s->g->mem;
  uint8_t *late = ir_alloc(mem, p->count);
  bool good = late != NULL;
  if (good) memset(late, 0, p->count);
  for (uint32_t i = 0; i < p->count && good; i++) {
    fuse_group group;
    if (!p->items[i].joins || p->group_of[i] != FUSE_NO_GROUP) continue;
    start_group(p, i, &group);
    grow_group(p, &group, late);
    memset(late + i, 0, p->count - i < MAX_ITEMS_AHEAD ? p->count - i : MAX_ITEMS_AHEAD);
    if (group.count == 1 || !(reduces(p, &group) || fuse_is_chain(p, &group)) ||
        has_outside_readers(p, &group))
      continue;
    good = add_group(p, &group);
  }
  ir_free(mem, late, p->count);
  return good;
}

bool fuse_find(fuse_plan *p, scheduler *s) {
  const ir_mem *mem = s->g->mem;
  *p = (fuse_plan){.s = s, .item_of = ir_alloc(mem, s->nodes * sizeof *p->item_of)};
  if (!p->item_of) return false;
  memset(p->item_of, 0, s->nodes * sizeof *p->item_of);
  if (!fuse_find_items(p) || !find_blocks(p) || !find_groups(p)) return false;
  dissolve_misplaced(p);
  find_outside(p);
  for (size_t g = p->group_count; g-- > 0;) {
    fuse_group *group = &p->groups[g];
    if (!group->count || group->before > group->last) continue;
    group->next_group = p->before[group->before];
    p->before[group->before] = (int32_t)g;
  }
  for (size_t g = 0; g < p->group_count; g++)
    if (!fuse_materialize(p, &p->groups[g]) || !fuse_transpose(p, &p->groups[g])) return false;
  return true;
}

void fuse_free(fuse_plan *p) {
  if (!p->s) return;
  const ir_mem *mem = p->s->g->mem;
  ir_free(mem, p->items, p->item_cap * sizeof *p->items);
  ir_free(mem, p->reads, p->read_cap * sizeof *p->reads);
  ir_free(mem, p->groups, p->group_cap * sizeof *p->groups);
  ir_free(mem, p->sums, p->sum_cap * sizeof *p->sums);
  ir_free(mem, p->group_of, p->count * sizeof *p->group_of);
  ir_free(mem, p->before, p->count * sizeof *p->before);
  ir_free(mem, p->item_of, p->s->nodes * sizeof *p->item_of);
  ir_free(mem, p->read_outside, p->count);
  ir_free(mem, p->deferred, p->count);
  *p = (fuse_plan){0};
}

const fuse_group *fuse_group_of(const fuse_plan *p, ir_ref node) {
  uint32_t item = p->item_of[node];
  return item && p->group_of[item - 1] != FUSE_NO_GROUP ? &p->groups[p->group_of[item - 1]] : NULL;
}

const fuse_group *fuse_group_before(const fuse_plan *p, ir_ref node, const fuse_group *last) {
  uint32_t item = p->item_of[node];
  int32_t next = last ? last->next_group : item ? p->before[item - 1] : FUSE_NO_GROUP;
  return next == FUSE_NO_GROUP ? NULL : &p->groups[next];
}

bool fuse_ends_at(const fuse_plan *p, const fuse_group *group, ir_ref member) {
  return group->last == p->item_of[member] - 1 && group->before > group->last;
}

ir_not_fused fuse_reason_not_fused(const fuse_plan *p, ir_ref node) {
  return p->item_of[node] ? p->items[p->item_of[node] - 1].not_fused : IR_NOT_FUSED_NONE;
}

bool fuse_is_local(const fuse_plan *p, ir_ref value) {
  const fuse_group *group = ir_op_of(p->s->g, value) == IR_OP_RESULT ? NULL : fuse_group_of(p, value);
  int64_t m = group ? fuse_member_of(group, value) : -1;
  return group && (m < 0 || !group->members[m].stored); /* or a copy that no one reads */
}

/* deferred values */

static bool reads_leaves(const fuse_plan *p, const fuse_item *item) {
  for (uint32_t k = 0; k < item->read_count; k++) {
    ir_op op = ir_op_of(p->s->g, p->reads[item->first_read + k].node);
    if (!schedule_is_leaf(op) || op == IR_OP_RESULT) return false;
  }
  return item->read_count > 0;
}

bool fuse_may_defer(const fuse_plan *p, ir_ref value) {
  int64_t i = fuse_item_of(p, value);
  ir_op op = ir_op_of(p->s->g, value);
  if (i < 0 || p->group_of[i] != FUSE_NO_GROUP || schedule_is_call(op) || schedule_is_step(op)) return false;
  return (p->deferred[i] = !p->items[i].result && reads_leaves(p, &p->items[i]));
}

static ir_ref pop_deferred(const fuse_plan *p, int64_t i) {
  if (i < 0 || !p->deferred[i]) return 0;
  p->deferred[i] = false;
  return p->items[i].node;
}

ir_ref fuse_next_deferred(const fuse_plan *p, ir_ref node) {
  int64_t i = fuse_item_of(p, node);
  ir_ref next = 0;
  if (i < 0) return 0;
  const fuse_item *item = &p->items[i];
  for (uint32_t k = 0; k < item->read_count && !next; k++)
    next = pop_deferred(p, fuse_item_of(p, p->reads[item->first_read + k].node));
  if (item->read_count || item->joins) return next;
  for (uint32_t k = 0; k < p->count && !next; k++) next = pop_deferred(p, k); /* it may read any of them */
  return next;
}
