/* Do the rows of a fused row group fit in a cache, and how many does an iteration compute?
 *
 * The values that members pass to one another, and what they read at the indices of the shared loops, should
 * stay in the L2 cache during one iteration. The cache size is a constant here, not the target's: it decides
 * which sums are computed together, and the order of summation must not depend on the machine.
 *
 * An iteration has several rows where one row is short, or where neighbours in memory belong to different
 * rows: then vector lanes run across the rows.
 *
 * On targets with work-groups, locals are memory of the group, and what is read again comes from caches.
 * Wherever that memory is limited, an iteration has no more rows than fit in it. */
#include "row_group.h"

#include "passes/loops/gpu/gpu.h"

/* The same on all machines. Half and twice PASS_GROUP_BYTES, MIN_NEIGHBOUR_ROWS, MIN_TILED_ELEMENTS and
 * MAX_ELEMENTS_ALONE change no workload's loops. */
enum {
  MIN_ITERATION_ELEMENTS = 512, /* of shorter rows an iteration has several: 32 vectors of f32 outweigh what
                                   its loops and the reductions over lanes cost once for each row */
  /* rows in an iteration where neighbours in memory are different rows: four vectors of f32 */
  NEIGHBOUR_ROWS = 64,
  MIN_NEIGHBOUR_ROWS = 16, /* the same where these do not fit: a vector, or a cache line, of f32 */
  TILED_BYTES = 640 << 10, /* bytes of an iteration with contractions, of an L2 cache of 1 MiB: more than
                              others may fill, since tiles reuse each row while it is there */
  /* bytes that contractions read in every iteration: a thread's share of an L3 cache */
  MAX_REREAD_BYTES = 8 << 20,
  MIN_TILED_ELEMENTS = 512, /* elements of a contraction in an iteration: a tile and a third, of 24 vectors
                               of f32; of fewer, most are remainder */
  SMALL_WORK_BYTES = PASS_GROUP_BYTES / 8, /* bytes of all iterations that one thread may compute alone */
  MAX_ELEMENTS_ALONE = 1 << 14 /* elements that a work-group may compute while others are idle: 64 for each of
                                  its 256 work-items, about the time of another launch */
};
/* Stands for every number that is too large to matter: iterations, or bytes that nothing limits. Products of
 * two such numbers are saturated (times). */
#define FAR_TOO_MANY ((int64_t)1 << 40)

static int64_t times(int64_t a, int64_t b) {
  return a >= FAR_TOO_MANY || b >= FAR_TOO_MANY || (b && a > FAR_TOO_MANY / b) ? FAR_TOO_MANY : a * b;
}

static int64_t most_elements(ir_graph *g, ir_ref size) {
  int64_t hi = ir_bounds_of(g, size).hi;
  return hi < 1 ? 1 : hi > FAR_TOO_MANY ? FAR_TOO_MANY : hi;
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
    if (!walked) row = times(row, size);
    if (size > 1) last = (int)a;
  }
  *neighbours |= last >= 0 && last == inner && row > 1;
  return row;
}

int64_t fuse_elements(ir_graph *g, ir_ref tensor) {
  int64_t elements = 1;
  for (uint32_t a = 0; a < ir_rank(g, tensor); a++)
    elements = times(elements, most_elements(g, ir_dim(g, tensor, a)));
  return elements;
}

int64_t fuse_bytes(const scheduler *s, ir_ref tensor) {
  return times(fuse_elements(s->g, tensor), ir_dtypes[ir_dtype_of(s->g, tensor)].bytes);
}

int64_t fuse_read_bytes(const scheduler *s, const fuse_read *read) {
  return times(read->elements, ir_dtypes[ir_dtype_of(s->g, read->node)].bytes);
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
    steps = times(steps, most_elements(g, group->extent[l]));
  }
  int64_t row = row_elements(g, group, read->node, at, neighbours) / steps,
          all = fuse_elements(g, read->node);
  if (read->elements < all) row = times(row, read->elements) / all; /* only some of its elements are read */
  return times(row ? row : 1, ir_dtypes[ir_dtype_of(g, read->node)].bytes);
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

typedef struct row {
  int64_t bytes, longest; /* of one row: of all locals and reads; elements of the longest value */
  int64_t locals;         /* bytes of one row of all locals */
  int64_t contracted;     /* elements in a row of the contraction with the fewest */
  int64_t reread;         /* bytes that every iteration of the innermost shared loop reads again */
  bool neighbours, tiled;
} row;

static row measure_row(const fuse_plan *p, const fuse_group *group) {
  /* values outside that are read [6 in the workloads]: those past it may count twice */
  enum { MAX_OUTSIDE = 64 };
  ir_graph *g = p->s->g;
  row r = {.longest = 1, .contracted = FAR_TOO_MANY};
  ir_ref visited[MAX_OUTSIDE];
  uint32_t count = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    const fuse_member *m = &group->members[i];
    int64_t elements = row_elements(g, group, m->value, m->axis, &r.neighbours);
    if (elements > r.longest) r.longest = elements;
    if (m->local) r.locals += times(elements, ir_dtypes[ir_dtype_of(g, m->value)].bytes);
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

int64_t fuse_local_room(const ir_target *t) {
  if (!t->local_bytes) return t->group_items ? PASS_GROUP_BYTES - loop_exchange_bytes(t) : FAR_TOO_MANY;
  return t->local_bytes - loop_exchange_bytes(t);
}

/* On targets with work-groups: enough rows to give all work-items something to do, while their locals fit. */
static bool fits_group(const fuse_plan *p, fuse_group *group, const row *r, int64_t iterations,
                       int64_t extent) {
  const ir_target *t = p->s->target;
  int64_t room = fuse_local_room(t), rows = r->neighbours ? NEIGHBOUR_ROWS : 1;
  while (rows > extent) rows /= 2;
  while (times(rows, r->longest) < t->group_items && 2 * rows <= extent &&
         iterations / rows > IR_BUSY_GROUPS && times(2 * rows, r->locals) <= room)
    rows *= 2;
  group->rows = rows;
  iterations /= rows;
  bool few = iterations < 2 || (iterations < IR_BUSY_GROUPS && times(rows, r->longest) > MAX_ELEMENTS_ALONE);
  return !few && iterations < FAR_TOO_MANY && times(rows, r->locals) <= room;
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

bool fuse_choose_rows(const fuse_plan *p, fuse_group *group) {
  ir_graph *g = p->s->g;
  int8_t inner = innermost(group);
  if (!fuse_fits_arguments(p, group)) return false;
  row r = measure_row(p, group);
  while (r.neighbours &&
         most_elements(g, group->extent[inner]) < MIN_NEIGHBOUR_ROWS) { /* too few: not shared */
    group->shared[inner] = false;
    if ((inner = innermost(group)) < 0) return false;
    r = measure_row(p, group);
  }
  int64_t extent = most_elements(g, group->extent[inner]), iterations = 1,
          rows = r.tiled        ? FUSE_TILED_ROWS
                 : r.neighbours ? NEIGHBOUR_ROWS
                                : 1,
          cache = r.tiled ? TILED_BYTES : PASS_GROUP_BYTES;
  for (int8_t l = 0; l < group->loops; l++)
    if (group->shared[l]) iterations = times(iterations, most_elements(g, group->extent[l]));
  if (p->s->target->group_items) return fits_group(p, group, &r, iterations, extent);
  int64_t all = times(iterations, r.bytes);
  while (times(rows, r.longest) < MIN_ITERATION_ELEMENTS) rows *= 2;
  while (rows > extent) rows /= 2;
  int64_t fewest = r.tiled        ? FUSE_MIN_TILED_ROWS
                   : r.neighbours ? MIN_NEIGHBOUR_ROWS
                                  : 1,
          room = fuse_local_room(p->s->target);
  while (rows > fewest && (times(rows, r.bytes) > cache || times(rows, r.locals) > room)) rows /= 2;
  group->rows = rows;
  group->bytes = r.tiled ? 0 : times(rows, r.bytes);
  iterations /= rows;
  bool few = iterations < 2 || (iterations < FUSE_MIN_ITERATIONS && all > SMALL_WORK_BYTES);
  if (r.tiled && (times(rows, r.contracted) < MIN_TILED_ELEMENTS || r.reread > MAX_REREAD_BYTES))
    return false;
  return !few && iterations < FAR_TOO_MANY && times(rows, r.bytes) <= cache && times(rows, r.locals) <= room;
}
