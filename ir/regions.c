/* Placement of nodes into loop bodies: one depth-first traversal from the root, sources first.
 *
 * A loop is active while the traversal is inside its body; active loops are numbered by depth. The region of
 * a node is the deepest region among its sources. A loop with a value may belong further out than where the
 * traversal met it: it belongs to the deepest active loop other than itself on which anything in its body
 * depends. `outer` collects that loop while the nodes of the body are placed. Time is linear in the nodes, at
 * worst times the depth of loops. */
#include "ir/regions.h"

typedef struct frame {
  ir_ref ref;
  uint32_t next; /* source to visit */
} frame;

typedef struct walk {
  const ir_graph *graph;
  ir_regions *out;
  ir_ref *state;   /* 0 not met, 1 in progress, 2 placed */
  uint32_t *depth; /* depth of an active loop, from 1; 0: not active */
  ir_ref *outer;   /* per loop: the deepest other loop that its body depends on */
  frame *frames;
  size_t frame_count, frame_cap;
  ir_ref *active;
  size_t active_count, active_cap;
} walk;

bool ir_is_loop(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (n->op != IR_OP_LOOP || n->nsrc < 2 || ir_op_of(g, n->src[0]) != IR_OP_RANGE) return false;
  int64_t k = ir_arg_int(n);
  uint64_t values = 1 + 2 * (uint64_t)(k > 0 ? k : 0);
  return k == 0 ? n->nsrc == 2 : k > 0 && (n->nsrc == values || n->nsrc == values + 1);
}

uint32_t ir_loop_carries(const ir_graph *g, ir_ref loop) { return (uint32_t)ir_arg_int(ir_get(g, loop)); }

ir_ref ir_thread_loop(const ir_graph *g, ir_ref kernel) {
  ir_ref at = ir_src(g, kernel, 0);
  while (ir_op_of(g, at) == IR_OP_LOOP && ir_arg_mode(ir_get(g, at)) == IR_SERIAL && ir_get(g, at)->nsrc == 2)
    at = ir_src(g, at, 1);
  return ir_op_of(g, at) == IR_OP_LOOP && ir_arg_mode(ir_get(g, at)) == IR_THREAD ? at : 0;
}

ir_ref ir_loop_effect(const ir_graph *g, ir_ref loop) {
  const ir_node *n = ir_get(g, loop);
  uint32_t values = 2 * ir_loop_carries(g, loop);
  return n->nsrc > 1 + values ? n->src[1 + values] : 0;
}

static ir_ref deeper(const walk *w, ir_ref a, ir_ref b) { return w->depth[b] > w->depth[a] ? b : a; }

/* The region of a source as its user sees it. If that loop is not active, records the escape and returns
 * 0. */
static ir_ref source_region(walk *w, ir_ref user, ir_ref source) {
  ir_ref region = w->out->region[source];
  if (!region || w->depth[region]) return region;
  if (!w->out->escape) w->out->escape_user = user, w->out->escape = source;
  return 0;
}

/* A node of region `home` depends on the active loop `other`. Inserts `other` into the chain home,
 * outer[home], outer[outer[home]], ..., which is ordered by depth: loops on which one node depends are
 * nested. */
static void depend(walk *w, ir_ref home, ir_ref other) {
  while (home && other && home != other) {
    ir_ref outer = w->outer[home];
    if (w->depth[other] > w->depth[outer]) {
      w->outer[home] = other;
      home = other;
      other = outer;
    } else {
      home = outer;
    }
  }
}

static void place_sources(walk *w, ir_ref ref, uint32_t from, uint32_t to, ir_ref *region) {
  const ir_node *n = ir_get(w->graph, ref);
  for (uint32_t i = from; i < to; i++) *region = deeper(w, *region, source_region(w, ref, n->src[i]));
}

static void place_plain(walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->graph, ref);
  ir_ref region = 0;
  bool effect = n->dtype == IR_NONE && n->op != IR_OP_TUPLE;
  place_sources(w, ref, 0, n->nsrc, &region);
  if (effect) region = w->active_count ? w->active[w->active_count - 1] : 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_ref other = w->out->region[n->src[i]];
    if (w->depth[other]) depend(w, region, other);
  }
  w->out->region[ref] = region;
}

static void place_range(walk *w, ir_ref ref) {
  ir_ref extent = 0, loop = w->out->loop_of[ref];
  place_sources(w, ref, 0, ir_get(w->graph, ref)->nsrc, &extent);
  w->out->region[ref] = loop ? loop : extent;
  if (loop) w->outer[loop] = extent; /* the loop is entered next: its chain starts here */
}

static void place_loop(walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->graph, ref);
  uint32_t k = ir_loop_carries(w->graph, ref);
  ir_ref body = 0, region = 0;
  if (w->depth[ref]) { /* the traversal leaves the body */
    for (uint32_t i = 1 + k; i < n->nsrc; i++) {
      ir_ref next = source_region(w, ref, n->src[i]);
      if (next != ref) body = deeper(w, body, next);
    }
    w->depth[ref] = 0;
    w->active_count--;
  }
  if (k == 0) {
    w->out->region[ref] = w->active_count ? w->active[w->active_count - 1] : 0;
    return;
  }
  place_sources(w, ref, 1, 1 + k, &region);
  ir_ref inits = region;
  region = deeper(w, deeper(w, region, body), w->outer[ref]);
  depend(w, region, inits);
  depend(w, region, body);
  depend(w, region, w->outer[ref]);
  w->out->region[ref] = region;
}

static bool enter_loop(walk *w, ir_ref loop) {
  if (!IR_RESERVE(w->graph->mem, w->active, w->active_cap, w->active_count + 1)) return false;
  w->active[w->active_count++] = loop;
  w->depth[loop] = (uint32_t)w->active_count;
  return true;
}

static bool push_frame(walk *w, ir_ref ref) {
  if (!IR_RESERVE(w->graph->mem, w->frames, w->frame_cap, w->frame_count + 1)) return false;
  w->frames[w->frame_count++] = (frame){ref, 0};
  w->state[ref] = 1;
  return true;
}

static void place_node(walk *w, ir_ref ref, bool loop) {
  if (loop) place_loop(w, ref);
  else if (ir_op_of(w->graph, ref) == IR_OP_RANGE) place_range(w, ref);
  else place_plain(w, ref);
  w->state[ref] = 2;
  w->out->order[w->out->count++] = ref;
}

/* The i-th source to visit: a loop's effect is visited before its next values, though it follows them in
 * src. */
static ir_ref visit_source(const walk *w, ir_ref ref, uint32_t i, bool loop) {
  const ir_node *n = ir_get(w->graph, ref);
  uint32_t body = loop ? 1 + ir_loop_carries(w->graph, ref) : 0;
  if (!loop || i < body || !ir_loop_effect(w->graph, ref)) return n->src[i];
  return i == body ? ir_loop_effect(w->graph, ref) : n->src[i - 1];
}

static bool walk_from(walk *w, ir_ref root) {
  if (!push_frame(w, root)) return false;
  while (w->frame_count) {
    frame *f = &w->frames[w->frame_count - 1];
    ir_ref ref = f->ref;
    const ir_node *n = ir_get(w->graph, ref);
    bool loop = n->op == IR_OP_LOOP && ir_is_loop(w->graph, ref);
    bool binds = loop && w->out->loop_of[n->src[0]] == ref;
    if (binds && f->next == 1 + ir_loop_carries(w->graph, ref) && !w->depth[ref] && !enter_loop(w, ref))
      return false;
    if (f->next < n->nsrc) {
      ir_ref source = visit_source(w, ref, f->next++, loop);
      if (w->state[source] == 0 && !push_frame(w, source)) return false;
    } else {
      w->frame_count--;
      place_node(w, ref, loop);
    }
  }
  return true;
}

/* fills loop_of and shared */
static void bind_ranges(const ir_graph *g, ir_regions *out, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ir_ref ref = nodes[i];
    const ir_node *n = ir_get(g, ref);
    if (ir_is_loop(g, ref)) {
      if (out->loop_of[n->src[0]]) out->shared[n->src[0]] = ref;
      else out->loop_of[n->src[0]] = ref;
    }
  }
}

/* A table indexed by ref; only the entries of the listed nodes and of 0 are cleared, so that the time depends
 * on these and not on the size of the graph. */
static ir_ref *table(const ir_mem *mem, size_t limit, const ir_ref *nodes, size_t count) {
  ir_ref *made = ir_alloc(mem, limit * sizeof *made);
  if (made) made[0] = 0;
  for (size_t i = 0; made && i < count; i++) made[nodes[i]] = 0;
  return made;
}

ir_status ir_regions_find(const ir_graph *g, ir_ref root, ir_regions *out) {
  size_t limit = (size_t)root + 1;
  *out = (ir_regions){.mem = g->mem, .limit = limit};
  walk w = {.graph = g, .out = out};
  ir_status status = ir_reachable(g, &root, 1, &out->order, &out->count, &out->cap);
  if (status == IR_OK) {
    w.state = table(g->mem, limit, out->order, out->count);
    w.depth = table(g->mem, limit, out->order, out->count);
    w.outer = table(g->mem, limit, out->order, out->count);
    out->region = table(g->mem, limit, out->order, out->count);
    out->loop_of = table(g->mem, limit, out->order, out->count);
    out->shared = table(g->mem, limit, out->order, out->count);
  }
  if (status == IR_OK && w.state && w.depth && w.outer && out->region && out->loop_of && out->shared) {
    bind_ranges(g, out, out->order, out->count);
    out->count = 0; /* the traversal lists the same nodes in its own order */
    if (!walk_from(&w, root)) status = IR_ERR_MEMORY;
  } else if (status == IR_OK) {
    status = IR_ERR_MEMORY;
  }
  ir_free(g->mem, w.state, limit * sizeof *w.state);
  ir_free(g->mem, w.depth, limit * sizeof *w.depth);
  ir_free(g->mem, w.outer, limit * sizeof *w.outer);
  ir_free(g->mem, w.frames, w.frame_cap * sizeof *w.frames);
  ir_free(g->mem, w.active, w.active_cap * sizeof *w.active);
  if (status != IR_OK) {
    ir_regions_free(out);
    return ir_fail(g->error, status, "out of memory placing the nodes of a kernel");
  }
  return IR_OK;
}

void ir_regions_free(ir_regions *r) {
  if (!r->mem) return;
  ir_free(r->mem, r->region, r->limit * sizeof *r->region);
  ir_free(r->mem, r->loop_of, r->limit * sizeof *r->loop_of);
  ir_free(r->mem, r->shared, r->limit * sizeof *r->shared);
  ir_free(r->mem, r->order, r->cap * sizeof *r->order);
  *r = (ir_regions){0};
}
