/* What a row of a fused row group takes, and whether rows fit: the strategy of the target chooses how many an
 * iteration has (passes/loops/cpu/cache_rows.c, passes/loops/gpu/group_rows.c). */
#include "row_group.h"

static int64_t most_elements(ir_graph *g, ir_ref size) {
  int64_t hi = ir_bounds_of(g, size).hi;
  return hi < 1 ? 1 : hi > PASS_FAR_TOO_MANY ? PASS_FAR_TOO_MANY : hi;
}

static int8_t innermost(const fuse_group *group) {
  int8_t last = -1;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) last = l;
  return last;
}

/* Elements of the tensor in one row. at: by loop, the axis of the tensor that it walks, -1: none. *neighbours
 * is set where the innermost shared loop walks the last axis and a row has several elements: neighbours in
 * memory are then different rows. */
static int64_t row_elements(ir_graph *g, const fuse_group *group, ir_ref tensor, const int8_t *at,
                            bool *neighbours) {
  int64_t row = 1;
  int last = -1, inner = at[innermost(group)];
  for (uint32_t a = 0; a < ir_rank(g, tensor); a++) {
    int64_t size = most_elements(g, ir_dim(g, tensor, a));
    bool walked = false;
    for (int8_t l = 0; l < group->loops; l++) walked |= group->shared[l] && at[l] == (int)a;
    if (!walked) row = pass_times(row, size);
    if (size > 1) last = (int)a;
  }
  *neighbours |= last >= 0 && last == inner && row > 1;
  return row;
}

int64_t fuse_elements(ir_graph *g, ir_ref tensor) {
  int64_t elements = 1;
  for (uint32_t a = 0; a < ir_rank(g, tensor); a++)
    elements = pass_times(elements, most_elements(g, ir_dim(g, tensor, a)));
  return elements;
}

int64_t fuse_bytes(const scheduler *s, ir_ref tensor) {
  return pass_times(fuse_elements(s->g, tensor), ir_dtypes[ir_dtype_of(s->g, tensor)].bytes);
}

int64_t fuse_read_bytes(const scheduler *s, const fuse_read *read) {
  return pass_times(read->elements, ir_dtypes[ir_dtype_of(s->g, read->node)].bytes);
}

/* Does the shared loop walk what is read with a stride, as one level of a split axis? */
static bool reads_strided(const fuse_member *m, const fuse_read *read, int8_t loop) {
  return read->axes.strided >> m->axis[loop] & 1;
}

/* Bytes of one row of what the item reads; 0 where a shared loop does not walk it. at, neighbours: as in
 * row_of. */
static int64_t row_bytes(const fuse_plan *p, const fuse_group *group, const fuse_member *m,
                         const fuse_read *read, const int8_t *at, bool *neighbours) {
  ir_graph *g = p->s->g;
  int64_t steps = 1;
  for (int8_t l = 0; l < group->loops; l++) {
    if (!group->shared[l] || at[l] >= 0) continue;
    if (!reads_strided(m, read, l)) return 0;
    steps = pass_times(steps, most_elements(g, group->extent[l]));
  }
  int64_t row = row_elements(g, group, read->node, at, neighbours) / steps,
          all = fuse_elements(g, read->node);
  if (read->elements < all)
    row = pass_times(row, read->elements) / all; /* only some of its elements are read */
  return pass_times(row ? row : 1, ir_dtypes[ir_dtype_of(g, read->node)].bytes);
}

/* Bytes of what the item reads that each iteration of the innermost shared loop reads again. */
static int64_t reread_bytes(const fuse_plan *p, const fuse_group *group, const fuse_member *m,
                            const fuse_read *read, const int8_t *at) {
  int64_t bytes = fuse_read_bytes(p->s, read);
  int8_t inner = innermost(group);
  if (at[inner] >= 0 || reads_strided(m, read, inner)) return 0;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l] && (at[l] >= 0 || reads_strided(m, read, l)))
      bytes /= most_elements(p->s->g, group->extent[l]);
  return bytes;
}

/* All but iterations, extent and room. */
static pass_rows measure_row(const fuse_plan *p, const fuse_group *group) {
  /* values outside that are read [6 in the workloads]: those past it may count twice */
  enum { MAX_OUTSIDE = 64 };
  ir_graph *g = p->s->g;
  pass_rows r = {.longest = 1, .contracted = PASS_FAR_TOO_MANY};
  ir_ref visited[MAX_OUTSIDE];
  uint32_t count = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const fuse_member *m = &group->members[i];
    int64_t elements = row_elements(g, group, m->value, m->axis, &r.neighbours);
    if (elements > r.longest) r.longest = elements;
    if (m->local) r.locals += pass_times(elements, ir_dtypes[ir_dtype_of(g, m->value)].bytes);
    if (!p->item_of[m->value]) continue;
    const fuse_item *item = &p->items[p->item_of[m->value] - 1];
    r.tiled |= item->contracts;
    if (item->contracts && elements < r.contracted) r.contracted = elements;
    for (uint32_t k = 0; k < item->read_count; k++) {
      const fuse_read *read = &p->reads[item->first_read + k];
      bool counted = fuse_member_of(group, read->node) >= 0;
      for (uint32_t j = 0; j < count; j++) counted |= visited[j] == read->node;
      if (counted || !ir_shape(g, read->node)) continue;
      if (count < MAX_OUTSIDE) visited[count++] = read->node;
      int8_t at[IR_MAX_RANK];
      fuse_loop_axes(group, m, &read->axes, at);
      int64_t bytes = row_bytes(p, group, m, read, at, &r.neighbours);
      r.reread += reread_bytes(p, group, m, read, at);
      int64_t length = bytes / (ir_dtypes[ir_dtype_of(g, read->node)].bytes);
      if (length > r.longest) r.longest = length;
      r.bytes += bytes;
    }
  }
  r.bytes += r.locals;
  return r;
}

int64_t fuse_local_room(const scheduler *s) {
  int64_t all = s->target->local_bytes ? s->target->local_bytes : s->strategy->unlimited_locals;
  return all - s->strategy->exchange_bytes(s->target);
}

bool fuse_fits_arguments(const fuse_plan *p, const fuse_group *group) {
  enum { MAX_OUTSIDE = 64 }; /* arrays that are read, and stored: a group of more is taken not to fit */
  const scheduler *s = p->s;
  ir_ref visited[MAX_OUTSIDE];
  uint32_t count = 0;
  if (!s->target->argument_bytes) return true;
  for (uint32_t i = 0; i < group->count + group->copy_count; i++) {
    ir_ref value = i < group->count ? group->members[i].value : group->copies[i - group->count];
    int64_t item = fuse_item_of(p, value);
    for (uint32_t k = 0; item >= 0 && k < p->items[item].read_count; k++) {
      ir_ref node = p->reads[p->items[item].first_read + k].node;
      bool counted = fuse_member_of(group, node) >= 0;
      for (uint32_t j = 0; j < count && !counted; j++) counted = visited[j] == node;
      if (counted) continue;
      if (count == MAX_OUTSIDE) return false;
      visited[count++] = node;
    }
  }
  return group->count + count <= schedule_most_slots(s);
}

static uint32_t shared_loops(const fuse_group *group) {
  uint32_t count = 0;
  for (int8_t l = 0; l < group->loops; l++) count += group->shared[l];
  return count;
}

/* Rows of the innermost shared loop, for what measure_row has found. */
static bool choose_rows(const fuse_plan *p, fuse_group *group, pass_rows *r, int8_t inner) {
  ir_graph *g = p->s->g;
  r->extent = most_elements(g, group->extent[inner]), r->iterations = 1, r->room = fuse_local_room(p->s);
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) r->iterations = pass_times(r->iterations, most_elements(g, group->extent[l]));
  return p->s->strategy->choose_rows(p->s->target, r, &group->rows, &group->bytes);
}

/* Lists in dims[0..*count) the sizes that vary of the member's axes that no shared loop walks. False: such an
 * axis comes before the rows. */
static bool list_varying(const fuse_plan *p, const fuse_group *group, const fuse_member *m, int8_t inner,
                         ir_ref *dims, uint32_t *count) {
  ir_graph *g = p->s->g;
  *count = 0;
  for (uint32_t a = 0; a < ir_rank(g, m->value); a++) {
    bool walked = false;
    for (int8_t l = 0; l < group->loops; l++) walked |= group->shared[l] && m->axis[l] == (int8_t)a;
    if (walked) continue;
    if (most_elements(g, ir_dim(g, m->value, a)) > 1 && (int8_t)a < m->axis[inner]) return false;
    if (!ir_is_const(g, ir_dim(g, m->value, a), NULL)) dims[(*count)++] = ir_dim(g, m->value, a);
  }
  return true;
}

/* Are the rows of all members of the group of numbers of elements, or of one variable number? Then sets the
 * least of that, of the longest, which has `longest` elements at most. */
static bool rows_vary(const fuse_plan *p, const fuse_group *group, int8_t inner, int64_t longest,
                      int64_t *least) {
  ir_graph *g = p->s->g;
  ir_ref length = 0, dims[IR_MAX_RANK];
  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t count;
    bool listed = list_varying(p, group, &group->members[i], inner, dims, &count);
    if (!listed || count > 1 || (count && length && dims[0] != length)) return false;
    if (count) length = dims[0];
  }
  *least = length ? pass_times(ir_bounds_of(g, length).lo, longest / most_elements(g, length)) : 0;
  return length != 0;
}

bool fuse_choose_rows(const fuse_plan *p, fuse_group *group) {
  ir_graph *g = p->s->g;
  int8_t inner = innermost(group);
  if (!fuse_fits_arguments(p, group)) return false;
  pass_rows r = measure_row(p, group);
  /* Not shared: too few neighbours, and the last axis of a contraction, of which a tile then had one row, so
   * that each iteration would read the other operand for it alone. */
  while ((r.neighbours && most_elements(g, group->extent[inner]) < PASS_MIN_NEIGHBOUR_ROWS) ||
         (r.tiled && r.contracted == 1)) {
    group->shared[inner] = false;
    if ((inner = innermost(group)) < 0) return false;
    r = measure_row(p, group);
  }
  while (!choose_rows(p, group, &r, inner)) {
    if (shared_loops(group) < 2 || !fuse_is_chain(p, group)) return false;
    group->shared[inner] = false; /* a row of a chain may have any number of axes */
    inner = innermost(group);
    r = measure_row(p, group);
  }
  r.varies = rows_vary(p, group, inner, r.longest, &r.shortest);
  group->elements = p->s->strategy->choose_elements ? p->s->strategy->choose_elements(&r, &group->rows) : 0;
  return true;
}
