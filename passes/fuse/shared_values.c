/* A costly value that several members of a fused row group would recompute is computed once: it becomes a
 * member, which the others read from a local. One sweep from users to operands over all nodes fused into the
 * members. */
#include "row_group.h"

#include "ir/elementary/elementary.h"

#include <stdlib.h>

enum {
  MAX_SWEPT = 2048,  /* nodes of all members [50 in the workloads]: in a group of more, nothing is shared */
  NOT_MET = INT8_MIN /* in place of a loop's number, in the first axis of a node: no user has been met */
};

typedef struct swept {
  ir_ref node;
  uint64_t users; /* set of members that compute it, by bit */
  view_axes axes; /* by axis: the loop that walks it */
} swept;

typedef struct sweep {
  fuse_plan *p;
  fuse_group *group;
  swept nodes[MAX_SWEPT];
  uint32_t count, started;
} sweep;

static int by_node(const void *a, const void *b) {
  const swept *x = a, *y = b;
  return x->node < y->node ? 1 : x->node > y->node ? -1 : 0;
}

static swept *find_swept(sweep *w, ir_ref node) {
  swept key = {.node = node};
  return bsearch(&key, w->nodes, w->count, sizeof *w->nodes, by_node);
}

static bool collect_nodes(sweep *w) {
  static const swept fresh = {.axes = {.loop = {NOT_MET}}};
  ir_ref fused[MAX_SWEPT];
  for (uint32_t m = 0; m < w->group->count; m++) {
    size_t count = fuse_nodes_of(w->p->s, w->group->members[m].value, fused, MAX_SWEPT);
    for (size_t i = 0; i < count; i++) {
      bool known = false;
      for (uint32_t k = 0; k < w->count && !known; k++) known = w->nodes[k].node == fused[i];
      if (known) continue;
      if (w->count == MAX_SWEPT) return false;
      w->nodes[w->count] = fresh;
      w->nodes[w->count++].node = fused[i];
    }
    if (!count) return false;
  }
  qsort(w->nodes, w->count, sizeof *w->nodes, by_node);
  return true;
}

static bool is_costly(const ir_graph *g, ir_ref node) {
  return ir_is_elementary(ir_op_of(g, node), ir_dtype_of(g, node)) && ir_op_of(g, node) != IR_OP_RELU;
}

/* out->axis: by shared loop, the axis of the node that it walks; false where some loop walks none. */
static bool axes_of(const sweep *w, const swept *s, fuse_member *out) {
  for (int8_t l = 0; l < w->group->loops; l++) {
    out->axis[l] = -1;
    for (uint32_t a = 0; a < ir_rank(w->p->s->g, s->node); a++)
      if (s->axes.loop[a] == l) out->axis[l] = (int8_t)a;
    if (w->group->shared[l] && out->axis[l] < 0) return false;
  }
  return true;
}

static bool add_member(sweep *w, const fuse_member *member) {
  fuse_group with = *w->group;
  if (!fuse_insert(&with, member) || !fuse_choose_rows(w->p, &with)) return false;
  *w->group = with;
  return true;
}

static void start_member(sweep *w, const fuse_member *m, swept *s) {
  const fuse_group *group = w->group;
  s->axes = view_no_axes;
  s->users = (uint64_t)1 << w->started++;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) s->axes.loop[m->axis[l]] = l;
}

static bool is_single(uint64_t set) { return (set & (set - 1)) == 0; }

static bool sweep_node(sweep *w, swept *s) {
  scheduler *sc = w->p->s;
  ir_graph *g = sc->g;
  int64_t m = fuse_member_of(w->group, s->node);
  if (m >= 0) start_member(w, &w->group->members[m], s);
  else if (schedule_is_leaf(ir_op_of(g, s->node)) || sc->flags[s->node] & SCHEDULE_STORED) return true;
  fuse_member made = {.value = s->node, .local = true};
  if (m < 0 && !is_single(s->users) && is_costly(g, s->node) && axes_of(w, s, &made) && add_member(w, &made))
    start_member(w, &made, s);
  const ir_node *n = ir_get(g, s->node);
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    view_axes below;
    swept *operand = ir_shape(g, n->src[k]) ? find_swept(w, n->src[k]) : NULL;
    if (!operand) continue;
    if (!view_axes_below(g, s->node, k, &s->axes, &below)) return false;
    if (operand->axes.loop[0] == NOT_MET) operand->axes = below;
    else view_axes_intersect(&operand->axes, &below);
    operand->users |= s->users;
  }
  return true;
}

/* Is the member a copy of another one through views that only rename indices? Its readers then read that one.
 */
static bool is_copy(const fuse_plan *p, const fuse_group *group, const fuse_member *m) {
  const ir_graph *g = p->s->g;
  ir_ref r = m->value;
  if (m->stored || ir_op_of(g, r) != IR_OP_STORED) return false;
  do r = ir_src(g, r, 0);
  while (fuse_member_of(group, r) < 0 && ir_ops[ir_op_of(g, r)].cls == IR_CLASS_VIEW &&
         ir_op_of(g, r) != IR_OP_CONCAT && ir_op_of(g, r) != IR_OP_STACK && ir_op_of(g, r) != IR_OP_PAD);
  int64_t of = fuse_member_of(group, r);
  return of >= 0 && group->members[of].local;
}

bool fuse_materialize(fuse_plan *p, fuse_group *group) {
  if (!group->count || group->block) return true; /* dissolved; or complete, with key blocks */
  const ir_mem *mem = p->s->g->mem;
  sweep *w = ir_alloc(mem, sizeof *w);
  if (!w) return false;
  *w = (sweep){.p = p, .group = group};
  bool good = true;
  if (collect_nodes(w))
    for (uint32_t i = 0; i < w->count && good; i++) good = sweep_node(w, &w->nodes[i]);
  ir_free(mem, w, sizeof *w);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < group->count; i++)
    if (!is_copy(p, group, &group->members[i])) group->members[kept++] = group->members[i];
  group->count = kept;
  fuse_choose_rows(p, group); /* dropped members leave room, perhaps for more rows */
  return good;
}
